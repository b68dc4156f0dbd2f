"""Names of secrets: which names of variables, fields and settings announce a password, a secret, or a token."""

from __future__ import annotations

import re
from enum import Enum, auto
from functools import lru_cache
from typing import Final


class Family(Enum):
    """How short and how plain a secret under such a name may be."""

    PASSWORD = auto()
    SECRET = auto()
    TOKEN = auto()


_PASSWORDS: Final = frozenset([
    "password", "passwd", "passphrase", "passcode", "pwd", "pass", "passwort", "psw", "userpassword",
])  # fmt: skip
_ENDS_OF_PASSWORDS: Final = ("password", "passwd", "passphrase")  # PGPASSWORD, dbpassword
# SSHPASS and SMTPPASS are passwords; these are not.
_OTHER_PASSES: Final = frozenset([
    "bypass", "compass", "encompass", "surpass", "trespass", "underpass", "overpass", "lowpass", "highpass",
    "bandpass", "allpass", "multipass", "subpass", "prepass", "renderpass", "onepass", "twopass", "xpass",
])  # fmt: skip
_SECRETS: Final = frozenset([
    "secret", "secrets", "credential", "credentials", "clientsecret", "appsecret",
])  # fmt: skip
_TOKENS: Final = frozenset([
    "token", "apikey", "accesskey", "secretkey", "authkey", "authtoken", "accesstoken", "apitoken", "pat",
])  # fmt: skip
_KEYS_OF: Final = frozenset([
    "api", "access", "secret", "private", "encryption", "encrypt", "signing", "sign", "master", "auth",
    "account", "service", "shared", "license", "deploy", "app", "admin", "storage", "subscription",
    "publishable", "ssh", "gpg", "aes", "hmac", "jwt", "session", "webhook", "integration", "ingest", "write",
    "server",
])  # fmt: skip
# Words that may follow the one that counts: API_TOKEN_PROD, SECRET_KEY_BASE, password2.
_AFTERWORDS: Final = frozenset([
    "value", "default", "prod", "production", "dev", "development", "staging", "stage", "test", "live", "local",
    "old", "new", "raw", "plain", "plaintext", "b64", "base64", "base", "primary", "secondary", "main",
    "string", "text", "current", "previous", "backup", "env", "admin", "root", "user", "db",
])  # fmt: skip
# A token of these is a word of a language model, a place in a list, or a guard against forged requests.
_OTHER_TOKENS: Final = frozenset([
    "page", "next", "prev", "continuation", "continue", "cancel", "cancellation", "sync", "stop", "eos", "bos",
    "pad", "unk", "mask", "sep", "cls", "special", "start", "end", "begin", "prompt", "completion", "max",
    "min", "num", "total", "input", "output", "cached", "reasoning", "per", "design", "color", "parse",
    "parser", "lex", "lexer", "syntax", "last", "first", "expected", "unexpected", "invalid", "csrf", "xsrf",
    "antiforgery", "idempotency", "cursor", "resume", "pagination", "lookahead", "string", "operator",
    "keyword", "punctuation", "the", "a", "an", "this", "each", "any", "every", "no", "key", "change", "request", "update", "creation", "starting",
])  # fmt: skip
_WORDS: Final = re.compile(rb"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_NO_SECRET_OF: Final = frozenset([
    "id", "ids", "name", "names", "url", "uri", "path", "file", "files", "dir", "type", "types", "count",
    "length", "len", "size", "field", "prefix", "suffix", "expiry", "expires", "ttl", "policy", "required",
    "regex", "pattern", "hint", "label", "limit", "format", "hash", "algorithm", "algo", "header", "endpoint",
    "max", "min", "reset", "error", "invalid", "missing", "budget", "usage", "arn", "version", "re", "status",
    "state", "message", "msg", "not", "no", "is", "has", "enabled", "validator", "validators", "escape",
])  # fmt: skip


@lru_cache(maxsize=4_096)
def family_of(name: bytes) -> Family | None:
    """Return what kind of secret a name announces, None where it announces none."""
    words = [word.decode("ascii").lower() for word in _WORDS.findall(name)]
    shouted = name.isupper()
    while len(words) > 1 and (words[-1] in _AFTERWORDS or words[-1].isdigit()):
        words.pop()
    if not words:
        return None
    last, before = words[-1], words[-2] if len(words) > 1 else ""
    if last.endswith(_ENDS_OF_PASSWORDS):
        return Family.PASSWORD
    if last in _PASSWORDS:
        # Only in settings is "pass" a password: tests pass, and so do arguments.
        return Family.PASSWORD if last != "pass" or before or shouted else None
    if last in _SECRETS:
        return Family.SECRET
    if last == "key":
        return Family.TOKEN if before in _KEYS_OF else None
    if last in _TOKENS:
        return None if before in _OTHER_TOKENS and not shouted else Family.TOKEN
    if shouted and last.endswith("pass") and last not in _OTHER_PASSES:
        return Family.PASSWORD
    if shouted and last == "auth" and before:
        return Family.SECRET  # REDISCLI_AUTH
    if shouted:
        # TOKEN_GITHUB, PASSWORD_OF_REDIS
        first = family_of(words[0].encode())
        return first if first and not _NO_SECRET_OF.intersection(words) else None
    return None
