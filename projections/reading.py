"""A reading: ranges of a source as text and, for a transcript, as turns, with what they left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from traceback import extract_tb

import structlog

from chronofile.domain.decoding import decode
from chronofile.domain.documents import DOCUMENTS, NotExtracted
from chronofile.domain.events import RevisionCaptured
from chronofile.domain.formats import FORMATS
from chronofile.domain.ports import Extractor, LanguageOf
from chronofile.domain.turns import Folded, State, Turn

log = structlog.get_logger(__name__)


def _no_language(_text: str) -> str | None:
    return None


@dataclass(frozen=True, slots=True)
class Files:
    """What reads documents, None without the extra, and what tells the language of a text."""

    extractor: Extractor | None = None
    language_of: LanguageOf = _no_language


class Reading:
    """Takes in one range after the other; `state` is the fold's, None at a source's beginning.

    `turns` are those that the ranges began or extended, in order of their beginning, `removed` the keys of
    those that were never to be there, `superseded` those of earlier turns whose place was taken. `title` is the
    conversation's, None where the ranges do not tell. `latest` are the turns that the last range began or extended. `text` and `event_time` are a file's, `format` is that of the last range. `omitted` counts what gave no turn.
    """

    def __init__(self, state: State | None, extractor: Extractor | None = None) -> None:
        self.state, self._extractor = state, extractor
        self.turns: dict[str, Turn] = {}
        self.latest: Sequence[Turn] = ()
        self.removed: list[str] = []
        self.superseded: list[str] = []
        self.title: str | None = None
        self.text: str | None = None
        self.event_time: str | None = None
        self.format: str | None = None
        self.is_less = False
        self.omitted: Counter[str] = Counter()

    def read(self, content: bytes, event: RevisionCaptured, *, is_file: bool) -> str | None:
        """Take in a range; return why it cannot be read, None where it can."""
        self.format, self.latest = event.format, ()
        self.is_less = event.original is not None
        if is_file and event.format in DOCUMENTS:
            return self._read_document(content, event)
        try:
            text, undecodable = decode(content, event.encoding)
        except LookupError:
            return f"the encoding {event.encoding} is not known here"
        self.omitted["undecodable bytes"] += undecodable
        if is_file:
            self.text, self.event_time = text, event.event_time
            return None
        if event.format not in FORMATS:
            return f"the format {event.format} is not known here"
        # The last line end ends a line and begins none.
        lines = text.removesuffix("\n").split("\n")
        try:
            folded = FORMATS[event.format].fold(self.state, lines)
        except MemoryError:
            raise  # It says nothing of what stands there.
        except Exception as error:  # noqa: BLE001 - A fault of one format must not stop all other sources.
            return _failed(error, event)
        self._take(folded)
        return None

    def _take(self, folded: Folded) -> None:
        self.state = folded.state
        for key in folded.removed:
            self.turns.pop(key, None)
        self.removed += folded.removed
        self.turns |= {turn.key: turn for turn in folded.turns}
        self.latest = folded.turns
        for key in folded.superseded:
            if key in self.turns:
                self.turns[key] = replace(self.turns[key], superseded=True)
            else:
                self.superseded.append(key)
        self.title = folded.title or self.title
        self.omitted["unreadable records"] += folded.unreadable
        for record, number in (folded.unknown or {}).items():
            self.omitted[f"unknown record: {record}"] += number

    def _read_document(self, content: bytes, event: RevisionCaptured) -> str | None:
        if self._extractor is None:
            return f"{event.format} is read with `pip install 'chronofile[documents]'`; `chronofile ingest` with its path makes it searchable then"
        try:
            found = self._extractor.extract(content, event.format)
        except NotExtracted as failure:
            said = f"its text cannot be had: {failure.reason} {failure.detail}".rstrip(" .")
            return f"{said}; `chronofile ingest` with its path tries again"
        self.text, self.event_time = found.text, event.event_time
        self.omitted.update(found.omitted)
        return None


def _failed(error: Exception, event: RevisionCaptured) -> str:
    """Return what a fold failed with. The message of an exception may hold words of the source, and stays out."""
    kind = type(error).__name__
    place = extract_tb(error.__traceback__)[-1]
    at = f"{PurePath(place.filename).name}:{place.lineno}"
    log.warning("a range cannot be folded", format=event.format, revision=event.revision, error=kind, at=at)
    return f"its records cannot be read as {event.format}: {kind}"
