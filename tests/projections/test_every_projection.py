"""What holds for every projection: its rows depend on the log alone, and a crash changes none of them."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from chronofile.projections import changes, histories, passage_writer, runner
from chronofile.projections.embedding import embed_pending
from chronofile.projections.runner import Limits
from tests.projections.replays import begin_anew, crashing, replay
from tests.projections.taking_back import live
from tests.world import World

# It catches up, and waits for ever between a page's writes and its checkpoint once it has come so far.
PROGRAM = """
import sys, time
from pathlib import Path
from chronofile.infra.contents import ContentStore
from chronofile.infra.datastore import Datastore, engine_of
from chronofile.infra.event_store import EventStore
from chronofile.projections import runner
from chronofile.projections.runner import Limits
from tests.projections.replays import crashing
from tests.world import World
conninfo, key, home, name, pages = sys.argv[1:]
contents = ContentStore(bytes.fromhex(key))
left = [int(pages)]
def crash():
    left[0] -= 1
    if not left[0]:
        print("written", flush=True)
        time.sleep(600)
with Datastore(conninfo) as datastore:
    store, engine = EventStore(datastore, contents), engine_of(conninfo)
    world = World(conninfo, Path(home), bytes.fromhex(key), contents, store, engine)
    projections = [crashing(p, crash) if p.name == name else p for p in world.projections]
    runner.catch_up(engine, store, projections, limits=Limits(events=7))
"""

NAMES = ("sources", "passages", "lexical", "instant", "vectors")


@pytest.fixture
def conninfo(any_conninfo: str) -> str:
    """All of this holds on both kinds of servers."""
    return any_conninfo


@pytest.fixture
def lived(world: World, tmp_path: Path) -> World:
    live(world, tmp_path / "api")
    return world


def test_pages_of_one_event_give_the_rows_that_pages_of_a_thousand_give(lived: World) -> None:
    at_once = replay(lived, 1_000)

    assert all(at_once[name] for name in ("sources.source", "passages.passage", "lexical.total"))
    assert replay(lived, 1) == at_once
    assert replay(lived, 7) == at_once


def test_catching_up_along_the_way_gives_the_same_rows(world: World, tmp_path: Path) -> None:
    live(world, tmp_path / "api", after_each=world.catch_up)
    lived = world.dump()

    for events in (1_000, 1):
        rebuilt = world.rebuilt(events)
        assert {name: rows for name, rows in rebuilt.items() if rows != lived[name]} == {}
    assert world.dump() == lived


def test_a_second_replay_gives_the_rows_of_the_first_and_a_third_run_changes_nothing(lived: World) -> None:
    once = replay(lived)
    assert replay(lived) == once

    lived.catch_up()

    assert lived.dump() == once


def test_pages_of_little_content_give_the_same_rows(lived: World) -> None:
    at_once = replay(lived)
    begin_anew(lived)

    limits = Limits(content_bytes=100)
    assert runner.catch_up(lived.engine, lived.store, lived.projections, limits=limits)

    assert lived.dump() == at_once


def test_work_that_is_divided_for_the_sake_of_memory_gives_the_same_rows(
    lived: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_once = replay(lived)
    monkeypatch.setattr(changes, "BEGAN_READ_MAX", 3)
    monkeypatch.setattr(histories, "STREAMS_READ_MAX", 2)
    monkeypatch.setattr(passage_writer, "SHIFTS_MAX", 1)
    monkeypatch.setattr(passage_writer, "STEPS_MAX", 2)
    assert replay(lived) == at_once

    monkeypatch.setattr(passage_writer, "CONTENT_BYTES_MAX", 0)
    assert replay(lived) == at_once


@pytest.mark.parametrize("name", NAMES)
def test_a_crash_between_a_page_and_its_checkpoint_changes_nothing(lived: World, name: str) -> None:
    at_once = replay(lived)
    begin_anew(lived)
    pages = iter(range(3))

    def crash() -> None:
        if next(pages, None) is None:
            raise KeyboardInterrupt

    stopping = [crashing(p, crash) if p.name == name else p for p in lived.projections]
    with pytest.raises(KeyboardInterrupt):
        runner.catch_up(lived.engine, lived.store, stopping, limits=Limits(events=7))
    lived.catch_up(page_events=7)

    assert lived.dump() == at_once


@pytest.mark.parametrize("name", ["passages", "lexical"])
def test_a_process_that_is_killed_between_a_page_and_its_checkpoint_loses_and_doubles_nothing(
    lived: World, name: str
) -> None:
    at_once = replay(lived)
    begin_anew(lived)
    arguments = [lived.conninfo, lived.store_key.hex(), str(lived.home), name, "2"]
    with subprocess.Popen([sys.executable, "-c", PROGRAM, *arguments], stdout=subprocess.PIPE) as running:
        assert running.stdout is not None
        assert b"written\n" in running.stdout
        running.send_signal(signal.SIGKILL)
    _wait_for_the_lock(lived)

    lived.catch_up(page_events=7)

    assert lived.dump() == at_once


def test_vectors_come_from_the_cache_when_they_are_built_anew(lived: World) -> None:
    lived.catch_up(embed=True)
    embedded = lived.dump()
    assert not embedded["vectors.pending"]

    assert replay(lived, 1) == embedded
    assert embed_pending(lived.engine, lived.embedder) == 0


def _wait_for_the_lock(world: World) -> None:
    """Wait until the server has noticed that the process is gone: only then is its transaction undone."""
    with world.store.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM control.generation")
    with world.engine.begin() as conn:
        conn.exec_driver_sql("SELECT 1 FROM control.generation FOR UPDATE")
