"""How values look: what only stands for a secret, and what looks like a credential wherever it is found."""

from __future__ import annotations

import re
from typing import Final

_REFERENCE: Final = re.compile(
    rb"""(?x)
    \$\{[A-Za-z_!\#.][^{}]*\}|^\$\{|\{\{.*\}\}|^\{\{|^\$\(|^\#\{|^\{[^{}]*\}
    |^<.*>$|^%[A-Za-z_]\w*%$|^(?:%[sdrvq][-_:/]?)++$|^\[[\w -]*\]$
    """
)
# What a shell replaces, unless it stands in single quotes. `$ecret9` is no name of a variable that anybody uses.
_VARIABLE: Final = re.compile(rb"^(?:\$[A-Z_][A-Z0-9_]*+[-.:/@]?)++$|^\$[A-Za-z_]+$|^\$env:\w+$")
# Anchors, aliases and tags of YAML, which stand without quotes.
_OF_YAML: Final = re.compile(rb"^[&*][\w.-]+$|^!{1,2}[A-Za-z][A-Za-z/:]*$")
_PLACEHOLDER: Final = re.compile(
    rb"""(?ix)
    \[redacted|\.\.\.|\xe2\x80\xa6|x{4}|\*{3}|^x+$|^[-_.*\#0]+$
    |\b(?:your|my|insert|replace|enter|some|put)[-_ ]?(?:own|secret|key|token|pass|api|client|app|personal|super|real|actual|here|value|with|this|me\b)
    |change[-_ ]?(?:me|this|it)|placeholder|redacted|example\.(?:com|org)|<[a-z][a-z _-]*>|^example|^dummy|^sample
    |process\.env|os\.(?:environ|getenv)|getenv|secrets\.|\benv\.|^env[:(]|^file:|^vault:|^op://|^ref:|^secretref|^arn:|^null$|^none$|^nil$
    |^undefined$|^true$|^false$|^0x[0-9a-f]{1,16}$
    |^(?:value|password|passwd|pass|pwd|secret|token|key|apikey|api[-_]key|string|test)$|-here$|_here$
    """
)
SLUG: Final = re.compile(rb"^[A-Za-z]+(?:[-_.:/ ](?:[A-Za-z]+|v?\d{1,3}|[A-Za-z]+\d{1,2}))+$")
"""Words with a sign between each two of them, as in names of things."""
_NAME: Final = re.compile(rb"^[A-Za-z]+\d{0,4}(?:[-_.+][A-Za-z]*\d{0,4})*$")


def is_reference(value: bytes, *, literal: bool = False) -> bool:
    """Tell whether something names where a secret is: `${TOKEN}`, `$TOKEN`, `{{ token }}`, `<token>`, `%TOKEN%`, `$(cat x)`.

    `literal`: it stands in single quotes, where `$TOKEN` is what it says.
    """
    return _REFERENCE.search(value) is not None or (not literal and _VARIABLE.match(value) is not None)


def is_placeholder(value: bytes, *, literal: bool = False, yaml: bool = False) -> bool:
    """Tell whether something stands for a secret instead of being one: a reference, `<your key>`, `changeme`, `xxxx`.

    `yaml`: it may be YAML without quotes, where `*name` and `!name` are no values.
    """
    if yaml and _OF_YAML.match(value):
        return True
    return _PLACEHOLDER.search(value) is not None or is_reference(value, literal=literal)


def is_random(value: bytes, least: int) -> bool:
    """Tell a credential of at least so many characters from a name: digits among letters, or case that changes."""
    if len(value) < least or _NAME.match(value) or not re.fullmatch(rb"[\w.~+/=%:|-]+", value):
        return False
    digits, letters = len(re.findall(rb"\d", value)), re.search(rb"[A-Za-z]", value) is not None
    return (letters and digits >= (1 if len(value) >= 24 else 3)) or is_long_and_mixed(value)


def is_long_and_mixed(value: bytes) -> bool:
    """Tell whether something of 24 characters or more is in upper and lower case, but not as names in code are."""
    return (
        len(value) >= 24
        and re.fullmatch(rb"[A-Za-z0-9+/=_-]+", value) is not None
        and re.search(rb"[a-z][A-Z]|[A-Z]{2}[a-z]", value) is not None
        and not re.fullmatch(rb"[a-z]+(?:[A-Z][a-z]+)+|(?:[A-Z][a-z]+)+", value)
        and not SLUG.match(value)
    )
