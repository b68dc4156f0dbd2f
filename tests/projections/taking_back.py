"""Taking back: batches that are undone and restored, memories that come and go, contents that are erased."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Collection, Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import psycopg

from chronofile.domain import streams
from chronofile.domain.envelope import Addition, Recorded
from chronofile.domain.events import (
    BatchReverted,
    BatchStarted,
    MemoryRemembered,
    RevisionCaptured,
    SourceRegistered,
)
from tests.builders import (
    OBSERVED_AT,
    add,
    claude_line,
    corrected,
    erased,
    finished,
    forgotten,
    remembered,
    restored,
    reverted,
    turn_line,
    write,
)
from tests.projections.replays import live_through
from tests.world import World

KEY_CHARS = 40


def live(
    world: World,
    folder: Path,
    *,
    after_each: Callable[[], None] = lambda: None,
    comes_again: bool = True,
) -> None:
    """Let everything happen: what sources do, then undo, memories and erasure."""
    live_through(world, folder, after_each=after_each)
    take_back(world, folder, after_each=after_each)
    erase_some(world, after_each=after_each, comes_again=comes_again)


def take_back(world: World, folder: Path, *, after_each: Callable[[], None] = lambda: None) -> None:
    """Let a batch be undone, restored and undone again, and memories come and go.

    `folder` is one that `replays.live_through` has filled.
    """
    session, turns = folder / "s.jsonl", folder / "t.turns.jsonl"
    write(folder / "README.md", "# Gamma", "A part that is undone.", "", "# Beta", "The second part.")
    add(session, claude_line("A question that is undone.", uuid="u-8"), '{"type": "odd", "sessionId": "s"}')
    (folder / "src" / "app" / "main.py").unlink()
    (folder / "docs" / "notes.txt").rename(folder / "notes.txt")
    write(folder / "new.md", "This is only in the batch that is undone.")
    batch = world.capture(folder).batch
    assert batch is not None
    after_each()
    undo = reverse(world, batch)
    after_each()
    add(session, claude_line("It continues what is hidden.", uuid="u-9"))
    add(turns, turn_line("It continues what is shown.", turn="7", session="t"))
    write(folder / "new.md", "This is a whole after what was undone.")
    world.capture(folder)
    after_each()
    again = reverse(world, undo)
    after_each()
    add(session, claude_line("It continues what is shown again.", uuid="u-10"))
    world.capture(folder)
    after_each()
    reverse(world, again)
    after_each()
    for number in range(3):
        remember(world, number, f"The lighthouse is number {number}.")
    text = "The lighthouse is number four.\n\nIt has a cellar."
    world.given("memory-1", corrected(world.contents.text_key(text)), texts=[text])
    world.given("memory-2", forgotten())
    after_each()
    remember(world, 2, "The lighthouse is number two again.", kind="fact")
    after_each()


def erase_some(
    world: World, *, after_each: Callable[[], None] = lambda: None, comes_again: bool = True
) -> None:
    """Erase files, ranges of a transcript that was partly undone, and memories.

    With `comes_again` the very bytes of one come again, with an event of their own.
    """
    named = streams_by_name(world)
    kept = contents(world, [key for r in world.store.read(named["README.md"]) for key in keys_of(r)])
    erase(world, named["README.md"])
    after_each()
    ranges = [r.event for r in world.store.read(named["s.jsonl"]) if isinstance(r.event, RevisionCaptured)]
    erase(world, named["s.jsonl"], only=[ranges[0].content, ranges[3].content])
    after_each()
    erase(world, "memory-0", "memory-1")
    after_each()
    erase(world, named["s.jsonl"], only=[ranges[1].content])
    if comes_again:
        capture_again(world, named["README.md"], kept)
    after_each()
    erase(world, named["main.py"], named["new.md"])
    after_each()


def streams_by_name(world: World) -> dict[str, str]:
    """Return the stream of each source by the last part of the URI that it was registered with."""
    found = {}
    for recorded in world.store.after(0):
        if isinstance(recorded.event, SourceRegistered):
            (text,) = contents(world, [recorded.event.uri]).values()
            found[text.decode().rpartition("/")[2]] = recorded.stream
    return found


def remember(world: World, number: int, text: str, *, kind: str = "note") -> None:
    event: MemoryRemembered = remembered(world.contents.text_key(text), "person:eve", kind)
    world.given(f"memory-{number}", event, texts=[text])


def reverse(world: World, batch: str) -> str:
    """Undo a batch, or what an undo did to one, and return the batch of the undo."""
    by = uuid.uuid4().hex
    target = batch
    while (of := _undone_by(world, target)) is not None:
        target = of
    history = world.store.read(streams.batch(target))
    is_hidden = any(isinstance(r.event, BatchReverted) for r in history[-1:])

    def beside(cursor: psycopg.Cursor[Any]) -> None:
        done = (
            "DELETE FROM log.reverted WHERE batch = %s"
            if is_hidden
            else "INSERT INTO log.reverted VALUES (%s)"
        )
        cursor.execute(done.encode(), (target,))

    world.store.append(
        [
            Addition(streams.batch(by), 0, [BatchStarted("undo", OBSERVED_AT, of=batch), finished(0)]),
            Addition(streams.batch(target), len(history), [restored(by) if is_hidden else reverted(by)]),
        ],
        alongside=beside,
    )
    return by


def erase(world: World, *named: str, only: Collection[str] | None = None) -> None:
    """Erase what only these streams name, or those of it that are given."""
    events = world.store.after(0)
    mine = {key for r in events if r.stream in named for key in keys_of(r)}
    others = {key for r in events if r.stream not in named for key in keys_of(r)}
    gone = sorted(mine - others if only is None else only)
    closed = () if only else tuple(stream for stream in named if stream.startswith("source-"))
    event = erased(*gone, streams=named, closed=tuple(map(streams.id_of, closed)))

    def beside(cursor: psycopg.Cursor[Any]) -> None:
        cursor.execute("DELETE FROM log.content WHERE key = ANY(%s)", (gone,))

    world.store.append([Addition(streams.erasure(uuid.uuid4().hex), 0, [event])], alongside=beside)


def capture_again(world: World, stream: str, kept: Mapping[str, bytes]) -> None:
    """Append the source's first revision anew, with the same contents, which may have been erased since."""
    history = world.store.read(stream)
    events = [r.event for r in history]
    first = next(event for event in events if isinstance(event, RevisionCaptured))
    last = max(event.revision for event in events if isinstance(event, RevisionCaptured))
    needed = {key: kept[key] for r in history for key in keys_of(r) if key in kept}
    again = replace(first, revision=last + 1, batch="again")
    world.store.append([Addition(stream, len(history), [again])], contents=needed)


def keys_of(recorded: Recorded) -> set[str]:
    """Return the content keys in an event's fields."""
    values = (getattr(recorded.event, field.name) for field in fields(recorded.event))
    return {v for v in values if isinstance(v, str) and len(v) == KEY_CHARS and recorded.stream != v}


def contents(world: World, keys: Collection[str]) -> Mapping[str, bytes]:
    with world.engine.connect() as conn:
        return world.contents.read(conn, sorted(keys))


def _undone_by(world: World, batch: str) -> str | None:
    begun = world.store.read(streams.batch(batch))[0].event
    return begun.of if isinstance(begun, BatchStarted) else None
