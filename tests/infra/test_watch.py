"""The watch: a process that captures what changes on disk, whatever happens to the files, the database and itself."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from chronofile.infra.config import load
from chronofile.infra.contents import ContentStore
from chronofile.infra.datastore import Datastore
from chronofile.infra.event_store import EventStore
from chronofile.infra.migrate import migrate
from chronofile.infra.migrate import store_key as key_of
from chronofile.infra.watch.flush import Flush
from chronofile.infra.watch.watcher import Watcher
from chronofile.infra.wiring import memory_of
from chronofile.ingest import agents
from tests.builders import add, claude_line, commit, write
from tests.infra.storms import Storm
from tests.infra.watched import Kept, Watch, until, watching
from tests.servers import Server, postmaster

NOTE = "The staging server listens on port 5433, behind the proxy."
KILLS = 20


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = Path(os.path.realpath(tmp_path)) / "notes"
    found.mkdir()
    write(found / "first.md", NOTE)
    return found


@pytest.fixture
def watch(folder: Path, home: Path, conninfo: str) -> Iterator[Watch]:
    with watching(folder, home=home, conninfo=conninfo) as found:
        yield found.begun()


def kept(store: EventStore, contents: ContentStore) -> Kept:
    return Kept.of(store, contents)


def is_all_kept(store: EventStore, contents: ContentStore, *folders: Path) -> bool:
    return not Kept.of(store, contents).missing(*folders)


def test_a_change_is_searchable_within_two_seconds(home: Path, conninfo: str, tmp_path: Path) -> None:
    """One line of a transcript in an agent's folder, which is watched although nobody named it."""
    session = write(tmp_path / ".claude" / "projects" / "p" / "s.jsonl", claude_line("Hello."))
    with watching(home=home, conninfo=conninfo, agents=None) as watch:
        watch.begun()
        watch.says(f"Watching {tmp_path / '.claude' / 'projects'} (claude-code)")
        config = load({"home": str(home), "database_url": conninfo}, {})
        with memory_of(config, caller="python") as memory:
            memory.search("warm up", scope="all")
            add(session, claude_line("The zebra crossing is closed.", uuid="u-2"))
            took_s = until(lambda: "zebra" in str(memory.search("zebra crossing", scope="all").hits), 2)

        assert took_s < 2
        (flush,) = [found for found in watch.flushes if found["reason"] == "changes"]
        assert (flush["revisions"], flush["sources"]) == (1, 1)


def test_everything_that_happens_to_files_is_captured_as_it_is_in_the_end(
    watch: Watch, folder: Path, store: EventStore, contents: ContentStore
) -> None:
    write(folder / "saved.md", "old", NOTE)
    write(folder / "gone.md", "gone", NOTE)
    write(folder / "renamed.md", "A longer text so that a move is told from a new file.", NOTE)
    write(folder / "sub" / "deep" / "a.md", "a", NOTE)
    write(folder / "s.jsonl", claude_line("One."))
    until(lambda: is_all_kept(store, contents, folder))

    write(folder / ".saved.md.tmp", "new", NOTE).rename(folder / "saved.md")
    (folder / "gone.md").unlink()
    (folder / "renamed.md").rename(folder / "sub" / "other.md")
    (folder / "sub" / "deep").rename(folder / "moved")
    write(folder.parent / "outside" / "x" / "b.md", "b", NOTE)
    (folder.parent / "outside").rename(folder / "inside")
    write(folder / "new" / "at" / "once" / "c.md", "c", NOTE)
    (folder / os.fsdecode(b"caf\xe9.md")).write_text(f"not UTF-8\n{NOTE}\n")
    add(folder / "s.jsonl", claude_line("Two.", uuid="u-2"))
    write(folder / "/".join(["long" * 60] * 12) / "d.md", "d", NOTE)
    until(lambda: is_all_kept(store, contents, folder))
    shutil.move(folder / "inside", folder.parent / "outside")
    shutil.rmtree(folder / "new")
    until(lambda: is_all_kept(store, contents, folder))

    assert kept(store, contents).doubled == 0
    assert watch.count("moved") == 1
    assert watch.end() == 0


def test_thousands_of_files_that_a_checkout_changes_are_captured_together(
    folder: Path, home: Path, conninfo: str, store: EventStore, contents: ContentStore
) -> None:
    git = ["git", "-C", str(folder), "checkout", "--quiet"]
    commit(folder)
    subprocess.run([*git, "-b", "other"], check=True)
    for number in range(3_000):
        write(folder / f"src{number % 40}" / f"{number}.md", f"File {number} of the other branch.")
    commit(folder)
    subprocess.run([*git, "-"], check=True)
    with watching(folder, home=home, conninfo=conninfo) as watch:
        watch.begun()
        subprocess.run([*git, "other"], check=True)
        until(lambda: is_all_kept(store, contents, folder))

        assert len({flush["batch"] for flush in watch.flushes}) <= 5
        assert watch.end() == 0  # In the middle of computing vectors.
        assert kept(store, contents).doubled == 0


def test_a_root_that_vanishes_removes_nothing_and_is_captured_again_when_it_is_back(
    watch: Watch, folder: Path, store: EventStore, contents: ContentStore
) -> None:
    folder.rename(folder.parent / "away")
    watch.says(f"{folder} is gone. Nothing of it counts as removed")
    write(folder.parent / "away" / "meanwhile.md", "meanwhile", NOTE)
    (folder.parent / "away").rename(folder)
    watch.says(f"{folder} is there, and watched.")
    until(lambda: is_all_kept(store, contents, folder))

    assert watch.count("removed") == 0
    write(folder / "later.md", "later", NOTE)
    until(lambda: is_all_kept(store, contents, folder))


def test_a_path_that_is_not_there_is_waited_for_unless_none_is(
    folder: Path, home: Path, conninfo: str, store: EventStore, contents: ContentStore
) -> None:
    later = folder.parent / "later"
    with watching(folder / "first.md", later, home=home, conninfo=conninfo) as watch:
        watch.begun()
        watch.says(f"{later} is not there; it is watched as soon as it is.")
        write(later / "a.md", "a", NOTE)
        until(lambda: is_all_kept(store, contents, later, folder))
        write(folder / "other.md", "other")
        write(folder / "first.md", "first", NOTE)
        until(lambda: watch.count("revisions") == 3)

    with watching(folder / "none", home=home, conninfo=conninfo) as watch:
        assert watch.process.wait(20) == 1
    assert "Nothing that could be watched is there" in watch.said


def test_a_folder_that_an_agent_made_meanwhile_is_watched_from_the_next_scan_on(
    folder: Path, home: Path, conninfo: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chronofile.infra.watch.watcher.RECONCILE_S", 0.2)
    config = load({"home": str(home), "database_url": conninfo}, {})
    flushes: list[Flush] = []
    said: list[str] = []
    watcher = Watcher(
        [folder],
        lambda: memory_of(config, caller="cli"),
        home=home,
        told=flushes.append,
        say=said.append,
        more=lambda: map(agents.Kept, (folder.parent / "projects").glob("*")),
    )
    thread = threading.Thread(target=watcher.run)
    thread.start()
    try:
        until(lambda: flushes)
        write(folder.parent / "projects" / "p" / "s.jsonl", claude_line("Hello."))
        until(lambda: sum(flush.captured.revisions for flush in flushes) == 2)
    finally:
        watcher.stop()
        thread.join()

    assert said == [f"{folder.parent / 'projects' / 'p'} is there, and watched."]


def test_one_watch_runs_per_home_and_its_lease_survives_no_kill(
    watch: Watch, folder: Path, home: Path, conninfo: str
) -> None:
    with watching(folder, home=home, conninfo=conninfo) as second:
        assert second.process.wait(20) == 1
    assert f"(process {watch.process.pid} holds {home / 'watch.lock'})" in second.said

    watch.end(signal.SIGKILL)
    for number in (signal.SIGINT, signal.SIGHUP):
        with watching(folder, home=home, conninfo=conninfo) as third:
            assert third.begun().end(number) == 0


def test_events_that_the_system_dropped_are_made_up_for_by_a_scan(
    watch: Watch, folder: Path, store: EventStore, contents: ContentStore
) -> None:
    most = int(Path("/proc/sys/fs/inotify/max_queued_events").read_text())
    watch.process.send_signal(signal.SIGSTOP)
    files = [folder / f"{number}.md" for number in range(8)]
    for number in range(most // 2 // len(files) + 50):
        for file in files:
            file.write_text(f"{number} {NOTE}")
    write(folder / "dropped" / "last.md", "last", NOTE)
    watch.process.send_signal(signal.SIGCONT)

    until(lambda: is_all_kept(store, contents, folder))
    until(lambda: "lost" in {flush["reason"] for flush in watch.flushes})
    write(folder / "dropped" / "later.md", "later", NOTE)
    assert until(lambda: is_all_kept(store, contents, folder)) < 10


def test_folders_that_the_system_will_not_watch_are_looked_through_every_few_seconds(
    folder: Path, home: Path, external_postgres: Server
) -> None:
    """The limit is one of a user namespace, in which nobody may enter another account's folder: hence TCP."""
    limited = 'echo 3 > /proc/sys/user/max_inotify_watches && exec "$@"'
    before = ("unshare", "--user", "--map-root-user", "sh", "-c", limited, "sh")
    if subprocess.run([*before, "true"], capture_output=True, check=False).returncode:
        pytest.skip("this system allows nobody a user namespace with a limit of its own")
    for number in range(9):
        write(folder / f"sub{number}" / "a.md", str(number), NOTE)
    with (
        external_postgres.database() as conninfo,
        watching(folder, home=home, conninfo=conninfo, before=before) as watch,
        Datastore(conninfo) as datastore,
    ):
        contents = ContentStore(key_of(conninfo))
        store = EventStore(datastore, contents)
        watch.begun()
        watch.says("The system watches no more folders for us (fs.inotify.max_user_watches)")
        for number in range(9):
            write(folder / f"sub{number}" / "b.md", "b", str(number), NOTE)
        until(lambda: is_all_kept(store, contents, folder))

    assert watch.said.count("watches no more folders") == 1


def test_a_file_that_never_rests_is_captured_when_it_does(
    watch: Watch, folder: Path, store: EventStore, contents: ContentStore
) -> None:
    line = claude_line("A line that is written in two halves.", uuid="u-9").encode() + b"\n"
    with (folder / "s.jsonl").open("wb", buffering=0) as session, (folder / "big.md").open("wb", 0) as big:
        session.write(claude_line("One.").encode() + b"\n")
        end_s = time.monotonic() + 2.5
        while time.monotonic() < end_s:
            session.write(line[:50])
            big.write(b"restless " * 1_000)
            time.sleep(0.02)
            session.write(line[50:])
        big.write(b"at rest")

    until(lambda: is_all_kept(store, contents, folder))


def test_nothing_is_lost_while_the_database_is_away(folder: Path, home: Path) -> None:
    with postmaster() as server:
        migrate(server.conninfo)
        with (
            watching(folder, home=home, conninfo=server.conninfo) as watch,
            Datastore(server.conninfo) as datastore,
        ):
            contents = ContentStore(key_of(server.conninfo))
            store = EventStore(datastore, contents)
            watch.begun()
            server.stop()
            write(folder / "away.md", "away", NOTE)
            watch.says("The watch goes on, and captures what it missed as soon as it can.")
            (folder / "first.md").unlink()
            server.start()
            watch.says("The watch captures again.")

            until(lambda: is_all_kept(store, contents, folder))
            assert watch.end() == 0


def test_a_file_that_cannot_be_captured_holds_up_no_other(
    folder: Path, home: Path, conninfo: str, store: EventStore, contents: ContentStore
) -> None:
    """A trigger in the database stands for whatever nobody has thought of."""
    with store.cursor() as cursor:
        cursor.execute(
            "CREATE FUNCTION log.refuse() RETURNS trigger LANGUAGE plpgsql"
            " AS $$ BEGIN IF new.size = 4242 THEN RAISE 'no'; END IF; RETURN new; END $$"
        )
        cursor.execute(
            "CREATE TRIGGER refuse BEFORE INSERT ON log.content FOR EACH ROW EXECUTE FUNCTION log.refuse()"
        )
    poison = write(folder / "b" / "c" / "poison.md", "x" * 4_241)
    others = [
        write(folder / name, f"{name} {NOTE}") for name in ("a.md", "b/a.md", "b/c/a.md", "b/d.md", "e/f.md")
    ]
    with watching(folder, home=home, conninfo=conninfo) as watch:
        watch.says(f"{poison} cannot be captured, all else is.")
        until(lambda: Kept.of(store, contents).missing(folder) == [str(poison)])
        write(others[0], "changed", NOTE)
        until(lambda: Kept.of(store, contents).missing(folder) == [str(poison)])
        poison.write_text("harmless now")
        until(lambda: is_all_kept(store, contents, folder))

    assert watch.said.count("cannot be captured") == 1


def test_what_a_hook_noted_is_captured_within_a_second(watch: Watch, folder: Path, home: Path) -> None:
    """The transcript is in no folder that is watched: only the hook tells of it."""
    session = write(folder.parent / "elsewhere" / "s.jsonl", claude_line("Only a hook knows."))
    event = f'{{"hook_event_name": "Stop", "session_id": "s", "transcript_path": "{session}"}}'
    hook = ["-c", "from chronofile.infra.hook import main; main()", "Stop", "--home", str(home)]
    from tests.infra.command_line import PROGRAM

    subprocess.run([PROGRAM[0], *hook], input=event.encode(), check=True, capture_output=True)

    watch.says("captured of what hooks noted", wait_s=2)


def test_a_watch_that_is_killed_again_and_again_in_a_storm_of_changes_loses_and_doubles_nothing(
    folder: Path, home: Path, conninfo: str, store: EventStore, contents: ContentStore
) -> None:
    chance = random.Random(7)
    storm = Storm(folder, seed=7)
    with storm.raging():
        for kill in range(KILLS):
            with watching(folder, home=home, conninfo=conninfo) as watch:
                if kill % 2:
                    watch.begun()
                    time.sleep(chance.uniform(0, 0.8))
                else:
                    time.sleep(chance.uniform(0.8, 1.8))
    with watching(folder, home=home, conninfo=conninfo) as watch:
        watch.begun()
        until(lambda: is_all_kept(store, contents, folder))
        assert watch.end() == 0

    found = kept(store, contents)
    assert found.missing(folder) == []
    assert found.doubled == 0
    with Datastore(conninfo) as datastore:
        assert storm.doubled_passages(datastore) == []
