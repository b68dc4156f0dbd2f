"""Secrets that can be told by their own form: keys, tokens, passwords in addresses and headers, private blocks."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator
from typing import Final

from chronofile.ingest.detectors import FILLING, MARK, Detector, Span, compiled, edge, folded, plain
from chronofile.ingest.tokens import token_detectors
from chronofile.ingest.values import is_placeholder, is_random, is_reference

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
    "authorization": "What follows Authorization: Bearer, Basic, Token and the like, curl's -u user:, and the values of cookies that look like secrets.",
    "url-password": "The password in user:password@host, where user and host stay, and a token that stands alone before the @.",
    "env-value": "Values in .env files, but for numbers, switches and local addresses.",
    "secret-value": "A value whose name says that it is a password, a secret, a token or a key.",
    "private-block": "What stands between private tags, or after one that nothing closes.",
}
"""Every rule with what it takes out. Where two find the same characters, the one named first here counts."""


# What stands between the lines of a key: line ends and their escapes, quotes, marks of quotations and diffs, line numbers.
_BETWEEN = (
    r"""(?:\\+[nrt]|[\s>|"',;]|(?<=[\n\r"'])[+-](?!-)|(?<=[\n ])\d{1,6}(?=[\t:|\x80-\xff])|[\x80-\xff]|:)"""
)
_KEY_LINE = r"[A-Za-z0-9+/=]{16,}+"
_KEY_HEADER = r"(?:Proc-Type|DEK-Info|Version|Comment|Hash|Charset): ?[^\r\n\\]{0,120}"
_KEY_BODY = (
    r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,4}PRIVATE KEY(?: BLOCK)?-----"
    rf"{_BETWEEN}*+(?P<s>(?:{_KEY_HEADER}{_BETWEEN}++){{0,6}}+{_KEY_LINE}(?:{_BETWEEN}++{_KEY_LINE})*+"
    rf"(?:(?:{_BETWEEN}*+(?!\+-)[A-Za-z0-9+/=]{{1,76}}+){{0,3}}+(?={_BETWEEN}*+[+-]?-----END))?)"
)
_ADDRESS = (
    r"""(?:[^\s/:@"'`<>\\()]{0,100}:(?P<s>[^\s/"'`<>\\]{1,256})|(?P<token>[\w.~%+=-]{20,256}+))"""
    r"@(?=[A-Za-z0-9\[$_{])"
)
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
_COMMAND_CHARS_MAX = 500
_TOKEN_CHARS_MIN = 20
_COOKIE_CHARS_MIN = 12
_USER = r"""(?:\\*["'])?[^\s:"'`\\]{1,100}:(?P<s>[^\s"'`\\]{4,256}+)"""
_CURL = re.compile(rb"curl(?:\.exe)?\b(?:[^\n]|(?<=\\)\n|(?<=\\\r)\n)*+\Z")
_COOKIES = (
    rf"""{_OPENING}[:=]{_BLANK}{{0,4}}[fbr]?(?:\\*["'`])?(?P<s>[\w.-]{{1,100}}=[^\r\n"'`\\]{{8,4096}}+)"""
)
_COOKIE = re.compile(rb"(?P<name>[\w.-]{1,100}+)=(?P<value>[^;\s]{0,4096}+)")
_ATTRIBUTES = frozenset(b"expires max-age domain path samesite".split())
_PRIVATE_TAG = re.compile(rb"<(/?)private\s{0,8}>")
_LINE_END = re.compile(rb"[\r\n]")
_QUOTES = b"`\"'"


def _judge_address(text: bytes, match: re.Match[bytes]) -> Span | None:
    if match["token"] is not None:
        alone = is_random(match["token"], _TOKEN_CHARS_MIN) and not text.startswith(b"sha", match.end())
        return Span("url-password", *match.span("token")) if alone else None
    value = match["s"]
    if value.lower() in _PASSWORD_WORDS or FILLING.issuperset(value) or is_reference(value):
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


def _judge_user(text: bytes, match: re.Match[bytes]) -> Span | None:
    value = match["s"]
    if not _CURL.search(text, max(0, match.start() - _COMMAND_CHARS_MAX), match.start()):
        return None
    if value.lower() in _PASSWORD_WORDS or value.isdigit() or is_placeholder(value):
        return None
    return Span("authorization", *match.span("s"))


def _judge_cookies(text: bytes, match: re.Match[bytes]) -> Span | None:
    """Return the span from the first to the last value that looks like a credential."""
    found = [
        one.span("value")
        for one in _COOKIE.finditer(text, *match.span("s"))
        if one["name"].lower() not in _ATTRIBUTES and is_random(one["value"], _COOKIE_CHARS_MIN)
    ]
    return Span("authorization", found[0][0], found[-1][1]) if found else None


def _looks_random(value: bytes) -> bool:
    """Tell a credential from a word or a name in code: digits among letters, or upper case within lower case."""
    if len(value) < 8 or re.fullmatch(rb"[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+", value):
        return value.startswith(b"eyJ") or bool(re.search(rb"\d\w*\d\w*\d", value))
    if re.fullmatch(rb"[A-Z]?[a-z]+(?:[-_/:.][A-Za-z]+)*|[A-Z_]+|[a-z]+(?:[A-Z][a-z]+)+", value):
        return False
    return bool(re.search(rb"\d", value)) or (len(value) >= 12 and not value.islower())


def _judge_secret_beside_id(text: bytes, match: re.Match[bytes]) -> Span | None:
    return Span("aws-key", *match.span("s"))


def private_blocks(text: bytes, lowered: bytes, *, closed_only: bool = False) -> Iterator[Span]:
    """Yield what stands between private tags, which may be nested.

    Unclosed, it goes to the end of the text where the tag begins a line, else to the end of its line: a text
    that only speaks of the tag is not lost. `closed_only` leaves out the unclosed ones.
    """
    tags = list(_PRIVATE_TAG.finditer(lowered))
    closings = _closings(tags)
    place, begin = 0, 0
    while place < len(tags):
        tag, closing = tags[place], closings.get(place)
        place += 1
        if tag[1] or tag.start() < begin or _is_quoted(text, tag):
            continue
        if closing is not None:
            yield from _block(text, tag.end(), tags[closing].start())
            place = closing + 1
        elif not closed_only:
            begin = _end_of_unclosed(text, tag)
            yield from _block(text, tag.end(), begin)


def _closings(tags: list[re.Match[bytes]]) -> dict[int, int]:
    """Return the places of the closing tags by those of their opening tags. Within a block a quoted tag opens one too."""
    closings: dict[int, int] = {}
    unclosed: list[int] = []
    for place, tag in enumerate(tags):
        if not tag[1]:
            unclosed.append(place)
        elif unclosed:
            closings[unclosed.pop()] = place
    return closings


def _end_of_unclosed(text: bytes, tag: re.Match[bytes]) -> int:
    if _begins_line(text, tag.start()):
        return len(text)
    end = _LINE_END.search(text, tag.end())
    return end.start() if end else len(text)


def _begins_line(text: bytes, place: int) -> bool:
    """Tell whether nothing but blanks stands before a place in its line; a byte order mark may begin the text."""
    while place and text[place - 1] in b" \t":
        place -= 1
    return (
        place == 0
        or text[place - 1] in b"\r\n"
        or (place <= 3 and text[:place] in (codecs.BOM_UTF8, b"\x80"))
    )


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

HEADERS: Final[dict[str, Detector]] = {
    "authorization": folded("authorization", _HEADER, _judge_authorization),
    "cookie": folded("cookie", _COOKIES, _judge_cookies),
}
"""What finds secrets in the values of headers, by the header's name in lower case."""
PRIVATE_KEYS: Final[tuple[Detector, ...]] = (
    plain("private-key", "-----BEGIN ", _KEY_BODY.removeprefix("-----BEGIN "), bound=False, hint="-----BEGIN [A-Z0-9 ]{0,60}KEY"),
    plain("private-key", "Private-Lines:", r"[ \t]{0,4}\d{1,4}(?P<s>(?:(?:\r\n?|\n)[A-Za-z0-9+/=]{8,}+)++)", bound=False, hint="Private-Lines:"),
)  # fmt: skip
"""What finds private keys, which are the only secrets of several lines but for private blocks."""
DETECTORS: Final[tuple[Detector, ...]] = (
    *token_detectors(),
    *PRIVATE_KEYS,
    Detector(
        compiled(rf"IA{_AWS_ID}[A-Z0-9]{{16}}"),
        compiled(rf"IA{_AWS_ID}{_AWS_EDGE}[A-Z0-9]{{16}}(?![A-Za-z0-9])"),
        lambda text, match: Span("aws-key", match.start() - 2, match.end()),
    ),
    Detector(compiled(rf"IA{_AWS_ID}[A-Z0-9]{{16}}"), compiled(f"IA{_AWS_ID}{_AWS_SECRET}"), _judge_secret_beside_id),
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
    *HEADERS.values(),
    Detector(
        compiled(rf"-u(?:ser)?(?:[ \t=]{{1,4}}|(?<=[\snt]-u)){_USER}"),
        compiled(rf"-u(?:(?<=\s-u)[ \t]{{0,4}}|(?<=\s--u)ser[ \t=]{{1,4}}){_USER}"),
        _judge_user,
    ),
    folded("bearer", rf"{_BLANK}{{1,4}}(?P<s>{_CREDENTIAL}{{16,}}+)(?![(\[])", _judge_authorization),
)  # fmt: skip
"""What finds secrets by their form; private blocks are found by `private_blocks`."""
