"""Encodings: whether bytes are text, and in which encoding."""

from __future__ import annotations

import codecs
import re
from typing import Final

from charset_normalizer import from_bytes

HEAD_BYTES = 8_000
SAMPLE_BYTES = 32_000
CONTROLS_SHARE_MAX = 0.02
INVALID_PER_VALID_MAX = 0.1
COHERENCE_TIE = 0.1
LATIN_RUN_BYTES_MAX = 1.5
LATIN_SHARE_MAX = 0.4

_MARKS: Final = (
    # UTF-32 first: its little-endian mark begins with that of UTF-16.
    (codecs.BOM_UTF32_LE, "utf-32"),
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_BINARY_BEGINNINGS: Final = (
    b"\x89PNG\r\n\x1a\n",
    b"\xff\xd8\xff",
    b"GIF87a",
    b"GIF89a",
    b"%PDF-",
    b"PK\x03\x04",
    b"PK\x05\x06",
    b"\x7fELF",
    b"\x1f\x8b",
    b"BZh",
    b"\xfd7zXZ\x00",
    b"7z\xbc\xaf\x27\x1c",
    b"\x28\xb5\x2f\xfd",
    b"Rar!\x1a\x07",
    b"SQLite format 3\x00",
    b"\xca\xfe\xba\xbe",
    b"\xcf\xfa\xed\xfe",
    b"\xfe\xed\xfa\xcf",
    b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
    b"\x00asm",
    b"wOFF",
    b"wOF2",
    b"OggS",
    b"fLaC",
    b"ID3",
)
_WESTERN: Final = "cp1252"
_LATIN: Final = [
    "cp1252", "latin_1", "iso8859_15", "cp1250", "iso8859_2", "cp1254", "mac_roman", "cp437", "cp850",
]  # fmt: skip
_OTHER: Final = [
    "cp1251", "koi8_r", "cp1253", "cp1255", "cp1256", "cp932", "euc_jp", "gb18030", "big5", "cp949",
]  # fmt: skip
# Everything below a space but what texts are made of: bell, backspace, tab, line ends, form feed, escape.
_CONTROLS: Final = bytes(set(range(0x20)) - set(b"\a\b\t\n\v\f\r\x1b")) + b"\x7f"
_TWO_BYTE_ENCODINGS: Final = {True: "utf-16-le", False: "utf-16-be"}
_HIGH_RUN: Final = re.compile(rb"[\x80-\xff]+")
_UNLIKELY: Final = re.compile(r"[\x00-\x06\x0e-\x1a\x1c-\x1f\x7f-\x9f\ud800-\uf8ff\ufffd-\uffff]")


def text_encoding(content: bytes) -> str | None:
    """Return the encoding of a text as Python names it, None where the bytes are no text.

    A byte order mark decides, then UTF-8, then what `charset_normalizer` reads from the lines that
    are no ASCII, up to 32,000 bytes of them. As in git, a NUL in the first 8,000 bytes means binary, but UTF-16 without
    a mark is recognised by its NULs. A UTF-8 text that is broken in few places, or cut, stays UTF-8.
    """
    for mark, encoding in _MARKS:
        if content.startswith(mark):
            return encoding if _reads_as(content[: SAMPLE_BYTES + len(mark)], encoding) else None
    head = content[:HEAD_BYTES]
    if content.startswith(_BINARY_BEGINNINGS):
        return None
    if 0 in head:
        return _two_byte_encoding(content)
    if _controls(head) > CONTROLS_SHARE_MAX * len(head):
        return None
    try:
        content.decode("utf-8")
    except UnicodeDecodeError as failure:
        return "utf-8" if _is_broken_utf8(content, failure) else _legacy_encoding(content, failure.start)
    return "utf-8"


def _controls(sample: bytes) -> int:
    return len(sample) - len(sample.translate(None, _CONTROLS))


def _two_byte_encoding(content: bytes) -> str | None:
    """Recognise UTF-16 without a mark: nearly every NUL is in the same place of its pair."""
    head = content[:HEAD_BYTES]
    first, second = head[0::2].count(0), head[1::2].count(0)
    pairs = len(head) // 2
    if len(content) % 2 or min(first, second) > 0.02 * pairs or max(first, second) < 0.4 * pairs:
        return None
    encoding = _TWO_BYTE_ENCODINGS[second > first]
    return encoding if _reads_as(content[:SAMPLE_BYTES], encoding) else None


def _reads_as(sample: bytes, encoding: str) -> bool:
    """Tell whether a sample, which may end within a character, decodes to characters that texts have."""
    decoder = codecs.getincrementaldecoder(encoding)()
    try:
        text = decoder.decode(sample)
    except UnicodeDecodeError:
        return False
    return len(_UNLIKELY.findall(text)) <= CONTROLS_SHARE_MAX * len(text)


def _is_broken_utf8(content: bytes, failure: UnicodeDecodeError) -> bool:
    """Tell whether the sequences that are valid outnumber the others by far, or only the end was cut off."""
    text = content.decode("utf-8", "replace")
    invalid = text.count("\ufffd")
    valid = len(text) - len(text.encode("ascii", "ignore")) - invalid
    if failure.reason == "unexpected end of data":
        # One lone byte at the end of what is ASCII otherwise is an accented letter of another encoding.
        return valid > 0 or len(content) - failure.start > 1
    return invalid <= INVALID_PER_VALID_MAX * valid


def _legacy_encoding(content: bytes, first_invalid: int) -> str | None:
    sample = _telling_lines(content[content.rfind(b"\n", 0, first_invalid) + 1 :][: 4 * SAMPLE_BYTES])
    if _controls(sample) > CONTROLS_SHARE_MAX * len(sample):
        return None
    runs = _HIGH_RUN.findall(sample)
    high_bytes = sum(map(len, runs))
    # Accented letters stand alone between others; a script of its own comes in words.
    latin = high_bytes < LATIN_RUN_BYTES_MAX * len(runs)
    isolation = _LATIN if latin else _LATIN + _OTHER
    matches = from_bytes(sample, cp_isolation=isolation, preemptive_behaviour=False, enable_fallback=False)
    best = matches.best()
    encoding = best.encoding if best else None
    # Short texts fit several code pages equally well, and of those the Western one is by far the most common.
    if best and any(
        _WESTERN in match.could_be_from_charset
        and match.chaos <= best.chaos
        and match.coherence >= best.coherence - COHERENCE_TIE
        for match in matches
    ):
        encoding = _WESTERN
    if encoding is None and latin and high_bytes <= LATIN_SHARE_MAX * len(sample):
        encoding = _WESTERN
    return encoding if encoding and _reads_as(sample, encoding) else None


def _telling_lines(content: bytes) -> bytes:
    """Return the lines with bytes that are no ASCII: in code they are few, and the others say nothing."""
    telling = b"\n".join(line for line in content.split(b"\n") if not line.isascii())
    return telling[:SAMPLE_BYTES]
