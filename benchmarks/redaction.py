"""Redaction: how many made-up secrets are found, what is found in texts that hold none, and how fast.

    python benchmarks/redaction.py [FOLDER] [--show] [--seed N]

FOLDER is searched for false finds, by default the project's shared transcripts where they are. With --show each find is
printed, masked, so that it can be judged by reading; and each made-up secret that was missed, with its context.
"""

from __future__ import annotations

import argparse
import base64
import json
import random
import string
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from chronofile.ingest.encodings import text_encoding
from chronofile.ingest.redaction import findings, redact

SHARED = Path(__file__).resolve().parents[2] / "shared/data/transcripts"
MADE_UP = 600
ALNUM = string.ascii_letters + string.digits
URLSAFE = ALNUM + "-_"
HEX = string.hexdigits[:16]
UPPER = string.ascii_uppercase + string.digits

Chance = random.Random


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="?", type=Path, default=SHARED)
    parser.add_argument("--show", action="store_true", help="print each find, masked, and each miss")
    parser.add_argument("--seed", type=int, default=7)
    arguments = parser.parse_args()
    recall(Chance(arguments.seed), show=arguments.show)
    if arguments.folder.exists():
        false_finds(arguments.folder, show=arguments.show)
        speed(arguments.folder)


def of(chance: Chance, alphabet: str, length: int) -> str:
    return "".join(chance.choice(alphabet) for _ in range(length))


def jwt(chance: Chance) -> str:
    parts = ({"alg": "HS256", "typ": "JWT"}, {"sub": of(chance, HEX, 12), "iat": chance.randrange(10**9)})
    coded = [base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts]
    return ".".join([*coded, of(chance, URLSAFE, 43)])


def pem(chance: Chance) -> str:
    kind = chance.choice(["RSA ", "EC ", "OPENSSH ", ""])
    body = "\n".join(of(chance, ALNUM + "+/", 64) for _ in range(chance.randint(3, 12)))
    closing = f"\n-----END {kind}PRIVATE KEY-----" if chance.random() < 0.7 else ""
    return f"-----BEGIN {kind}PRIVATE KEY-----\n{body}\n{of(chance, ALNUM, 30)}=={closing}"


def password(chance: Chance) -> str:
    words = ["hunter", "dragon", "Winter", "tr0ub4dor", "correct", "letmein", "Berlin", "falcon"]
    return chance.choice(words) + chance.choice(["", "!", "-", "_", "#"]) + str(chance.randrange(10, 9999))


# What has a form of its own, by its rule. What is taken out has to hold the last 16 characters at least.
TOKENS: dict[str, Callable[[Chance], str]] = {
    "github": lambda c: c.choice(["ghp", "gho", "ghu", "ghs", "ghr"]) + "_" + of(c, ALNUM, 36),
    "github fine": lambda c: "github" + "_pat_" + of(c, ALNUM, 22) + "_" + of(c, ALNUM, 59),
    "gitlab": lambda c: "glpat" + "-" + of(c, URLSAFE, 19) + of(c, ALNUM, 1),
    "bitbucket": lambda c: "ATBB" + of(c, ALNUM, 32),
    "aws id": lambda c: c.choice(["AKIA", "ASIA"]) + of(c, UPPER, 16),
    "google": lambda c: "AIza" + of(c, URLSAFE, 35),
    "google oauth": lambda c: "GOCSPX" + "-" + of(c, URLSAFE, 28),
    "azure": lambda c: "DefaultEndpointsProtocol=https;AccountName=logs;Account" + "Key=" + of(c, ALNUM + "+/", 86) + "==",
    "azure sas": lambda c: "https://logs.blob.core.windows.net/c?sv=2022-11-02&si" + "g=" + of(c, ALNUM, 43) + "%3D",
    "digitalocean": lambda c: "dop" + "_v1_" + of(c, HEX, 64),
    "databricks": lambda c: "dapi" + of(c, HEX, 32),
    "vault": lambda c: "hvs" + "." + of(c, URLSAFE, 90),
    "anthropic": lambda c: "sk" + "-ant-api03-" + of(c, URLSAFE, 93) + "AA",
    "openai": lambda c: "sk" + "-proj-" + of(c, URLSAFE, 64),
    "openai old": lambda c: "sk" + "-" + of(c, ALNUM, 20) + "T3BlbkFJ" + of(c, ALNUM, 20),
    "hugging face": lambda c: "hf" + "_" + of(c, ALNUM, 34),
    "groq": lambda c: "gsk" + "_" + of(c, ALNUM, 52),
    "slack": lambda c: "xox" + "b-" + of(c, string.digits, 12) + "-" + of(c, string.digits, 12) + "-" + of(c, ALNUM, 24),
    "slack hook": lambda c: "https://hooks.slack.com/serv" + "ices/T" + of(c, UPPER, 8) + "/B" + of(c, UPPER, 8) + "/" + of(c, ALNUM, 24),
    "stripe": lambda c: c.choice(["sk", "rk"]) + "_live_" + of(c, ALNUM, 24),
    "twilio": lambda c: "SK" + of(c, HEX, 32),
    "sendgrid": lambda c: "SG" + "." + of(c, URLSAFE, 22) + "." + of(c, URLSAFE, 43),
    "npm": lambda c: "npm" + "_" + of(c, ALNUM, 36),
    "pypi": lambda c: "pypi" + "-AgEIcHlwaS5vcmc" + of(c, URLSAFE, 120),
    "telegram": lambda c: of(c, "123456789", 10) + ":AA" + of(c, URLSAFE, 32) + "x",
    "discord": lambda c: "MT" + of(c, ALNUM, 22) + "." + of(c, URLSAFE, 6) + "." + of(c, ALNUM, 38),
    "jwt": jwt,
    "private key": pem,
    "url password": lambda c: f"{c.choice(['postgres', 'redis', 'https', 'amqp', 'mongodb+srv'])}://app:{password(c)}@db.internal/x",
}  # fmt: skip
CONTEXTS: dict[str, Callable[[str], str]] = {
    "prose": lambda s: f"I made a new one this morning, it is {s} and it works now.",
    "in quotes": lambda s: f'client = Client("{s}")',
    "backticks": lambda s: f"Use `{s}` until Friday.",
    "shell": lambda s: f"$ export THING='{s}'\n$ make deploy",
    "yaml": lambda s: f"deploy:\n  thing: {json.dumps(s)}\n  port: 5432\n",
    "argument": lambda s: f"tool login --with {s} --quiet",
    "line numbers": lambda s: f"    11\tconnect()\n    12\tX = {s}\n",
    "diff": lambda s: f"-old line\n+{s}\n",
}
# What only its name, or what stands around it, gives away: a text with a place for the secret, and how to make one.
NAMED: dict[str, tuple[str, Callable[[Chance], str]]] = {
    "shell password": ("DB_PASSWORD={}", password),
    "shell token": ("export API_TOKEN='{}'", lambda c: of(c, ALNUM, 32)),
    "python": ('client_secret = "{}"', lambda c: of(c, ALNUM, 24)),
    "json": ('{{"user": "app", "password": "{}"}}', password),
    "yaml password": ("db:\n  password: {}\n", password),
    "yaml key": ("api_key: {}", lambda c: of(c, HEX, 40)),
    "aws secret": ("aws_secret_access_key = {}", lambda c: of(c, ALNUM + "+/", 40)),
    "bearer": ("curl -H 'Authorization: Bearer {}' https://api.internal/", lambda c: of(c, URLSAFE, 40)),
    "basic": ("Authorization: Basic {}", lambda c: base64.b64encode(f"app:{password(c)}".encode()).decode()),
    "api key header": ('curl -H "x-api-key: {}" https://api.internal/', lambda c: of(c, ALNUM, 32)),
    "option": ("mysqldump --user app --password={} shop", password),
    "git remote": ("origin  https://me:{}@git.internal/x.git (fetch)", lambda c: of(c, ALNUM, 30)),
    "typescript": ("const apiKey: string = '{}';", lambda c: of(c, ALNUM, 32)),
    "compose": ("    environment:\n      - POSTGRES_PASSWORD={}\n", password),
    "properties": ("spring.datasource.password={}", password),
    "xml": ("<server><password>{}</password></server>", password),
    "told": ("The password is {}, please do not share it.", password),
    "joined name": ("PGPASSWORD={} psql -h db.internal shop", password),
    "symbol first": ('{{"db": {{"password": "{}"}}}}', lambda c: c.choice("!$%&*[(") + password(c)),
    "escaped": ('{{"password": "{}"}}', lambda c: "p\\u00e4" + password(c)),
    "url token": ("git clone https://{}@git.internal/x.git", lambda c: of(c, ALNUM, 40)),
    "curl user": ("curl -s -u admin:{} https://api.internal/", password),
    "cookie": (
        "Cookie: lang=en; sessionid={}; theme=dark",
        lambda c: of(c, string.ascii_lowercase + string.digits, 32),
    ),
    "private": ("note <private>my code is {}</private> end", lambda c: of(c, ALNUM, 12)),
}


def made_up(chance: Chance, count: int) -> Iterator[tuple[str, str, str]]:
    """Yield what it is, a text that holds a secret, and the part of it that must be gone."""
    tokens, contexts, named = list(TOKENS), list(CONTEXTS), list(NAMED)
    for number in range(count):
        if number % 3 == 2:
            kind = named[number // 3 % len(named)]
            text, make = NAMED[kind]
            secret = make(chance)
            yield kind, text.format(secret), secret
        else:
            kind, context = tokens[number % len(tokens)], contexts[number % len(contexts)]
            secret = TOKENS[kind](chance)
            yield f"{kind}, {context}", CONTEXTS[context](secret), _telling_part(secret)


def _telling_part(secret: str) -> str:
    if "PRIVATE KEY" in secret:
        return secret.splitlines()[1]
    if "://app:" in secret:
        return secret.split("://app:")[1].split("@", maxsplit=1)[0]
    return secret.removesuffix("==").removesuffix("%3D")[-16:]


# How a text gets to the store: as a file, in a transcript's message, in a tool's result that is JSON itself.
CARRIERS: dict[str, Callable[[str], tuple[bytes, bool]]] = {
    "file": lambda text: (text.encode(), False),
    "utf-16 file": lambda text: (text.encode("utf-16"), False),
    "message": lambda text: (json.dumps({"type": "user", "message": {"content": "Look:\n" + text}}).encode(), True),
    "tool result": lambda text: (json.dumps({"arguments": json.dumps({"output": "$ cat x\n" + text, "exit": 0})}).encode(), True),
    "broken line": lambda text: (b'{"cut": ' + json.dumps(text).encode()[:-1], True),
}  # fmt: skip


def recall(chance: Chance, *, show: bool) -> None:
    found: Counter[str] = Counter()
    total: Counter[str] = Counter()
    for kind, text, secret in made_up(chance, MADE_UP):
        for carrier, carry in CARRIERS.items():
            content, records = carry(text)
            encoding = "utf-16" if carrier.startswith("utf-16") else "utf-8"
            left = redact(content, encoding=encoding, records=records).content.decode(encoding)
            gone = secret not in left.replace("\\", "")
            total[carrier] += 1
            found[carrier] += gone
            if show and not gone:
                print(f"missed: {kind}, {carrier}: {text!r}")
    for carrier, count in total.items():
        print(f"recall, {carrier}: {found[carrier]} of {count}")


def texts(folder: Path) -> Iterator[tuple[Path, bytes, str]]:
    for path in sorted(folder.rglob("*")):
        if path.is_file() and not path.is_symlink() and ".git" not in path.parts:
            content = path.read_bytes()
            if encoding := text_encoding(content):
                yield path, content, encoding


def false_finds(folder: Path, *, show: bool) -> None:
    counts: Counter[str] = Counter()
    size = 0
    for path, content, encoding in texts(folder):
        size += len(content)
        found = findings(content, encoding=encoding, records=path.suffix == ".jsonl", name=path.name)
        counts.update(finding.rule for finding in found)
        if show:
            for finding in found:
                print(f"{path.relative_to(folder)}:{finding.line}: {finding.rule}: {finding.preview}")
    print(f"finds in {folder} ({size / 1e6:.1f} MB): {sum(counts.values())} {dict(counts)}")


def speed(folder: Path) -> None:
    for records in (True, False):
        contents = [(c, e) for path, c, e in texts(folder) if (path.suffix == ".jsonl") == records]
        if not contents:
            continue
        took: list[float] = []
        for _ in range(5):
            begun = time.process_time()
            for content, encoding in contents:
                redact(content, encoding=encoding, records=records)
            took.append(time.process_time() - begun)
        size = sum(len(content) for content, _ in contents)
        print(
            f"speed, {'JSON Lines' if records else 'other texts'}: {size / 1e6 / sorted(took)[2]:.0f} MB/s of processor time, {size / 1e6:.1f} MB"
        )
    image = b'{"image": "' + base64.b64encode(Chance(1).randbytes(15_000_000)) + b'"}\n'
    begun = time.process_time()
    redact(image, encoding="utf-8", records=True)
    print(f"an image of {len(image) / 1e6:.0f} MB in one line: {time.process_time() - begun:.2f} s")


if __name__ == "__main__":
    main()
