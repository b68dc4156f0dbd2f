"""Words: from text to the terms by which passages are found, the same for passages and for questions."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterator
from datetime import datetime
from functools import lru_cache
from hashlib import blake2b
from importlib import import_module
from itertools import chain

from chronofile.domain.identity import encoded

TERM_CHARS_MAX = 64
HEX_PREFIX_CHARS = 7

SIMPLE = "simple"
LANGUAGES = (
    SIMPLE, "arabic", "armenian", "basque", "catalan", "czech", "danish", "dutch", "english", "esperanto", "estonian",
    "finnish", "french", "german", "greek", "hindi", "hungarian", "indonesian", "irish", "italian", "lithuanian",
    "nepali", "norwegian", "persian", "polish", "portuguese", "romanian", "russian", "serbian", "spanish", "swedish",
    "tamil", "turkish", "yiddish",
)  # fmt: skip

_ENGLISH_STOP_WORDS = """
a about after again all also am an and any are as at be because been before being both but by can could did
do does doing down during each few for from further had has have having he her here hers herself him himself
his how i if in into is it its itself just me more most my myself no nor not now of off on once only or other
our ours ourselves out over own same she should so some such than that the their theirs them themselves then
there these they this those through to too under until up very was we were what when where which while who
whom why will with would you your yours yourself yourselves
"""
ENGLISH_STOP_WORDS = frozenset(_ENGLISH_STOP_WORDS.split())


class UnknownLanguage(ValueError):
    """The language of the words is none that we can analyse."""

    def __init__(self, language: str) -> None:
        super().__init__(f"{self.__doc__} Got {language!r}; known are {', '.join(LANGUAGES)}.")
        self.language = language


def analyse(text: str, language: str = "english") -> list[str]:
    """Return the terms of a text in their order, repeats included.

    Terms are NFKC-folded, lower-cased, without stop words (English alone has some) and stemmed.
    Accents of Latin, Greek and Cyrillic letters are dropped, in English before the stem is taken and
    elsewhere after it, since other stemmers read them. Identifiers, paths, numbers and hex ids give
    the whole and its pieces; scripts without spaces give overlapping pairs of characters.

    Raises UnknownLanguage.
    """
    terms_of = _terms_of(language)
    return list(chain.from_iterable(map(terms_of, _CHUNK.findall(_folded(text)))))


def query_terms(question: str, language: str = "english") -> list[str]:
    """Return the terms of a question; one that has nothing but stop words keeps them.

    No text is a syntax error: whatever is not a word separates words. Raises UnknownLanguage.
    """
    return analyse(question, language) or analyse(question, SIMPLE)


def passage_terms(
    text: str,
    *,
    speaker: str | None = None,
    at: datetime | None = None,
    title: str | None = None,
    language: str = "english",
) -> list[str]:
    """Return every term by which a passage is found: its text's, its speaker's, its day's and its title's.

    The day is the day on the source's own clock, in the terms in which a question would name it. The
    title is a file's path or a heading. Raises UnknownLanguage.
    """
    terms = analyse(text, language)
    terms += analyse(speaker, language) if speaker else []
    terms += date_terms(at, language) if at else []
    terms += analyse(title, language) if title else []
    return terms


def date_terms(at: datetime, language: str = "english") -> list[str]:
    """Return the terms of a day: `2023-05-08` gives those of `8 May 2023`, the whole and its year and month."""
    day = f"{at.year:04d}-{at.month:02d}-{at.day:02d}"
    return [*analyse(f"{at.day} {MONTHS[at.month - 1]} {at.year}", language), day, day[:7]]


def term_hash(term: str) -> int:
    """Return the signed 64-bit key of a term: the first eight bytes of its BLAKE2b, big-endian."""
    digest = blake2b(encoded(term), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True)


MONTHS = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip

# Letters of these scripts stand without spaces between words, so pairs of them are the terms.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17d3\u3005-\u3007\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7a3\uf900-\ufaff\U00020000-\U0003ffff"
)
# Marks belong to the letter before them, but `\w` leaves them out and would break the word there.
_MARKS = (
    "\u0300-\u036f\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u0900-\u0963\u0966-\u0dff"
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17d3\u200c\u200d"
)
_LETTER = f"[\\w{_MARKS}]"
_CHUNK = re.compile(rf"[A-Za-z]{{1,2}}(?:\+\+|#)(?!\w)|{_LETTER}+(?:(?:[.'-]|,(?=\d{{3}})){_LETTER}+)*")
_ASCII_PIECE = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_OTHER_PIECE = re.compile(rf"[{_UNSPACED}]+|[0-9]+|(?:(?![0-9_{_UNSPACED}]){_LETTER})+")
_PLAIN = re.compile(r"[A-Za-z]?[a-z]+|[A-Z]+|[A-Z]{2,}s")
_HEX = re.compile(r"(?=[a-f]*[0-9])(?=[0-9]*[a-f])[0-9a-f]{7,}")
_VERSION = re.compile(r"v(\d+(?:\.\w+)+)")
_GROUPING = re.compile(r"(?<=\d),(?=\d{3})")
_SEPARATOR = re.compile(r"[.'-]")
_CONTRACTED = re.compile(r"'(?:s|m|d|ve|ll|re)$")
_ACCENTS = re.compile("[\u0300-\u036f]")
_QUOTES = str.maketrans({"\u2019": "'", "\u02bc": "'", "\u00ad": None})
_CACHED_CHUNKS_MAX = 100_000
_CACHED_WORDS_MAX = 50_000
_CAMEL_PIECES_MAX = 6


def _folded(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFKC", text.translate(_QUOTES))


@lru_cache(maxsize=len(LANGUAGES))
def _terms_of(language: str) -> Callable[[str], tuple[str, ...]]:
    """Return the function from a chunk of text to its terms, which remembers the chunks that it has seen."""
    if language not in LANGUAGES:
        raise UnknownLanguage(language)
    english = language == "english"
    stem = _word_stem(language)

    @lru_cache(maxsize=_CACHED_CHUNKS_MAX)
    def terms_of(chunk: str) -> tuple[str, ...]:
        if english and "'" in chunk:
            # Every English contraction with "not" is a stop word; the other ones end a word.
            chunk = "" if chunk.lower().endswith("n't") else _CONTRACTED.sub("", chunk)
        return tuple(term[:TERM_CHARS_MAX] for term in _chunk_terms(chunk, stem) if term)

    return terms_of


def _word_stem(language: str) -> Callable[[str], str]:
    """Return the function from a word to its term: the empty string for a stop word."""
    if language == SIMPLE:
        return lambda word: _unaccented(word.lower())
    stemmer = getattr(import_module(f"snowballstemmer.{language}_stemmer"), f"{language.title()}Stemmer")

    def english(word: str) -> str:
        folded = _unaccented(word.lower())
        # A stemmer holds state while it works, so each word has its own: threads share this function.
        return "" if folded in ENGLISH_STOP_WORDS else str(stemmer().stemWord(folded))

    def other(word: str) -> str:
        return _unaccented(str(stemmer().stemWord(word.lower())))

    # Chunks vary without end, the words in them do not.
    return lru_cache(maxsize=_CACHED_WORDS_MAX)(english if language == "english" else other)


def _unaccented(word: str) -> str:
    if word.isascii():
        return word
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFD", word)))


def _chunk_terms(chunk: str, stem: Callable[[str], str]) -> Iterator[str]:
    """Yield the terms of a chunk: the whole where it has separators that bind, then those of its segments."""
    if _PLAIN.fullmatch(chunk):
        yield stem(chunk)
        return
    chunk = _GROUPING.sub("", chunk).strip("_")
    segments = _SEPARATOR.split(chunk)
    # A hyphen or an apostrophe between mere words joins nothing: `well-known` is two words.
    if len(segments) > 1 and ("." in chunk or any(map(str.isdigit, chunk))):
        yield chunk.lower()
        if version := _VERSION.fullmatch(chunk.lower()):
            yield version.group(1)
    for segment in segments:
        yield from _segment_terms(segment, stem)


def _segment_terms(segment: str, stem: Callable[[str], str]) -> Iterator[str]:
    """Yield the terms of a separator-free piece of text: an identifier's whole and its words."""
    if _HEX.fullmatch(segment.lower()):
        # The first characters are how people shorten a commit's or a record's id.
        yield from dict.fromkeys((segment.lower(), segment.lower()[:HEX_PREFIX_CHARS]))
        return
    pieces = (_ASCII_PIECE if segment.isascii() else _OTHER_PIECE).findall(segment)
    if len(pieces) == 1 or _PLAIN.fullmatch(segment):
        pieces = [segment.strip("_")] if segment.isascii() else pieces
    elif pieces:
        whole = segment.strip("_").lower()
        yield stem(whole) if whole.isascii() and whole.isalpha() else "" if _unspaced(segment) else whole
        pieces = [] if "_" not in segment and len(pieces) > _CAMEL_PIECES_MAX else pieces
    for piece in pieces:
        yield from _piece_terms(piece, stem)


def _piece_terms(piece: str, stem: Callable[[str], str]) -> Iterator[str]:
    if piece.isdigit():
        # The day and the month of a date are the same number with their zero and without.
        yield piece[1:] if len(piece) == 2 and piece[0] == "0" else piece
    elif _unspaced(piece):
        yield from (piece[i : i + 2] for i in range(max(1, len(piece) - 1)))
    else:
        yield stem(piece)


_unspaced = re.compile(f"[{_UNSPACED}]").search
