"""Replays: a made-up history, generations that are built anew from it, and what is in their tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import sqlalchemy as sa

from chronofile.domain.envelope import Page, Recorded
from chronofile.domain.events import SourceRegistered, SourceRescoped
from chronofile.infra.event_store import EventStore
from chronofile.projections import control, runner
from chronofile.projections.control import Generation
from chronofile.projections.projection import Projection
from chronofile.projections.runner import Limits
from tests.builders import add, claude_line, repository, revised, turn_line, write
from tests.world import Dump, World

NOTES = "The notes are long enough that a move of them is told from a new file with other words in it."


@dataclass(frozen=True, slots=True)
class UpTo:
    """The log as it was when it ended at a position."""

    store: EventStore
    last: int

    def after(self, position: int, limit: int) -> list[Recorded]:
        return [event for event in self.store.after(position, limit) if event.position <= self.last]

    def position(self) -> int:
        return self.last


def live_through(world: World, folder: Path, *, after_each: Callable[[], None] = lambda: None) -> None:
    """Let everything happen that sources do: they grow, shrink, move, go and come back, and change their scope."""
    repository(folder)
    readme = write(folder / "README.md", "# Alpha", "The first part.", "", "# Beta", "The second part.")
    code = write(folder / "src" / "app" / "main.py", "def main():", "    return 'zebra'", "", "x = 1")
    notes = write(folder / "notes.txt", NOTES)
    session = write(
        folder / "s.jsonl",
        claude_line("Which port is it?", cwd=str(folder)),
        claude_line("I look.", role="assistant", uuid="u-2", message_id="m-1"),
    )
    turns = write(
        folder / "t.turns.jsonl",
        turn_line("We met in May.", turn="1", session="t", speaker="Ann", at="2023-05-08T10:00:00"),
        turn_line("So we did.", turn="2", session="t", role="assistant"),
        turn_line("Elsewhere.", turn="1", session="u", scope="person:ann"),
    )
    world.capture(folder)
    after_each()
    write(readme, "# Zero", "A new part before them.", "", *readme.read_text().splitlines())
    add(
        session,
        claude_line("It is 5432.", role="assistant", uuid="u-3", message_id="m-1"),
        '{"type": "unheard-of", "sessionId": "s"}',
        claude_line("Thanks.", uuid="u-4"),
    )
    add(turns, turn_line("So we did, in Rome.", turn="2", session="t", role="assistant"))
    world.capture(folder)
    after_each()
    (folder / "docs").mkdir()
    notes.rename(folder / "docs" / "notes.txt")
    content = code.read_bytes()
    code.unlink()
    write(session, claude_line("Which port is it now?", cwd=str(folder)), claude_line("Thanks.", uuid="u-4"))
    (folder / "picture.bin").write_bytes(b"\x00\x01\x02" * 40)
    world.capture(folder)
    after_each()
    code.write_bytes(content)
    write(readme, "# Beta", "The second part.")
    world.capture(folder)
    after_each()
    for stream in sorted({r.stream for r in world.store.after(0) if _is_session(r)}):
        world.given(stream, SourceRescoped("person:ben"))
    after_each()
    stream = next(r.stream for r in world.store.after(0) if _is_session(r))
    unknown = revised(world.contents.text_key("?"), 9, start=10**6, end=10**6 + 1, format="unheard-of")
    world.given(stream, unknown, texts=["?"])
    write(turns, *turns.read_text().splitlines()[2:], turn_line("Anew.", turn="3", session="t"))
    world.capture(folder)
    after_each()


def begin_anew(world: World) -> dict[str, Generation]:
    """Make empty generations of every projection the serving ones."""
    serving: dict[str, Generation] = {}
    with world.engine.begin() as conn:
        for projection in world.projections:
            serving[projection.name] = control.create(conn, projection, serving)
            chosen = {"generation": serving[projection.name].id}
            which = control.active.c.projection == projection.name
            conn.execute(sa.update(control.active).where(which).values(chosen))
    return serving


def replay(world: World, page_events: int = 1_000, *, last: int | None = None) -> Dump:
    """Build every projection anew and return its rows."""
    begin_anew(world)
    events = UpTo(world.store, world.store.position() if last is None else last)
    assert runner.catch_up(world.engine, events, world.projections, limits=Limits(events=page_events))
    return world.dump()


def crashing(projection: Projection, crash: Callable[[], None]) -> Projection:
    """Return the projection with something that happens after its writes and before its checkpoint."""

    def apply(conn: sa.Connection, page: Page) -> None:
        projection.apply(conn, page)
        crash()

    return replace(projection, apply=apply)


def _is_session(recorded: Recorded) -> bool:
    return isinstance(recorded.event, SourceRegistered) and recorded.event.session == "t"
