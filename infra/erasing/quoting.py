"""Quoting: what Chronofile quoted of what is erased, and how it is taken out of an agent's transcript.

An agent that looked something up has our answer in its transcript: an echo, fenced or as JSON. Each passage in it is
named, by its id and by the hash in its marks, so that quotations are found however the JSON around them is written.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

from chronofile.domain.echoes import (
    ANSWER_FIELDS,
    CONTEXT_FIELDS,
    echoes,
    fence,
    fence_name,
    is_answer,
    line_break_of,
    quotations,
)
from chronofile.domain.erasure import MARK, SHORT_CHARS
from chronofile.domain.identity import encoded
from chronofile.ingest.cleaning import literal

_HINTS = (b"<<<chronofile ", b"took_ms", b'"hit', b"hit\\")
# Each begins with a literal, which is found much faster than one of several.
_NAMED = (
    re.compile(rb"passage ([0-9a-f]{32}) \|"),
    re.compile(rb"memory ([0-9a-f]{32}) \|"),
    re.compile(rb'"id\\*"\s*:\s*\\*"([0-9a-f]{32})\\*"'),
    re.compile(rb"chronofile (?:quotation|answer|context) ([0-9a-f]{16})"),
)
_OBJECT = re.compile(r'\{\s*"(?:query|hit)"\s*:')
_DECODER = json.JSONDecoder(strict=False)

ID_CHARS = 32
Names = frozenset[bytes]
"""What our quotations of something are known by: ids of passages, sources and memories, and hashes in marks."""


def names_of(passage: str, text: str) -> set[bytes]:
    """Return the names of a passage. The hash of a short text is that of others' too, and is left to `exactly`."""
    return {passage.encode()} if len(text.strip()) < SHORT_CHARS else exactly(passage, text)


def exactly(passage: str, text: str) -> set[bytes]:
    """Return the names of a passage, also such as others with the same text have."""
    return {passage.encode(), fence_name(text).encode()}


def named_in(content: bytes) -> set[bytes]:
    """Return everything that a content names in the ways in which our answers name what they quote."""
    return _names(content) if any(hint in content for hint in _HINTS) else set()


def _names(content: bytes) -> set[bytes]:
    return {name for named in _NAMED for name in named.findall(content)}


@dataclass(slots=True)
class Unquoted:
    """Takes quotations out of texts, and keeps what was taken out, by which it is known should it come again."""

    names: Names
    removed: set[str] = field(default_factory=set)

    def string(self, text: str) -> tuple[str, int]:
        """Return a text without our quotations, and from how many echoes they were taken; it may be JSON."""
        if not self._may_be_named(text):
            return text, 0
        if is_answer(text):
            left = self._answer(text)
            return left, int(left is not text)
        pieces: list[str] = []
        at = count = 0
        for start, end in echoes(text, may_be_cut=True):
            if self._is_named(text[start:end]):
                pieces += [text[at:start], self._echo(text[start:end])]
                at, count = end, count + 1
        return "".join([*pieces, text[at:]]), count

    def record(self, line: str) -> tuple[str, int]:
        """Return a line of JSON without what quotes in those of its objects that are answers of ours."""
        if not _OBJECT.search(line) or not self._may_be_named(line):
            return line, 0
        pieces: list[str] = []
        at = count = 0
        for found in _OBJECT.finditer(line):
            if found.start() < at:
                continue
            try:
                value, end = _DECODER.raw_decode(line, found.start())
            except (ValueError, RecursionError):
                continue
            is_named = _is_ours(value) and self._is_named(line[found.start() : end])
            if is_named and (left := self._value(value)) != value:
                pieces += [line[at : found.start()], literal(left)]
                at, count = end, count + 1
        return "".join([*pieces, line[at:]]), count

    def _may_be_named(self, text: str) -> bool:
        return bool(self.names) and not self.names.isdisjoint(named_in(encoded(text)))

    def _is_named(self, text: str) -> bool:
        return not self.names.isdisjoint(_names(encoded(text)))

    def _echo(self, echo: str) -> str:
        """Return what is left of an echo: all but the quotations, or nothing where it is not plain what they are."""
        pieces: list[str] = []
        at = 0
        found = quotations(echo)
        for (start, end), is_labelled in found:
            if self._is_named(echo[start:end]):
                self._keep(echo[start:end])
                pieces += [echo[at:start], MARK]
                at = end
            elif not is_labelled:
                return self._nothing_of(echo)  # It may be the text of the whole source.
        left = "".join([*pieces, echo[at:]])
        if left.strip() == MARK or self._is_named(left):
            return self._nothing_of(echo)
        return left

    def _nothing_of(self, echo: str) -> str:
        """Return a fence with nothing in it but the mark, so that what is left is no memory of anything."""
        self._keep(echo)
        return fence(MARK, "answer").replace("\n", line_break_of(echo))

    def _answer(self, text: str) -> str:
        try:
            value = json.loads(text, strict=False)
            left = self._value(value)
        except (ValueError, RecursionError):
            self._keep(text)
            return fence(MARK, "answer")  # Its end was cut off, and with it what belongs to what.
        return text if left == value else literal(left)

    def _value(self, value: Any) -> Any:
        match value:
            case str():
                return self.string(value)[0]
            case list():
                return [self._value(one) for one in value]
            case dict() if value.keys() >= ANSWER_FIELDS and isinstance(value["hits"], list):
                return self._without_hits(value)
            case dict() if value.keys() >= CONTEXT_FIELDS and self._is_named(literal(value)):
                self._keep_texts(value)
                return {**value, "hit": None, "before": [], "after": [], "whole": None}
            case dict():
                return {name: self._value(one) for name, one in value.items()}
            case _:
                return value

    def _without_hits(self, answer: dict[str, Any]) -> dict[str, Any]:
        kept = [hit for hit in answer["hits"] if not self._is_named(literal(hit))]
        self._keep_texts([hit for hit in answer["hits"] if hit not in kept])
        left = {**answer, "hits": kept}
        return {**left, "facts": [], "omitted": None} if self._is_named(literal(left)) else left

    def _keep_texts(self, value: Any) -> None:
        match value:
            case list():
                for one in value:
                    self._keep_texts(one)
            case dict():
                for name, one in value.items():
                    if name in ("text", "whole") and isinstance(one, str):
                        self._keep(one)
                    else:
                        self._keep_texts(one)

    def _keep(self, text: str) -> None:
        # A shorter one would be taken for what somebody says by himself.
        if len(text) >= SHORT_CHARS:
            self.removed.add(text)


def _is_ours(value: Any) -> bool:
    return isinstance(value, dict) and (value.keys() >= ANSWER_FIELDS or value.keys() >= CONTEXT_FIELDS)
