"""Which source a file is: grown, rewritten, moved, copied, gone, and turned into something else."""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import TypeVar

import pytest

from chronofile.domain.events import Event, RevisionCaptured, SourceRegistered
from chronofile.ingest.capture import Capture, Captured, Request
from chronofile.ingest.reading import RANGE_BYTES
from chronofile.ingest.sighting import HEAD_BYTES, TAIL_BYTES, HeldBytes
from tests.builders import add, claude_line, repository, turn_line, write
from tests.world import World

SomeEvent = TypeVar("SomeEvent", bound=Event)
LONG = "A sentence that is long enough for a file of it to be told from another one."


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return repository(tmp_path / "api")


def kinds(world: World, after: int = 0) -> list[str]:
    """Return what happened to sources after a position, batches left out."""
    names = [type(recorded.event).__name__ for recorded in world.store.after(after)]
    return [name for name in names if not name.startswith(("Batch", "Scope", "Directory"))]


def of_type(world: World, event_type: type[SomeEvent], after: int = 0) -> list[SomeEvent]:
    return [r.event for r in world.store.after(after) if isinstance(r.event, event_type)]


def spans(world: World, after: int = 0) -> list[tuple[int, int]]:
    return [(event.start, event.end) for event in of_type(world, RevisionCaptured, after)]


def streams(world: World) -> set[str]:
    return {r.stream for r in world.store.after(0) if r.stream.startswith("source-")}


def capture_while(world: World, path: Path, happens: Callable[[Path], None]) -> Captured:
    """Capture, and let something happen to each file after it was looked at."""
    run = Capture(
        world.store,
        world.contents.key,
        home=world.home,
        store_key=world.store_key,
        now=datetime.now(UTC),
        new_id=lambda: uuid.uuid4().hex,
        tick=lambda seen, _: happens(seen),
    )
    return run.run(Request([path]))


class TestGrowingTranscripts:
    @pytest.fixture(autouse=True)
    def _without_former(self, world: World) -> None:
        """Look at the source of the file alone."""
        world.keeps_former = False

    def test_only_new_complete_lines_are_captured_by_their_offsets(
        self, world: World, tmp_path: Path
    ) -> None:
        path = write(tmp_path / "s.jsonl", claude_line("one"), claude_line("two", uuid="u-2"))
        world.capture(path)
        first = path.stat().st_size
        add(path, claude_line("three", uuid="u-3"))

        captured = world.capture(path)

        assert spans(world) == [(0, first), (first, path.stat().st_size)]
        assert (captured.revisions, len(captured.sources), captured.waiting_bytes) == (1, 1, 0)

    def test_a_cut_last_line_waits_and_comes_when_it_is_complete(self, world: World, tmp_path: Path) -> None:
        path = write(tmp_path / "s.jsonl", claude_line("one"))
        complete = path.stat().st_size
        line = claude_line("naïve", uuid="u-2").encode()
        within = line.index("ï".encode()) + 1  # In the middle of a character.
        with path.open("ab") as file:
            file.write(line[:within])

        captured = world.capture(path)
        assert captured.waiting_bytes == within
        assert spans(world) == [(0, complete)]

        again = world.capture(path)
        assert (again.waiting_bytes, again.position, again.batch) == (within, captured.position, None)

        with path.open("ab") as file:
            file.write(line[within:] + b"\n")
        assert world.capture(path).waiting_bytes == 0
        assert spans(world) == [(0, complete), (complete, path.stat().st_size)]

    def test_a_last_line_without_its_line_end_is_captured_and_the_line_end_with_the_next(
        self, world: World, tmp_path: Path
    ) -> None:
        path = tmp_path / "s.jsonl"
        path.write_text(claude_line("one"))
        first = path.stat().st_size
        world.capture(path)
        with path.open("a") as file:
            file.write("\n" + claude_line("two", uuid="u-2") + "\n")

        world.capture(path)

        assert spans(world) == [(0, first), (first, path.stat().st_size)]
        world.catch_up()
        assert world.rows("SELECT text FROM {passages}.passage ORDER BY no") == [(b"one",), (b"two",)]

    @pytest.mark.parametrize(
        "change",
        [
            lambda content: content.replace(b"one", b"uno"),
            lambda content: content[: content.index(b"\n") + 1],
            lambda content: b'{"type":"summary","summary":"s","leafUuid":"l"}\n' + content,
        ],
        ids=["rewritten", "truncated", "prefixed"],
    )
    def test_a_file_that_was_not_only_appended_to_is_a_whole_new_revision(
        self, world: World, tmp_path: Path, change: Callable[[bytes], bytes]
    ) -> None:
        path = write(tmp_path / "s.jsonl", claude_line("one"), claude_line("two", uuid="u-2"))
        world.capture(path)
        path.write_bytes(change(path.read_bytes()))

        world.capture(path)

        assert [event.revision for event in of_type(world, RevisionCaptured)] == [1, 2]
        assert spans(world)[1] == (0, path.stat().st_size)
        assert len(streams(world)) == 1

    def test_a_file_that_grew_by_more_than_a_range_is_captured_in_several(
        self, world: World, tmp_path: Path
    ) -> None:
        path = write(tmp_path / "s.jsonl", claude_line("one"))
        world.capture(path)
        first = path.stat().st_size
        add(path, *(claude_line(f"{number} " + "x" * 99_000, uuid=f"u-{number}") for number in range(100)))

        captured = world.capture(path)

        found = spans(world)
        assert captured.revisions == 2
        assert found[0][1] == first
        assert [end for _, end in found[:-1]] == [start for start, _ in found[1:]]
        assert found[-1][1] == path.stat().st_size
        assert all(end - start <= RANGE_BYTES for start, end in found)
        assert world.capture(path).position == captured.position

    def test_a_line_that_is_longer_than_a_range_is_one_range(self, world: World, tmp_path: Path) -> None:
        path = write(tmp_path / "s.jsonl", claude_line("one"), claude_line("x" * 9_000_000, uuid="u-2"))
        first = len(claude_line("one")) + 1

        world.capture(path)

        assert spans(world) == [(0, first), (first, path.stat().st_size)]

    def test_a_line_of_five_megabytes_is_captured(self, world: World, tmp_path: Path) -> None:
        path = write(tmp_path / "s.jsonl", claude_line("word " * 1_000_000))

        world.capture(path)

        assert spans(world) == [(0, path.stat().st_size)]

    def test_a_byte_order_mark_and_carriage_returns_stay_in_the_bytes(
        self, world: World, tmp_path: Path
    ) -> None:
        path = tmp_path / "s.jsonl"
        path.write_bytes(b"\xef\xbb\xbf" + claude_line("one").encode() + b"\r\n")
        world.capture(path)
        first = path.stat().st_size
        with path.open("ab") as file:
            file.write(claude_line("two", uuid="u-2").encode() + b"\r\n")
        world.capture(path)
        world.catch_up()

        assert spans(world) == [(0, first), (first, path.stat().st_size)]
        assert world.rows("SELECT text FROM {passages}.passage ORDER BY no") == [(b"one",), (b"two",)]

    def test_a_change_between_head_and_tail_is_seen_at_once_where_the_file_is_held(
        self, world: World, tmp_path: Path
    ) -> None:
        lines = [claude_line(f"{number} " + "x" * 20_000, uuid=f"u-{number}") for number in range(20)]
        path = write(tmp_path / "s.jsonl", *lines)
        world.capture(path)
        path.write_bytes(path.read_bytes().replace(b'"5 x', b'"5 y'))

        world.capture(path)

        assert spans(world) == [(0, path.stat().st_size)] * 2

    def test_such_a_change_in_a_large_file_is_seen_when_the_whole_is_compared(
        self, world: World, tmp_path: Path
    ) -> None:
        lines = [claude_line(f"{number} " + "x" * 100_000, uuid=f"u-{number}") for number in range(90)]
        path = write(tmp_path / "s.jsonl", *lines)
        before = world.capture(path)
        assert HEAD_BYTES + TAIL_BYTES < RANGE_BYTES < path.stat().st_size
        path.write_bytes(path.read_bytes().replace(b'"5 x', b'"5 y'))

        assert world.capture(path).position == before.position
        world.capture(path, again=True)

        assert spans(world, before.position) == spans(world)[:2]
        after = world.store.position()
        assert world.capture(path, again=True).position == after


class TestOneSessionInSeveralFiles:
    @pytest.fixture
    def path(self, tmp_path: Path) -> Path:
        return write(tmp_path / "b.jsonl", claude_line("one"), claude_line("two", uuid="u-2"))

    def test_a_copy_adds_nothing(self, world: World, path: Path) -> None:
        world.capture(path)
        copy = path.with_name("c.jsonl")
        copy.write_bytes(path.read_bytes())

        captured = world.capture(path.parent)

        assert (captured.batch, captured.unchanged, captured.moved) == (None, 2, 0)

    def test_a_shorter_copy_adds_nothing(self, world: World, path: Path) -> None:
        before = world.capture(path)
        write(path.with_name("c.jsonl"), claude_line("one"))

        for _ in range(2):
            assert world.capture(path.parent, again=True).position == before.position

    def test_a_longer_copy_goes_on_where_the_shorter_one_ends(self, world: World, path: Path) -> None:
        shorter = write(path.with_name("a.jsonl"), claude_line("one"))

        captured = world.capture(path.parent)

        assert len(streams(world)) == 1
        assert spans(world) == [(0, shorter.stat().st_size), (shorter.stat().st_size, path.stat().st_size)]
        assert world.capture(path.parent, again=True).position == captured.position

    def test_a_copy_that_says_something_else_is_a_source_of_its_own_and_stays_one(
        self, world: World, path: Path
    ) -> None:
        other = write(path.with_name("c.jsonl"), claude_line("one"), claude_line("deux", uuid="u-2"))
        captured = world.capture(path.parent)
        assert len(streams(world)) == 2
        assert world.capture(path.parent, again=True).position == captured.position

        path.unlink()
        add(other, claude_line("trois", uuid="u-3"))
        world.capture(path.parent)

        assert len(streams(world)) == 2
        assert spans(world, captured.position)[0][0] > 0

    def test_a_session_in_two_files_of_many_sessions_does_not_go_back_and_forth(
        self, world: World, tmp_path: Path
    ) -> None:
        first = write(tmp_path / "a.turns.jsonl", turn_line("one", session="s"), turn_line("x", session="t"))
        world.capture(first)
        write(tmp_path / "b.turns.jsonl", turn_line("uno", session="s"), turn_line("y", session="u"))
        captured = world.capture(tmp_path)
        assert "SourceMoved" not in kinds(world)
        assert len(streams(world)) == 4

        assert world.capture(tmp_path, again=True).position == captured.position

    def test_a_renamed_session_is_moved_once(self, world: World, path: Path) -> None:
        before = world.capture(path).position
        path.rename(path.with_name("z.jsonl"))

        captured = world.capture(path.parent)

        assert kinds(world, before) == ["SourceMoved"]
        assert (captured.moved, captured.revisions, captured.removed) == (1, 0, 0)

    def test_a_sub_agents_file_is_a_source_of_its_own(self, world: World, path: Path) -> None:
        lines = [claude_line("look", isSidechain=True, agentId="7"), claude_line("done", isSidechain=True)]
        write(path.parent / "sub" / "agent-7.jsonl", *lines)

        world.capture(path.parent)

        assert {event.session for event in of_type(world, SourceRegistered)} == {"s", "s/agent-7"}


class TestPlainFiles:
    def test_an_edit_is_a_revision(self, world: World, folder: Path) -> None:
        path = write(folder / "notes.md", LONG)
        world.capture(folder)
        write(path, LONG, "More.")

        captured = world.capture(folder)

        assert [event.revision for event in of_type(world, RevisionCaptured)] == [1, 2]
        assert (captured.revisions, len(captured.sources)) == (1, 1)

    def test_a_move_within_the_root_is_one_event_and_nothing_is_captured_anew(
        self, world: World, folder: Path
    ) -> None:
        path = write(folder / "notes.md", LONG)
        write(folder / "other.md", LONG + " Another.")
        before = world.capture(folder).position
        world.catch_up(embed=True)
        passages = world.rows("SELECT DISTINCT id FROM {passages}.passage ORDER BY id")
        (folder / "docs").mkdir()
        path.rename(folder / "docs" / "renamed.md")

        captured = world.capture(folder)
        world.catch_up()

        assert kinds(world, before) == ["SourceMoved"]
        assert (captured.moved, captured.revisions, captured.removed) == (1, 0, 0)
        assert world.rows("SELECT count(*) FROM {vectors}.pending") == [(0,)]
        # Where it is has changed, and what it is has not.
        assert world.rows("SELECT DISTINCT id FROM {passages}.passage ORDER BY id") == passages
        assert world.capture(folder, again=True).position == captured.position

    @pytest.mark.parametrize("both", [True, False], ids=["both gone", "one gone"])
    def test_a_move_of_what_two_files_held_is_none(self, world: World, folder: Path, *, both: bool) -> None:
        first, second = write(folder / "a.md", LONG), write(folder / "b.md", LONG)
        before = world.capture(folder).position
        first.rename(folder / "c.md")
        if both:
            second.unlink()

        world.capture(folder)

        gone = ["SourceRemoved"] * (1 + both)
        assert sorted(kinds(world, before)) == ["RevisionCaptured", "SourceRegistered", *gone]

    def test_two_new_files_with_the_bytes_of_one_that_is_gone_are_no_move(
        self, world: World, folder: Path
    ) -> None:
        path = write(folder / "a.md", LONG)
        before = world.capture(folder).position
        write(folder / "b.md", LONG)
        path.rename(folder / "c.md")

        world.capture(folder)

        assert "SourceMoved" not in kinds(world, before)

    def test_what_is_shorter_than_64_bytes_is_no_move(self, world: World, folder: Path) -> None:
        path = folder / "a.md"
        path.write_bytes(b"x" * 63)
        before = world.capture(folder).position
        path.rename(folder / "b.md")

        world.capture(folder)

        assert sorted(kinds(world, before)) == ["RevisionCaptured", "SourceRegistered", "SourceRemoved"]

    def test_what_was_moved_and_edited_is_another_source(self, world: World, folder: Path) -> None:
        path = write(folder / "a.md", LONG)
        before = world.capture(folder).position
        path.unlink()
        write(folder / "b.md", LONG, "More.")

        world.capture(folder)

        assert sorted(kinds(world, before)) == ["RevisionCaptured", "SourceRegistered", "SourceRemoved"]

    def test_a_move_to_another_repository_is_none(self, world: World, folder: Path, tmp_path: Path) -> None:
        path = write(folder / "a.md", LONG)
        other = repository(tmp_path / "web")
        before = world.capture(tmp_path).position
        path.rename(other / "a.md")

        world.capture(tmp_path)

        assert sorted(kinds(world, before)) == ["RevisionCaptured", "SourceRegistered", "SourceRemoved"]

    def test_a_deleted_file_is_removed_and_what_it_said_is_over_while_transcripts_are_kept(
        self, world: World, folder: Path
    ) -> None:
        path, session = write(folder / "a.md", LONG), write(folder / "s.jsonl", claude_line("Kept."))
        turns = write(folder / "t.turns.jsonl", turn_line("Kept too.", session="t"))
        before = world.capture(folder).position
        for gone in (path, session, turns):
            gone.unlink()

        captured = world.capture(folder)
        world.catch_up()

        assert kinds(world, before) == ["SourceRemoved"]
        assert captured.removed == 1
        alive = world.rows("SELECT text FROM {passages}.passage WHERE recorded_to > %s ORDER BY no", 10**9)
        assert alive == [(b"Kept.",), (b"Kept too.",)]
        assert world.capture(folder).position == captured.position

    def test_a_file_that_comes_back_is_the_same_source(self, world: World, folder: Path) -> None:
        path = write(folder / "a.md", LONG)
        world.capture(folder)
        path.unlink()
        world.capture(folder)
        write(path, LONG)

        world.capture(folder)

        assert kinds(world) == ["SourceRegistered", "RevisionCaptured", "SourceRemoved", "RevisionCaptured"]

    def test_what_is_not_below_the_folders_that_were_named_is_not_removed(
        self, world: World, folder: Path
    ) -> None:
        path = write(folder / "docs" / "a.md", LONG)
        (folder / "docs2").mkdir()
        world.capture(folder)
        path.unlink()

        assert world.capture(folder / "docs2").removed == 0
        assert world.capture(folder, dry_run=True).removed == 1
        assert "SourceRemoved" not in kinds(world)
        assert world.capture(folder).removed == 1

    def test_a_file_below_a_folder_into_which_the_system_does_not_let_us_look_is_not_gone(
        self, world: World, folder: Path
    ) -> None:
        path = write(folder / "docs" / "a.md", LONG)
        before = world.capture(folder).position
        path.unlink()
        path.parent.rmdir()
        path.parent.symlink_to(
            "docs"
        )  # A link to itself: the system says neither that it is there nor that it is not.

        assert world.capture(folder).removed == 0
        assert world.store.position() == before

    def test_a_new_file_where_a_moved_one_was_is_a_source_of_its_own(
        self, world: World, folder: Path
    ) -> None:
        path = write(folder / "a.md", LONG)
        world.capture(folder)
        path.rename(folder / "b.md")
        world.capture(folder)
        write(path, "Something else that has nothing to do with what was here.")

        world.capture(folder)

        assert [event.ordinal for event in of_type(world, SourceRegistered)] == [0, 1]
        assert len(streams(world)) == 2
        before = world.store.position()
        (folder / "b.md").unlink()
        world.capture(folder)
        assert kinds(world, before) == ["SourceRemoved"]
        assert world.store.after(before)[1].stream == world.store.after(0)[3].stream

    def test_a_source_that_moved_in_a_run_that_died_before_it_remembered_that_is_not_removed(
        self, world: World, folder: Path
    ) -> None:
        path = write(folder / "a.md", LONG)
        world.capture(folder)
        with world.store.cursor() as cursor:
            cursor.execute("CREATE TABLE as_it_was AS SELECT * FROM log.files")
        path.rename(folder / "b.md")
        moved = world.capture(folder).position
        with world.store.cursor() as cursor:
            cursor.execute("DELETE FROM log.files")
            cursor.execute("INSERT INTO log.files SELECT * FROM as_it_was")

        assert world.capture(folder).position == moved

    def test_a_file_that_becomes_a_transcript_and_back(self, world: World, folder: Path) -> None:
        path = write(folder / "a.jsonl", LONG)
        world.capture(folder)
        write(path, claude_line("Hello."))
        world.capture(folder)
        assert kinds(world) == [
            "SourceRegistered",
            "RevisionCaptured",
            "SourceRegistered",
            "RevisionCaptured",
            "SourceRemoved",
        ]
        write(path, LONG)
        before = world.store.position()

        captured = world.capture(folder)
        world.catch_up()

        assert kinds(world, before) == ["RevisionCaptured"]
        alive = world.rows("SELECT text FROM {passages}.passage WHERE recorded_to > %s ORDER BY no", 10**9)
        assert alive == [(b"Hello.",), (LONG.encode() + b"\n",)]
        assert world.capture(folder, again=True).position == captured.position


class TestNeutralTurns:
    def test_each_scope_and_session_is_a_source_and_grows_by_itself(
        self, world: World, tmp_path: Path
    ) -> None:
        path = write(
            tmp_path / "all.turns.jsonl",
            turn_line("A1", session="a", scope="person:ann"),
            turn_line("A1 too", session="a"),
            turn_line("B1", session="b"),
        )
        captured = world.capture(path)
        assert (captured.revisions, len(captured.sources)) == (3, 3)
        assert {event.scope for event in of_type(world, SourceRegistered)} == {"person:ann", "global"}
        add(path, turn_line("B2", session="b", turn="2"), turn_line("C1", session="c"))

        grown = world.capture(path)

        assert (grown.revisions, grown.unchanged) == (2, 2)
        assert len(streams(world)) == 4
        assert [start > 0 for start, _ in spans(world, captured.position)] == [True, False]
        assert world.capture(path, again=True).position == grown.position

    def test_a_changed_line_is_a_whole_new_revision_of_its_session_alone(
        self, world: World, tmp_path: Path
    ) -> None:
        path = write(tmp_path / "t.turns.jsonl", turn_line("A1", session="a"), turn_line("B1", session="b"))
        before = world.capture(path).position
        write(path, turn_line("A1", session="a"), turn_line("B1, corrected", session="b"))

        captured = world.capture(path)

        assert (captured.revisions, captured.unchanged) == (1, 1)
        assert [start for start, _ in spans(world, before)] == [0]

    def test_lines_that_name_the_scope_that_was_asked_for_join_those_that_do_not(
        self, world: World, tmp_path: Path
    ) -> None:
        path = write(
            tmp_path / "t.turns.jsonl", turn_line("one", turn="1"), turn_line("2", turn="2", scope="x")
        )

        captured = world.capture(path, scope="x")

        assert (captured.revisions, len(streams(world))) == (1, 1)
        assert world.capture(path, scope="x", again=True).position == captured.position

    def test_lines_that_are_no_turns_are_listed_at_each_run(self, world: World, tmp_path: Path) -> None:
        path = write(
            tmp_path / "t.turns.jsonl", turn_line("one"), '{"session": "s"}', "no JSON", turn_line("2")
        )

        runs = [world.capture(path) for _ in range(2)]

        listed = [(path, "not-turns", "2 lines")]
        assert [[(r.path, r.reason, r.detail) for r in run.rejected] for run in runs] == [listed] * 2
        assert (len(streams(world)), runs[1].batch) == (1, None)

    @pytest.mark.parametrize("scope", ["all", " ", "a\nb", "a\u2028b", "s" * 4_000])
    def test_lines_whose_scope_cannot_be_one_are_left_out_and_the_rest_is_captured(
        self, world: World, tmp_path: Path, scope: str
    ) -> None:
        path = write(
            tmp_path / "t.turns.jsonl",
            turn_line("one", scope="x"),
            turn_line("lost", turn="2", scope=scope),
            "no JSON",
            turn_line("three", turn="3"),
        )
        other = write(tmp_path / "z.md", "Another file.")

        runs = [world.capture(path, other) for _ in range(2)]

        listed = [(path, "not-turns", "1 line"), (path, "scope-name", "1 line")]
        assert [[(r.path, r.reason, r.detail) for r in run.rejected] for run in runs] == [listed] * 2
        assert (runs[0].revisions, runs[1].batch) == (3, None)
        assert world.rows("SELECT DISTINCT scope FROM log.source_names ORDER BY scope") == [
            ("global",),
            ("x",),
        ]

    def test_the_sessions_of_a_file_of_many_ranges_come_out_as_they_stand_in_it(
        self, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        lines = [
            turn_line(f"Grüezi {number} " + "x" * (number % 70), turn=str(number), session=f"s-{number % 3}")
            for number in range(300)
        ]
        path = write(tmp_path / "t.turns.jsonl", *lines)
        with path.open("ab") as file:
            file.write(lines[0].replace('"0"', '"300"').encode())
        monkeypatch.setattr("chronofile.ingest.reading.OpenFile.ranges.__defaults__", (1_000,))

        world.capture(path)

        contents = world.contents.read
        with world.engine.connect() as conn:
            keys = [event.content for event in world.events() if isinstance(event, RevisionCaptured)]
            texts = contents(conn, keys)
        expected = ["".join(f"{line}\n" for line in lines[start::3]) for start in range(3)]
        expected[0] += lines[0].replace('"0"', '"300"') + "\n"
        assert [texts[key].decode() for key in keys] == expected

    def test_a_file_that_is_renamed_moves_all_its_sessions(self, world: World, tmp_path: Path) -> None:
        path = write(tmp_path / "t.turns.jsonl", turn_line("A1", session="a"), turn_line("B1", session="b"))
        before = world.capture(path).position
        path.rename(tmp_path / "u.turns.jsonl")

        captured = world.capture(tmp_path)

        assert kinds(world, before) == ["SourceMoved", "SourceMoved"]
        assert world.capture(tmp_path, again=True).position == captured.position

    def test_line_separators_of_unicode_end_no_line(self, world: World, tmp_path: Path) -> None:
        path = write(tmp_path / "t.turns.jsonl", turn_line("one\u2028two\x85three"))
        world.capture(path)
        world.catch_up()

        assert world.rows("SELECT text FROM {passages}.passage") == [("one\u2028two\x85three".encode(),)]

    def test_a_session_of_more_than_a_range_is_captured_in_several(
        self, world: World, tmp_path: Path
    ) -> None:
        lines = (turn_line(f"{number} " + "x" * 90_000, turn=f"{number}") for number in range(100))
        path = write(tmp_path / "t.turns.jsonl", *lines)

        captured = world.capture(path)

        assert captured.revisions == 2
        assert world.capture(path, again=True).position == captured.position


class TestFilesThatChangeUnderOurHands:
    def test_a_large_transcript_that_vanishes_after_it_was_looked_at_is_rejected_and_the_rest_goes_on(
        self, world: World, tmp_path: Path
    ) -> None:
        write(tmp_path / "a.md", LONG)
        lines = [claude_line(f"{number} " + "x" * 100_000, uuid=f"u-{number}") for number in range(90)]
        path = write(tmp_path / "s.jsonl", *lines)
        content = path.read_bytes()

        captured = capture_while(
            world,
            tmp_path,
            lambda seen: (path if seen == path else tmp_path / "none").unlink(missing_ok=True),
        )
        assert [(r.path, r.reason) for r in captured.rejected] == [(path, "vanished")]
        assert kinds(world) == ["SourceRegistered", "RevisionCaptured"]
        assert world.rows("SELECT count(*) FROM log.source_names") == [(1,)]

        path.write_bytes(content)
        assert world.capture(tmp_path).revisions == 2
        assert world.capture(tmp_path, again=True).batch is None

    def test_one_that_is_cut_short_meanwhile_is_taken_the_next_time(
        self, world: World, tmp_path: Path
    ) -> None:
        lines = [claude_line(f"{number} " + "x" * 100_000, uuid=f"u-{number}") for number in range(90)]
        path = write(tmp_path / "s.jsonl", *lines)

        captured = capture_while(world, path, lambda seen: os.truncate(seen, len(lines[0]) + 1))
        assert [r.reason for r in captured.rejected] == ["changed-while-read"]

        assert world.capture(path).revisions == 1
        assert spans(world)[-1] == (0, path.stat().st_size)


def test_bytes_in_memory_are_cut_after_lines_and_nowhere_else() -> None:
    line = b"x" * 3_000_000 + b"\n"
    content = HeldBytes(line * 5 + b"y" * 9_000_000 + b"\n" + b"z")

    cuts = list(content.ranges(0))

    ends = [end for _, end in cuts]
    assert [start for start, _ in cuts] == [0, *ends[:-1]]
    assert ends == [len(line) * 2, len(line) * 4, len(line) * 5, content.size - 1, content.size]
    assert list(content.ranges(content.size)) == []


def test_two_names_of_one_folder_are_captured_once(world: World, folder: Path, tmp_path: Path) -> None:
    path = write(folder / "a.md", LONG)
    link = tmp_path / "link"
    link.symlink_to(folder)

    captured = world.capture(folder, link, path, folder / "." / "a.md")

    assert (captured.revisions, len(of_type(world, SourceRegistered))) == (1, 1)
