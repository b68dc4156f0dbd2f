"""Secrets that can be told by their own form: keys, tokens, passwords in addresses and headers, private blocks."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from typing import Final

from chronofile.ingest.detectors import FILLING, MARK, Detector, Span, compiled, edge, folded, plain
from chronofile.ingest.tokens import token_detectors

RULES: Final[dict[str, str]] = {
    "private-key": "The body of a private key in PEM, OpenSSH, PGP or PuTTY form, also where its end is cut off.",
    "aws-key": "AWS: access key ids, and secrets beside them.",
    "google-key": "Google: API keys, OAuth client secrets and access tokens.",
    "azure-key": "Azure: storage and service bus keys, shared access signatures, client secrets.",
    "cloud-token": "DigitalOcean, Heroku, Fly, Databricks, HashiCorp, Pulumi, Supabase, Tailscale and other clouds.",
    "github-token": "GitHub: personal, OAuth, app and refresh tokens.",
    "gitlab-token": "GitLab: personal, deploy, runner, trigger and other tokens.",
    "atlassian-token": "Atlassian and Bitbucket: API tokens and app passwords.",
    "anthropic-key": "Anthropic API keys.",
    "openai-key": "OpenAI API keys, and those of services that copied their form.",
    "huggingface-token": "Hugging Face tokens.",
    "model-key": "API keys of other model providers: Groq, Replicate, xAI, NVIDIA, Perplexity, Pinecone and others.",
    "slack-token": "Slack tokens and incoming webhooks.",
    "stripe-key": "Stripe: secret and restricted keys, webhook secrets.",
    "twilio-key": "Twilio API keys.",
    "sendgrid-key": "Keys of SendGrid, Mailgun, Mailchimp and Brevo.",
    "npm-token": "npm tokens.",
    "pypi-token": "PyPI tokens.",
    "telegram-token": "Telegram bot tokens.",
    "discord-token": "Discord bot tokens and webhooks.",
    "service-token": "Other services with tokens of a form of their own: Docker, Linear, Notion, Shopify, Grafana and so on.",
    "jwt": "JSON web tokens.",
    "authorization": "What follows Authorization: Bearer, Basic, Token and the like.",
    "url-password": "The password in user:password@host; user and host stay.",
    "env-value": "Values in .env files, but for numbers, switches and local addresses.",
    "secret-value": "A value whose name says that it is a password, a secret, a token or a key.",
    "private-block": "What stands between private tags, or after one that nothing closes.",
}
"""Every rule with what it takes out. Where two find the same characters, the one named first here counts."""


# What stands between the lines of a key: line ends and their escapes, quotes, marks of quotations and diffs, line numbers.
_BETWEEN = r"""(?:\\+[nrt]|[\s>|"',;]|(?<=\n)[+-](?!-)|(?<=[\n ])\d{1,6}(?=[\t:|\x80-\xff])|[\x80-\xff]|:)"""
_KEY_LINE = r"[A-Za-z0-9+/=]{16,}+"
_KEY_HEADER = r"(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset): ?[^\n\\]{0,120}"
_KEY_BODY = (
    r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)?-----"
    rf"{_BETWEEN}*+(?P<s>(?:{_KEY_HEADER}{_BETWEEN}++){{0,6}}+{_KEY_LINE}(?:{_BETWEEN}++{_KEY_LINE})*+"
    rf"(?:(?:{_BETWEEN}*+(?:[A-Za-z0-9+/=]{{1,76}}+)){{0,3}}+(?={_BETWEEN}*+-----END))?)"
)
_ADDRESS = r"""[^\s/:@"'`<>\\()]{0,100}:(?P<s>[^\s/"'`<>\\]{1,256})@(?=[A-Za-z0-9\[$_{])"""
_CREDENTIAL = r"[A-Za-z0-9._~+/=:-]"
_SCHEME = r"(?:bearer|basic|token|apikey|api-key|bot|negotiate|digest|key)"
_BLANK = r"(?:[ \t]|\\+t)"
_OPENING = rf"""(?:\\*["'`])?\]?{_BLANK}{{0,4}}"""
_HEADER = (
    rf"""{_OPENING}(?:[:=]{{1,2}}>?{_BLANK}{{0,4}}[fbr]?(?:\\*["'`])?(?:{_SCHEME}{_BLANK}{{1,4}})?"""
    rf"""|,{_BLANK}{{0,4}}[fbr]?\\*["'`]{_SCHEME}{_BLANK}{{1,4}})"""
    rf"(?P<s>{_CREDENTIAL}{{8,}}+)(?![(\[])"
)
_NO_CREDENTIAL = re.compile(
    rb"(?i)\[?redact|x{4}|\*{3}|\.{3}|your|example|placeholder|^(?:bearer|basic|token|header|none|null|undefined|string)"
)
# A part of a longer name, as in AWS::Redshift::EndpointAuthorization; an escaped line end may stand before it, though.
_OTHER_AUTHORIZATION = re.compile(rb"(?i)(?:(?<!\\)[a-z]|::)authorization\Z")
_PASSWORD_WORDS = frozenset(
    b"pass password passwd pwd pw secret token your_password yourpassword mypassword pat key".split()
)
_PRIVATE_TAG = re.compile(rb"<(/?)private\s{0,8}>")
_QUOTES = b"`\"'"


def _judge_address(text: bytes, match: re.Match[bytes]) -> Span | None:
    value = match["s"]
    lowered = value.lower()
    if lowered in _PASSWORD_WORDS or value[:1] in b"$%{<[*" or FILLING.issuperset(value) or b"${" in value:
        return None
    # http://host:8080,mail@host is a port and an address, not a password.
    return None if re.match(rb"\d{1,5}[,;?#)&]", value) else Span("url-password", *match.span("s"))


def _judge_authorization(text: bytes, match: re.Match[bytes]) -> Span | None:
    if _OTHER_AUTHORIZATION.search(text, max(0, match.start() - 16), match.start() + 6):
        return None
    start, end = match.span("s")
    value = text[start:end].rstrip(b".:")
    if _NO_CREDENTIAL.search(value) or not _looks_random(value):
        return None
    return Span("authorization", start, start + len(value))


def _looks_random(value: bytes) -> bool:
    """Tell a credential from a word or a name in code: digits among letters, or upper case within lower case."""
    if len(value) < 8 or re.fullmatch(rb"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+", value):
        return value.startswith(b"eyJ") or bool(re.search(rb"\d\w*\d\w*\d", value))
    if re.fullmatch(rb"[A-Z]?[a-z]+(?:[-_/:.][A-Za-z]+)*|[A-Z_]+|[a-z]+(?:[A-Z][a-z]+)+", value):
        return False
    return bool(re.search(rb"\d", value)) or (len(value) >= 12 and not value.islower())


def _judge_secret_beside_id(text: bytes, match: re.Match[bytes]) -> Span | None:
    return Span("aws-key", *match.span("s"))


def private_blocks(text: bytes, lowered: bytes) -> Iterator[Span]:
    """Yield what stands between private tags, which may be nested.

    Unclosed, it goes to the end of the text where the tag begins a line, else to the end of its line: a text
    that only speaks of the tag is not lost.
    """
    begin = 0
    while (unclosed := (yield from _closed_blocks(text, lowered, begin))) is not None:
        is_alone = not text[text.rfind(b"\n", 0, unclosed.start()) + 1 : unclosed.start()].strip()
        end = -1 if is_alone else text.find(b"\n", unclosed.end())
        begin = len(text) if end < 0 else end
        yield from _block(text, unclosed.end(), begin)


def _closed_blocks(text: bytes, lowered: bytes, begin: int) -> Generator[Span, None, re.Match[bytes] | None]:
    """Yield the blocks that are closed; the value is the opening tag of one that is not."""
    depth, opening = 0, None
    for tag in _PRIVATE_TAG.finditer(lowered, begin):
        if tag[1]:
            depth = max(0, depth - 1)
            if depth == 0 and opening:
                yield from _block(text, opening.end(), tag.start())
                opening = None
        elif depth or not _is_quoted(text, tag):
            opening = opening or tag
            depth += 1
    return opening


def _is_quoted(text: bytes, tag: re.Match[bytes]) -> bool:
    """Tell whether a tag is only spoken of: it stands alone between two quotation marks or backticks."""
    before, after = text[tag.start() - 1 : tag.start()], text[tag.end() : tag.end() + 1]
    return before != b"" and before == after and before in _QUOTES


def _block(text: bytes, start: int, end: int) -> Iterator[Span]:
    inside = text[start:end].strip()
    if inside.strip(b".\xe2\x80\xa6") and not (
        inside.startswith(MARK) and inside.find(b"]") == len(inside) - 1
    ):
        yield Span("private-block", start, end)


_AWS_SECRET = r"[A-Z0-9]{16}[\s,:;|\"'\\nt]{1,12}(?P<s>[A-Za-z0-9/+]{40})(?![A-Za-z0-9/+=])"
_AWS_EDGE = edge("AKIA").replace("AKIA", "....")
_AWS_ID = r"(?:(?<=AKIA)|(?<=ASIA)|(?<=ABIA))"

AUTHORIZATION: Final = folded("authorization", _HEADER, _judge_authorization)
DETECTORS: Final[tuple[Detector, ...]] = (
    *token_detectors(),
    plain("private-key", "-----BEGIN ", _KEY_BODY.removeprefix("-----BEGIN "), bound=False, hint="-----BEGIN [A-Z0-9 ]{0,60}KEY"),
    plain("private-key", "Private-Lines:", r"[ \t]{0,4}\d{1,4}(?P<s>(?:\r?\n[A-Za-z0-9+/=]{8,}+)++)", bound=False, hint="Private-Lines:"),
    Detector(
        compiled(rf"IA{_AWS_ID}[A-Z0-9]{{16}}"),
        compiled(rf"IA{_AWS_ID}{_AWS_EDGE}[A-Z0-9]{{16}}(?![A-Za-z0-9])"),
        lambda text, match: Span("aws-key", match.start() - 2, match.end()),
    ),
    Detector(compiled(f"IA{_AWS_ID}{_AWS_SECRET}"), compiled(f"IA{_AWS_ID}{_AWS_SECRET}"), _judge_secret_beside_id),
    plain("azure-key", "Key=", r"(?:(?<=AccountKey=)|(?<=SharedAccessKey=))(?P<s>[A-Za-z0-9+/]{40,}={0,2})", bound=False, hint="Key(?:(?<=AccountKey)|(?<=AccessKey))"),
    plain("azure-key", "sig=", r"(?P<s>[A-Za-z0-9+/%]{40,}={0,2})"),
    plain("azure-key", "8Q~", r"(?<=[A-Za-z0-9_.~-]{3}8Q~)[A-Za-z0-9_.~-]{31,34}", bound=False, lead=3),
    plain("twilio-key", "SK", r"[0-9a-f]{32}(?![0-9a-zA-Z])"),
    plain("telegram-token", ":AA", r"(?<=[0-9]{8}:AA)[A-Za-z0-9_-]{33}(?![A-Za-z0-9_-])", bound=False, lead=0),
    plain("cloud-token", ".atlasv1.", r"[A-Za-z0-9_=-]{60,}", bound=False, lead=14),
    plain("slack-token", "hooks.slack.com/", r"(?:services|workflows|triggers)/(?P<s>[A-Za-z0-9_+/]{20,})", bound=False, hint=r"ks\.slack\.com"),
    plain("discord-token", "/api/webhooks/", r"(?P<s>\d{15,20}/[A-Za-z0-9_-]{50,})", bound=False, hint="webhooks"),
    plain("sendgrid-key", "-us", r"(?<=[0-9a-f]{32}-us)\d{1,2}(?![A-Za-z0-9])", bound=False, lead=32),
    plain("jwt", "eyJ", r"(?<![_-]eyJ)[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}(?:\.[A-Za-z0-9_-]+)*+", hint=r"J(?<=eyJ)[A-Za-z0-9_-]{8}"),
    Detector(compiled("://" + _ADDRESS), compiled("://" + _ADDRESS), _judge_address),
    AUTHORIZATION,
    folded("bearer", rf"{_BLANK}{{1,4}}(?P<s>{_CREDENTIAL}{{16,}}+)(?![(\[])", _judge_authorization),
)  # fmt: skip
"""What finds secrets by their form; private blocks are found by `private_blocks`."""
