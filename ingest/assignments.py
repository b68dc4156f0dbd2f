"""Values whose names say that they are secret: assignments in code, configuration, shells and prose, and .env files.

A name decides first, by its words; then the value must look like a secret and not like code, a type, a path, a message or a
placeholder. What is written without quotes has to look more like one than what is quoted, unless it stands in the form
that shells and .env files have.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from chronofile.ingest.detectors import MARK, Detector, Span
from chronofile.ingest.literals import OTHER, unescaped
from chronofile.ingest.names import Family, family_of
from chronofile.ingest.values import SLUG, is_long_and_mixed, is_placeholder

VALUE_CHARS_MAX = 4_096
NAME_CHARS_MAX = 48


_QUOTE: Final = r"""\\{0,8}["'`]"""
_GAP: Final = r"[ \t]{0,8}"
_LINE_END: Final = r"(?:\r\n?|\n)"
_ASSIGNED: Final = re.compile(
    rf"""
    (?P<rest>[\w-]{{0,40}}+)
    (?P<close>{_QUOTE})?(?P<index>\]?)
    (?:
      (?P<pair>{_GAP},\s{{0,20}}(?:{_QUOTE}value{_QUOTE}{_GAP}:{_GAP})?(?={_QUOTE})|[ \t]*{_LINE_END}[ \t-]{{0,20}}value:{_GAP})
      |(?P<typed>{_GAP}\??:{_GAP}[A-Za-z_][\w.\[\]]{{0,30}}(?:{_GAP}\|{_GAP}[A-Za-z_]\w{{0,20}}){{0,3}}{_GAP}=(?!=){_GAP})
      |(?P<compared>{_GAP}[!=]==?{_GAP})
      |(?P<sign>{_GAP}(?:=>|:=|=|:){_GAP})
      |(?P<told>[ ]is:?[ ]|[ ]to[ ]|[ ]was:?[ ])
      |(?P<element>>)
      |(?P<option>[ \t]{{1,4}})
    )
    (?:
      (?P<prefix>[rbfuL@$]{{0,2}})(?P<quote>(?P<single>')|{_QUOTE})(?P<quoted>(?:(?!(?P=quote))(?:\\.|[^\n\\])|(?(single)(?:'"'"'|'\\'')|(?!))){{1,{VALUE_CHARS_MAX}}}+)(?P=quote)
      |(?P<bare>[^\s"'`;|<>\\&]{{4,256}}+)
    )
    """.encode(),
    re.VERBOSE,
)  # fmt: skip
# What has to follow a word before the whole of it is looked at: most words in most texts end here.
_FOLLOWS: Final = rf"(?:{_QUOTE})?\]?(?:{_GAP}[:=,!>](?!{_GAP}(?:\d{{1,9}}[\s,;}})\]]|null|true|false|[(\[{{]))|{_GAP}\?:|[ \t]\S|[ \t]*{_LINE_END}[ \t-]*value:|\\u003)"
# Each begins with a letter of it that is not too frequent.
_STEMS: Final = (
    r"pass(?:word|wd|phrase|code|wort)?(?!e|i|_count|word_)",
    r"wd(?<=pwd)",
    r"cret(?<=secret)(?!ary|ion|ari|ly)",
    r"ken(?<=token)(?!s|i|_count)",
    r"key(?<=[a-z_-]key)(?!s|w|board|_id|id)",
    r"dential(?<=credential)",
)


def _detector(stem: str) -> Detector:
    pattern = re.compile(f"{stem}(?=[\\w-]{{0,40}}+{_FOLLOWS})".encode())
    return Detector(pattern, pattern, _judge, folded=True)


def _judge(text: bytes, match: re.Match[bytes]) -> Span | None:
    found = _ASSIGNED.match(text, match.start())
    if found is None:
        return None
    before = text[max(0, match.start() - NAME_CHARS_MAX) : match.start()]
    start = len(before) - len(_NAME_END.search(before)[0])  # type: ignore[index]  # It matches the empty string too.
    name = before[start:] + found["rest"]
    family = family_of(name)
    if family is None or before[:start].endswith((MARK, b"::")):
        return None
    if found["quoted"] is not None:
        return _judge_quoted(found, name, before[:start], family)
    return _judge_bare(text, found, name, before[:start], family)


_NAME_END: Final = re.compile(rb"[A-Za-z0-9_-]*\Z")


def _judge_quoted(found: re.Match[bytes], name: bytes, before: bytes, family: Family) -> Span | None:
    value, literal = _said(found["quoted"], found["quote"]), found["quote"].endswith(b"'")
    if found["option"] is not None and not name.startswith(b"--"):
        return None
    if found["pair"] is not None and not (found["close"] and _ARGUMENT.search(before)):
        return None
    if (
        found["element"] is not None
        or is_placeholder(value, literal=literal)
        or not _is_secret(value, family)
    ):
        return None
    return Span("secret-value", *found.span("quoted"))


def _said(quoted: bytes, quote: bytes) -> bytes:
    """Return what a value says where characters of it are written as \\uXXXX; what is mostly so is a text and no secret."""
    if b"\\u" not in quoted:
        return quoted
    said = quoted
    # Each time that JSON is put into a string of JSON, its quotation marks get twice the backslashes and one more.
    for _ in range(len(quote).bit_length()):
        said = unescaped(said, 0, len(said)).text
    return said if 2 * said.count(OTHER) <= len(said) else quoted


def _judge_bare(
    text: bytes, found: re.Match[bytes], name: bytes, before: bytes, family: Family
) -> Span | None:
    value, start = found["bare"], found.start("bare")
    sign = found["sign"]
    if sign == b":" and before.endswith(b":"):
        return None  # A part of a resource's name, as in arn:aws:secretsmanager:*:*:secret:x.
    if found["element"] is not None:
        closed = before.endswith(b"<") and text.startswith(b"</", start + len(value))
        return Span("secret-value", *found.span("bare")) if closed and not is_placeholder(value) else None
    if not _may_stand_bare(found, name, before):
        return None
    as_in_shells = sign == b"=" and name.isupper()
    if not as_in_shells:
        value = _END_OF_BARE.split(value, maxsplit=1)[0]
        if text[start + len(value) : start + len(value) + 1] in (b"(", b"[", b"{") or b"=" in value.rstrip(
            b"="
        ):
            return None
    value = value.rstrip(b",)" if as_in_shells else b",.:)]}?!")
    plain = as_in_shells and _is_plain_secret(value, name)
    if (plain or _is_bare_secret(value, family)) and not is_placeholder(value, yaml=not as_in_shells):
        return Span("secret-value", start, start + len(value))
    return None


def _may_stand_bare(found: re.Match[bytes], name: bytes, before: bytes) -> bool:
    """Tell whether values are written without quotes after a name and a sign like these."""
    if found["option"] is not None:
        return name.startswith(b"--") or before.endswith(_COMMANDS)
    if found["pair"] is not None and found["pair"].lstrip().startswith(b","):
        return False
    return found["compared"] is None and not found["index"] and found["sign"] not in (b":=", b"=>")


_END_OF_BARE: Final = re.compile(rb"[(){}\[\],&]")
_COMMANDS: Final = (b"ENV ", b"ARG ", b"set -x ", b"set -gx ", b"set -Ux ", b"setx ")
# Of two strings with a comma between them the first is a name only as the first argument of a call.
_ARGUMENT: Final = re.compile(rb"""(?:\(\s{0,24}|["'](?:name|key)\\*["']\s{0,2}:\s{0,2})\\{0,8}["'`]\Z""")
_PLACE: Final = re.compile(
    rb"^(?:[a-z][a-z0-9+.-]*://|/|\.{1,2}/|~/|[A-Za-z]:\\)|^[\w./-]+\.(?:json|ya?ml|txt|pem|key|py|js|ts|md|toml|env|html|go|rs|java|rb|sh)$"
)
_NAME_OF_CODE: Final = re.compile(
    rb"^[A-Za-z_$][\w$]*(?:(?:\.|::|->|\?\.)[A-Za-z_$][\w$]*)+$|^[A-Z][A-Z]*_[A-Z_]*[A-Z]$"
)
_TYPE: Final = re.compile(
    rb"(?i)^(?:u?int|float|utf|sha|md|base|oauth|rfc|iso|bytes?|str|string|char|varchar|uuid|v|hs|rs|es|ed|aes|argon|pbkdf|arg|param|tls|ssl|http|token|key|password|secret|blake|level|type|step|option|test|var|val|value|data|node|item)[-_]?\d{1,4}(?:[-_]?[a-z]{1,3})?$"
)
_BASE64_OF_30_BYTES: Final = re.compile(rb"(?=.*[0-9])(?=.*[A-Z])(?=.*[a-z])[A-Za-z0-9/+]{40}")
_ALGORITHM: Final = re.compile(
    rb"^(?:sha\d{1,3}|md5|blake\w{1,3})[-:]|^\$?(?:2[aby]|argon2\w{0,2}|pbkdf2)\$|^\$(?:[156y]|apr1)\$",
    re.IGNORECASE,
)


def _is_secret(value: bytes, family: Family) -> bool:
    """Judge a value in quotes."""
    if not 4 <= len(value) <= VALUE_CHARS_MAX or _is_code(value) or b"\\n" in value:
        return False
    digits, letters = bool(re.search(rb"\d", value)), bool(re.search(rb"[A-Za-z]", value))
    match family:
        case Family.PASSWORD:
            symbols = bool(re.search(rb"[!@#$%^&*+=~?<>\\|]", value)) and not value.endswith((b"?", b"!"))
            mixed = (
                re.fullmatch(rb"[A-Z]?[a-z]+|[A-Z]+|[a-z]+(?:[A-Z][a-z]+)+|(?:[A-Z][a-z]+)+", value) is None
            )
            return digits or symbols or (mixed and value.isalpha())
        case Family.SECRET | Family.TOKEN:
            least = 6 if family is Family.SECRET else 10
            varied = len(value) >= least and digits and letters and not SLUG.match(value)
            return varied or is_long_and_mixed(value)


def _is_bare_secret(value: bytes, family: Family) -> bool:
    """Judge a value without quotes, which may as well be a name in code or a word in a sentence."""
    least = 16 if family is Family.TOKEN else 6 if family is Family.PASSWORD else 8
    if len(value) < least or _is_code(value) or _TYPE.match(value):
        return False
    if SLUG.match(value) and (family is not Family.PASSWORD or not re.search(rb"\d{2}$", value)):
        return False
    if not re.search(rb"\d", value) or not re.search(rb"[A-Za-z]", value):
        return False
    if b"=" in value.rstrip(b"=") or re.fullmatch(rb"(?i)\w*?(?:password|secret|token|key)\w*", value):
        return False
    return family is Family.PASSWORD or re.fullmatch(rb"[a-z]+\d{1,2}", value) is None


def _is_plain_secret(value: bytes, name: bytes) -> bool:
    """Judge the value of NAME=value as shells have it: nearly everything there is a value."""
    if len(value) < 4 or value == name or name.endswith(b"_AUTH") or _is_code(value):
        return False  # What ends in AUTH is as often a switch or a scheme.
    return not _is_harmless(value) and not re.search(rb"[(\[{]", value)


def _is_code(value: bytes) -> bool:
    """Tell whether a value is an expression, a name, a place, a hash or a message, and not a secret."""
    if _BASE64_OF_30_BYTES.fullmatch(value):
        return False  # The secrets of AWS may look like paths.
    return bool(
        _PLACE.match(value)
        or _NAME_OF_CODE.match(value)
        or _ALGORITHM.match(value)
        or value.startswith(b"-----BEGIN")
        or re.search(rb"\s", value)
        or re.search(rb"\\u[0-9a-f]{4}", value)
        or re.search(rb"[({\[].*[)}\]]", value)
    )


_HARMLESS: Final = re.compile(
    rb"""(?ix)^(?:
    |[-+]?[\d_.,:]+(?:[smhdk]|ms|[kmg]i?b|%)?
    |true|false|yes|no|on|off|y|n|null|none|nil|undefined|auto|default
    |dev|development|prod|production|test|testing|staging|local|debug|info|warn|warning|error|trace|critical
    |(?:[a-z][a-z0-9+.-]{0,20}://)?(?:localhost|127\.0\.0\.1|0\.0\.0\.0|\[?::1?\]?|host\.docker\.internal)(?::\d{1,5})?(?:/[\w/.-]*)?
    )$"""
)
_SETTING: Final = re.compile(
    rb"""(?mx)(?:^(?:\xef\xbb\xbf|\x80)?|(?<=\r))  # A byte order mark may stand first; it is \x80 where it was wider.
    [ \t]*+(?:export[ \t]++|set[ \t]++)?[A-Za-z_][\w.-]{0,200}[ \t]*+=[ \t]*+
    (?P<value>
      (?:"(?P<double>(?:\\.|[^"\\]){0,65536}+)"|'(?P<single>[^']{0,65536}+)')
      # What follows a quotation mark at once belongs to the value, as in 'one'"'"'two'.
      (?P<more>(?![\s;,])(?:"(?:\\.|[^"\\\r\n])*+"|'[^'\r\n]*+'|\\.|[^\s"'\\])*+(?:["'\\][^\r\n]*)?)?
      |(?P<bare>[^\r\n]*)
    )"""
)


_KINDS: Final = ("double", "single", "bare")


def _is_harmless(value: bytes) -> bool:
    return _HARMLESS.match(value) is not None


def is_env_file(name: str) -> bool:
    """Tell from its name whether a file holds settings of an environment: `.env`, `.env.local`, `prod.env`, `.envrc`."""
    return name.lower().startswith(".env") or name.lower().endswith(".env")


def env_values(text: bytes) -> Iterator[Span]:
    """Yield the values of a .env file but for those that are obviously harmless, placeholders and references."""
    for setting in _SETTING.finditer(text):
        group = "value" if setting["more"] else next(kind for kind in _KINDS if setting[kind] is not None)
        start, end = setting.span(group)
        value = text[start:end]
        if group == "bare":
            value = re.split(rb"[ \t]+#", value, maxsplit=1)[0].rstrip()
        if value and not _is_harmless(value) and not is_placeholder(value, literal=group == "single"):
            yield Span("env-value", start, start + len(value))


_AUTH: Final = re.compile(f"AUTH(?<=_AUTH)(?={_FOLLOWS})".encode())

ASSIGNMENTS: Final[tuple[Detector, ...]] = (*map(_detector, _STEMS), Detector(_AUTH, _AUTH, _judge))
"""What finds secrets by the names that they are given."""
