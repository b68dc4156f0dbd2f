"""A verified source: its contents, its ranges, its file and its passages, each against the others."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import unquote, urlsplit

import sqlalchemy as sa

from chronofile.domain import sources as domain
from chronofile.domain.events import MemoryCorrected, MemoryForgotten, MemoryRemembered, RevisionCaptured
from chronofile.domain.identity import storable
from chronofile.infra.verifying.run import Verification
from chronofile.ingest.comparing import Captured
from chronofile.projections import anew
from chronofile.projections.anew import Anew, Place
from chronofile.projections.histories import History, Reversals
from chronofile.projections.passages import failure


@dataclass(slots=True)
class VerifiedSource:
    """A source by its own events; `texts` are the contents that they name but for those of revisions."""

    run: Verification
    history: History
    texts: Mapping[str, str]

    @property
    def id(self) -> str:
        return self.history.source

    def check(self) -> Mapping[str, bool]:
        """Tell the run what is wrong with the source, and what is worth listing; return its contents.

        The contents are those of its revisions, each with whether it is there.
        """
        run = self.run
        run.sources += 1
        events = [recorded.event for recorded in self.history.events]
        source = domain.source_of(events, run.reversals.reverted(run.position))
        places = anew.places(self.history, run.reversals, run.position, self._name)
        fresh = Anew(self.id, source.kind, storable(source.session), run.parts.store_key, run.parts.extractor)
        contents = self._read(fresh, places)
        self._compare_file(source)
        without_undo = anew.places(self.history, Reversals(), run.position, self._name)
        if hidden := len(without_undo.keys() - places.keys()):
            run.note(self.id, "undone", count=hidden)
        # What cannot be parsed is listed with the failures, and has the passages of what could be before it.
        if fresh.failure is None and not contents.keys() & run.erased_later:
            self._compare_passages(fresh, places)
        return contents

    def _read(self, fresh: Anew, places: Mapping[int, Place]) -> dict[str, bool]:
        """Read every range that is kept, check it, and cut anew those that are shown; return which are there."""
        run = self.run
        end, revision = 0, 0
        contents: dict[str, bool] = {}
        for position, event in self._revisions():
            content = run.kept.one(event.content)
            if run.erased.get(event.content, 0) > position:
                content = None
            contents[event.content] = contents.get(event.content, True) and content is not None
            if event.start not in (0, end) or event.end < event.start or event.revision != revision + 1:
                run.disagree(self.id, "range-gap", f"revision {event.revision}, byte {event.start:,}")
            if content is not None and event.original is None and len(content) != event.end - event.start:
                run.disagree(self.id, "range-size", f"revision {event.revision}")
            end, revision = event.end, event.revision
            if event.revision in places:
                fresh.take(event, content, places[event.revision])
        return contents

    def _compare_passages(self, fresh: Anew, shown: Collection[int]) -> None:
        expected = fresh.outlines()
        found = anew.standing(self.run.conn, self.id, self.run.position)
        differences = [*fresh.differences, *anew.differences(expected, found)]
        if differences and self._was_unreadable(shown):
            # What can be read here could not where the passages were made; that is listed with the failures.
            return
        self.run.passages += sum(len(outline) for outline in expected.values())
        for difference in differences:
            self.run.tell_difference(self.id, difference)

    def _was_unreadable(self, shown: Collection[int]) -> bool:
        """Tell whether the projection could not read one of the revisions that are shown."""
        query = sa.select(failure.c.revision).where(failure.c.source == self.id)
        return not set(self.run.conn.scalars(query)).isdisjoint(shown)

    def _compare_file(self, source: domain.Source) -> None:
        """Compare the file with all that was captured of it last, also what was undone since."""
        ranges: list[tuple[int, int, str]] = []
        files: dict[Path, None] = {}
        for _, event in self._revisions():
            if event.start == 0:
                ranges.clear()
            ranges.append((event.start, event.end, domain.original_of(event)))
            if event.file in self.texts:
                files.setdefault(Path(self.texts[event.file]))
        uri = self.texts.get(source.uri)
        if source.removed or not ranges or uri is None:
            return
        found = self.run.comparing.compare(
            Captured(
                uri=uri,
                files=tuple(reversed(files)),
                kind=source.kind,
                scope=source.scope,
                format=source.format or "",
                session=source.session,
                ranges=ranges,
                source=self.id,
            )
        )
        if found.state != "same":
            self.run.note(self.id, found.state, count=found.behind_bytes or 1, detail=found.detail)
        if found.waiting_bytes:
            self.run.note(self.id, "waiting", count=found.waiting_bytes)

    def _revisions(self) -> Iterator[tuple[int, RevisionCaptured]]:
        """Yield each range that was captured, with its position."""
        for recorded in self.history.events:
            if isinstance(recorded.event, RevisionCaptured):
                yield recorded.position, recorded.event

    def _name(self, key: str, position: int) -> str:
        """Return the file's name from its URI; the empty one where that was erased."""
        uri = self.run.text_at(self.texts, key, position)
        return unquote(urlsplit(uri).path, errors="surrogateescape").rpartition("/")[2]


def check_memory(run: Verification, history: History, texts: Mapping[str, str]) -> None:
    """Compare what a memory says now with its passages; one that was forgotten has none."""
    run.sources += 1
    key, position, text = None, 0, ""
    for recorded in history.events:
        match recorded.event:
            case MemoryRemembered(text=said) | MemoryCorrected(text=said):
                key, position = said, recorded.position
            case MemoryForgotten():
                key = None
            case _:
                pass
    if key is not None:
        if key in run.erased_later or (key not in texts and key not in run.kept.erased):
            return  # The passages are still to go, or it is told that the text is not there.
        text = run.text_at(texts, key, position)
    expected = anew.of_memory(history.source, text, run.parts.store_key)
    run.passages += sum(len(outline) for outline in expected.values())
    for difference in anew.differences(expected, anew.standing(run.conn, history.source, run.position)):
        run.tell_difference(history.source, difference)
