"""The passages: exact slices with ids that last, as of every position, whatever the sources did."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chronofile.domain.events import (
    DirectoryMapped,
    RevisionCaptured,
    ScopeCreated,
    SourceMoved,
    SourceRemoved,
    SourceRescoped,
)
from chronofile.domain.turns import Part, PartType, Turn
from chronofile.projections import drafts, runner
from chronofile.projections.passages import SEQ_PER_TURN
from chronofile.projections.projection import FOREVER
from chronofile.projections.runner import Limits
from tests.builders import OBSERVED_AT, add, claude_line, registered, repository, revised, turn_line, write
from tests.projections.replays import begin_anew, replay
from tests.projections.taking_back import live
from tests.world import World

PARTS: tuple[PartType, ...] = ("text", "thinking", "tool_call", "tool_result", "summary", "notice")
LINES = st.lists(
    st.sampled_from(["# Title", "word " * 60, "", "def f():", "```", "- item", "é\u2028\x00"])
).map("\n".join)


SECTIONS = "".join(f"## Part {n}\n\n" + f"Sentence {n} of it. " * 8 + "\n\n" for n in range(3))


def texts(world: World, ended: int = FOREVER) -> list[str]:
    """Return the passages that are there, or those that ended at a position."""
    rows = world.rows("SELECT text FROM {passages}.passage WHERE recorded_to = %s ORDER BY no", ended)
    return [bytes(text).decode("utf-8", "surrogatepass") for (text,) in rows]


def ids(world: World) -> dict[str, tuple[int, str]]:
    """Return the number and the id of each passage that is there, by its text."""
    rows = world.rows("SELECT text, no, id FROM {passages}.passage WHERE recorded_to = %s", FOREVER)
    return {bytes(text).decode("utf-8", "surrogatepass"): (no, identifier) for text, no, identifier in rows}


def in_order(world: World) -> list[str]:
    """Return the passages that are there, in reading order."""
    rows = world.rows(
        "SELECT text FROM {passages}.passage p JOIN {passages}.occurrence o ON passage_no = no"
        " WHERE p.recorded_to = %s AND o.recorded_to = %s ORDER BY o.source, seq",
        FOREVER,
        FOREVER,
    )
    return [bytes(text).decode() for (text,) in rows]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return repository(tmp_path / "api")


class TestSlices:
    @given(LINES, st.sampled_from(["a.md", "b.py", "c.txt"]))
    @settings(max_examples=60, deadline=None)
    def test_the_passages_of_a_file_joined_are_its_text(self, text: str, name: str) -> None:
        found = drafts.of_file("source", name, text, None, b"key")

        assert "".join(draft.text for draft in found) == text
        assert all(draft.text == text[draft.start : draft.end] for draft in found)
        assert len({draft.id for draft in found}) == len(found)
        numbered = text.split("\n")
        for draft in found:
            assert draft.line_first is not None
            assert draft.line_last is not None
            lines = "\n".join(numbered[draft.line_first - 1 : draft.line_last])
            assert draft.text.strip("\n") in lines + "\n"

    @given(st.lists(st.tuples(st.sampled_from(PARTS), LINES.filter(bool)), min_size=1, max_size=5))
    @settings(max_examples=60, deadline=None)
    def test_the_passages_of_a_turn_joined_are_its_text(self, parts: list[tuple[PartType, str]]) -> None:
        turn = Turn("k", ("k",), "assistant", None, None, tuple(Part(kind, text) for kind, text in parts))

        found = drafts.of_turn("source", turn, 3, "s", b"key")

        assert "".join(draft.text for draft in found) == turn.text
        assert [draft.seq for draft in found] == [3 * SEQ_PER_TURN + k for k in range(len(found))]
        assert {draft.part for draft in found} <= {kind for kind, _ in parts}

    def test_in_the_tables_they_are_what_was_captured(self, world: World, tmp_path: Path) -> None:
        chance = random.Random(7)
        words = [
            "alpha",
            "b\u00e9ta",
            "\n",
            "\n\n",
            "# gamma\n",
            "  ",
            "\x00",
            "\ud83d",
            "delta. ",
            "\U0001f600",
        ]
        said = {f"{n}": "x" + "".join(chance.choices(words, k=chance.randint(0, 600))) for n in range(30)}
        path = tmp_path / "t.turns.jsonl"
        lines = (json.dumps({"session": "s", "turn": n, "role": "user", "text": t}) for n, t in said.items())
        path.write_text("".join(f"{line}\n" for line in lines))
        world.capture(path)
        world.catch_up()

        rows = world.rows(
            "SELECT turn, text, span_start, span_end FROM {passages}.passage JOIN {passages}.occurrence"
            " ON passage_no = no ORDER BY seq"
        )

        found = dict.fromkeys(said, "")
        for turn, text, start, end in rows:
            key, slice_ = bytes(turn).decode(), bytes(text).decode("utf-8", "surrogatepass")
            assert slice_ == said[key][start:end]
            found[key] += slice_
        assert found == said


class TestRevisions:
    def test_a_line_inserted_at_the_top_changes_only_the_first_section(
        self, world: World, folder: Path
    ) -> None:
        sections = [f"## Part {n}\n\n" + f"Sentence {n} of it. " * 8 + "\n\n" for n in range(5)]
        path = folder / "a.md"
        path.write_text("".join(sections))
        world.capture(folder)
        world.catch_up(embed=True)
        before = ids(world)
        assert len(before) == 5
        path.write_text("A line at the top.\n\n" + "".join(sections))

        world.capture(folder)
        world.catch_up()

        after = ids(world)
        kept = before.keys() & after.keys()
        assert len(kept) >= 4
        assert all(before[text] == after[text] for text in kept)
        assert len(after) - len(kept) <= 2
        pending = world.rows("SELECT passage_no FROM {vectors}.pending")
        assert {no for (no,) in pending} == {after[text][0] for text in after.keys() - kept}
        assert "".join(in_order(world)) == path.read_text()

    def test_equal_passages_have_ids_of_their_own_that_count_from_the_first(
        self, world: World, folder: Path
    ) -> None:
        part = "## Same\n\n" + "The same sentence. " * 8 + "\n\n"
        path = folder / "a.md"
        path.write_text(part * 3)
        world.capture(folder)
        world.catch_up()
        before = world.rows("SELECT id FROM {passages}.passage ORDER BY no")
        assert len(set(before)) == 3
        path.write_text(part * 2)

        world.capture(folder)
        world.catch_up()

        there = "SELECT id FROM {passages}.passage WHERE recorded_to = %s ORDER BY no"
        assert world.rows(there, FOREVER) == before[:2]

    def test_a_message_that_goes_on_in_a_later_range_is_one_turn(self, world: World, tmp_path: Path) -> None:
        path = write(
            tmp_path / "s.jsonl",
            claude_line("Which port?"),
            claude_line("I look.", role="assistant", uuid="u-2", message_id="m"),
        )
        world.capture(path)
        world.catch_up()
        add(
            path,
            claude_line("It is 5432.", role="assistant", uuid="u-3", message_id="m"),
            claude_line("Thanks.", uuid="u-4"),
        )
        world.capture(path)
        world.catch_up()

        assert in_order(world) == ["Which port?", "I look.\n\nIt is 5432.", "Thanks."]
        there = "SELECT ordinal, native_ids FROM {passages}.turn WHERE recorded_to = %s ORDER BY ordinal"
        assert world.rows(there, FOREVER) == [
            (0, ["u-1"]),
            (1, ["u-2", "u-3"]),
            (2, ["u-4"]),
        ]

    def test_a_turn_id_that_comes_again_replaces_the_turn_where_it_stood(
        self, world: World, tmp_path: Path
    ) -> None:
        path = write(
            tmp_path / "t.turns.jsonl",
            turn_line("one"),
            turn_line("two", turn="2"),
            turn_line("three", turn="3"),
        )
        world.capture(path)
        world.catch_up()
        kept = ids(world)["three"]
        add(path, turn_line("two, corrected", turn="2"), turn_line("four", turn="4"))

        world.capture(path)
        world.catch_up()

        assert in_order(world) == ["one", "two, corrected", "three", "four"]
        assert ids(world)["three"] == kept

    def test_a_rewritten_transcript_keeps_the_turns_that_it_still_has_and_their_order(
        self, world: World, tmp_path: Path
    ) -> None:
        lines = [turn_line(f"Turn {n}.", turn=f"{n}") for n in range(4)]
        path = write(tmp_path / "t.turns.jsonl", *lines)
        world.capture(path)
        world.catch_up()
        before = ids(world)
        write(
            path, lines[0], lines[2], turn_line("Turn 3, corrected.", turn="3"), turn_line("New.", turn="5")
        )
        world.capture(path)
        world.catch_up()
        assert in_order(world) == ["Turn 0.", "Turn 2.", "Turn 3, corrected.", "New."]
        unmoved = "SELECT count(*) FROM {passages}.occurrence WHERE revision = 1 AND recorded_to = %s"
        assert world.rows(unmoved, FOREVER) == [(2,)]

        write(path, turn_line("In between.", turn="6"), lines[2], lines[1], lines[0])
        world.capture(path)
        add(path, turn_line("New again.", turn="5"))
        world.capture(path)
        world.catch_up()

        assert in_order(world) == ["In between.", "Turn 2.", "Turn 1.", "Turn 0.", "New again."]
        after = ids(world)
        assert [after[f"Turn {n}."] == before[f"Turn {n}."] for n in (0, 1, 2)] == [True, False, True]
        assert after["Turn 1."][1] == before["Turn 1."][1]  # It went and came back: another row, the same id.

    def test_a_file_that_goes_and_comes_back_has_two_rows_of_one_id(self, world: World, folder: Path) -> None:
        path = write(folder / "a.md", "Here it is.")
        world.capture(folder)
        content = path.read_bytes()
        path.unlink()
        world.capture(folder)
        world.catch_up()
        assert texts(world) == []
        path.write_bytes(content)

        world.capture(folder)
        world.catch_up()

        rows = world.rows("SELECT id, recorded_from, recorded_to FROM {passages}.passage ORDER BY no")
        assert len({identifier for identifier, _, _ in rows}) == 1
        (gone,) = [r.position for r in world.store.after(0) if isinstance(r.event, SourceRemoved)]
        assert rows[0][2] == gone < rows[1][1]

    def test_a_source_in_another_scope_has_all_its_passages_there(self, world: World, tmp_path: Path) -> None:
        path = write(tmp_path / "t.turns.jsonl", turn_line("one"), turn_line("two", turn="2"))
        world.capture(path)
        world.catch_up()
        (stream,) = {r.stream for r in world.store.after(0) if r.stream.startswith("source-")}
        (position,) = world.given(stream, SourceRescoped("person:ann"))
        add(path, turn_line("three", turn="3"))

        world.catch_up()

        rows = world.rows(
            "SELECT text, name, recorded_from < %s FROM {passages}.passage p JOIN {passages}.scope s"
            " ON s.no = scope_no ORDER BY p.no",
            position,
        )
        assert rows == [
            (b"one", "global", True),
            (b"two", "global", True),
            (b"one", "person:ann", False),
            (b"two", "person:ann", False),
        ]


class TestAsOf:
    def test_at_every_position_the_same_is_there_as_in_a_store_that_ended_then(
        self, world: World, tmp_path: Path
    ) -> None:
        live(world, tmp_path / "api", comes_again=False)
        whole = replay(world)
        begin_anew(world)
        shown = [p for p in world.projections if p.name in ("passages", "lexical", "instant")]
        for name in ("passages.passage", "passages.occurrence", "instant.instant", "lexical.posting"):
            assert whole[name]

        for position in range(1, world.store.position() + 1):
            for projection in world.projections:
                runner.step(world.engine, world.store, projection, Limits(events=1))
            then = world.dump()
            for projection in shown:
                for table in projection.tables.sorted_tables:
                    if "recorded_to" not in table.c:
                        continue
                    name = f"{projection.name}.{table.name}"
                    columns = list(table.c.keys())
                    assert _alive(whole[name], columns, position) == _alive(then[name], columns, position)
                    assert not _alive(then[name], columns, FOREVER)


class TestWhatCannotBeRead:
    def test_erased_content_ends_what_it_took_the_place_of_and_the_projection_goes_on(
        self, world: World, folder: Path
    ) -> None:
        path = write(folder / "a.md", "What was here first.")
        write(folder / "b.md", "Another file.")
        world.capture(folder)
        write(path, "A secret.")
        erased = world.capture(folder).position
        with world.store.cursor() as cursor:
            cursor.execute("DELETE FROM log.content WHERE key = %s", (_last_revision(world).content,))
        world.catch_up()
        assert texts(world) == ["Another file.\n"]

        write(path, "And then this.")
        world.capture(folder)
        world.catch_up()

        assert texts(world) == ["Another file.\n", "And then this.\n"]
        assert texts(world, erased - 1) == ["What was here first.\n"]

    def test_an_erased_range_of_a_transcript_is_left_out(self, world: World, tmp_path: Path) -> None:
        path = write(tmp_path / "s.jsonl", claude_line("one"))
        world.capture(path)
        for n, text in enumerate(["two", "three"]):
            add(path, claude_line(text, uuid=f"v-{n}"))
            world.capture(path)
        revisions = [e for e in world.events() if isinstance(e, RevisionCaptured)]
        with world.store.cursor() as cursor:
            cursor.execute(
                "DELETE FROM log.content WHERE key = ANY(%s)", ([r.content for r in revisions[:2]],)
            )

        world.catch_up()

        assert texts(world) == ["three"]

    @pytest.mark.parametrize(
        ("changes", "reason"),
        [
            ({"format": "unheard-of"}, "the format unheard-of is not known here"),
            ({"encoding": "unheard-of"}, "the encoding unheard-of is not known here"),
        ],
    )
    def test_what_no_format_can_read_is_a_failure_and_the_projection_goes_on(
        self, world: World, tmp_path: Path, changes: dict[str, str], reason: str
    ) -> None:
        path = write(tmp_path / "s.jsonl", claude_line("one"))
        world.capture(path)
        (stream,) = {r.stream for r in world.store.after(0) if r.stream.startswith("source-")}
        (position,) = world.given(
            stream, revised(world.contents.text_key("?"), 2, start=500, end=501, **changes), texts=["?"]
        )
        write(tmp_path / "a.md", "Another file.")
        world.capture(tmp_path / "a.md")

        world.catch_up()

        assert texts(world) == ["one", "Another file.\n"]
        failed = world.rows("SELECT source, revision, reason, recorded_from FROM {passages}.failure")
        assert failed == [(stream.removeprefix("source-"), 2, reason, position)]

    def test_records_that_give_no_turn_are_counted_anew_with_each_whole_revision(
        self, world: World, tmp_path: Path
    ) -> None:
        unknown, broken = '{"type": "unheard-of", "sessionId": "s"}', '{"type": '
        world.keeps_former = False  # The lines that are left out below would be a source of their own.
        path = write(tmp_path / "s.jsonl", claude_line("one"), unknown, broken, unknown)
        world.capture(path)
        world.catch_up()
        add(path, unknown)
        world.capture(path)
        world.catch_up()
        counted = "SELECT record, count FROM {passages}.omission ORDER BY record"
        assert world.rows(counted) == [("unknown record: unheard-of", 3), ("unreadable records", 1)]

        write(path, claude_line("uno"), unknown)
        world.capture(path)
        world.catch_up()

        assert world.rows(counted) == [("unknown record: unheard-of", 1)]

    def test_bytes_that_are_invalid_in_the_files_encoding_are_counted(
        self, world: World, folder: Path
    ) -> None:
        (folder / "a.txt").write_bytes("naïve éé ".encode() * 20 + b"\xff\n")
        world.capture(folder)
        world.catch_up()

        assert world.rows("SELECT record, count FROM {passages}.omission") == [("undecodable bytes", 1)]

    def test_nul_and_lone_surrogates_come_back_as_they_were(self, world: World, tmp_path: Path) -> None:
        path = tmp_path / "t.turns.jsonl"
        path.write_text(
            r'{"session":"s","turn":"a\u0000\ud800","role":"user","text":"x\u0000\ud800y","speaker":"S\u0000\udc00"}'
            "\n"
        )
        world.capture(path)
        world.catch_up(embed=True)

        assert texts(world) == ["x\x00\ud800y"]
        row = world.rows("SELECT turn, speaker FROM {passages}.passage")
        assert row == [(b"a\x00\xed\xa0\x80", "S\ufffd\ufffd")]
        assert world.rows("SELECT native_ids FROM {passages}.turn") == [(["a\ufffd\ufffd"],)]


class TestStrangersText:
    """An index takes 2,704 bytes; whoever writes a transcript or names a folder is not asked to know that."""

    def test_ids_types_and_names_of_any_length_stop_nothing(self, world: World, tmp_path: Path) -> None:
        line = turn_line("one", turn=long(1), session=long(2), speaker=long(3), at=long(4))
        turns = write(tmp_path / "t.turns.jsonl", line, turn_line("two", turn="2", session=long(2)))
        claude = write(
            tmp_path / "s.jsonl",
            claude_line("three", uuid=long(5), session=long(6)),
            claude_line("four", role="assistant", uuid="u-2", session=long(6), message_id=long(7)),
            json.dumps({"type": long(8), "uuid": long(9), "sessionId": long(6)}),
        )
        world.capture(turns, claude)
        world.catch_up(embed=True)
        add(claude, claude_line("five", role="assistant", uuid=long(10), session=long(6), message_id=long(7)))
        world.capture(turns, claude)

        world.catch_up(embed=True)

        assert sorted(texts(world)) == ["four\n\nfive", "one", "three", "two"]
        keys = world.rows("SELECT convert_from(turn, 'UTF8') FROM {passages}.passage")
        assert (long(1),) in keys
        ((record, count),) = world.rows("SELECT record, count FROM {passages}.omission")
        assert (record, count) == (f"unknown record: {long(8)}"[:200], 1)

    def test_paths_of_any_length_stop_nothing(self, world: World) -> None:
        root = "/" + "/".join(long(n)[:200] for n in range(19))
        path, moved = f"{root}/one.md", f"{root}/two.md"
        named = (root, path, moved, f"file://{path}", f"file://{moved}", "It.")
        keys = {text: world.contents.text_key(text) for text in named}
        mapped = DirectoryMapped(keys[root], OBSERVED_AT)
        world.given("scope-long", ScopeCreated(OBSERVED_AT), mapped, texts=[root])
        world.given(
            "source-s",
            registered(keys[f"file://{path}"], scope="long"),
            revised(keys["It."], file=keys[path]),
            SourceMoved(keys[f"file://{moved}"], keys[moved], keys[moved], "b", OBSERVED_AT),
            texts=named,
        )

        world.catch_up()

        assert places(world) == [(None, "two.md")]
        files = world.rows("SELECT convert_from(path, 'UTF8') FROM {sources}.file ORDER BY path")
        assert files == [(path,), (moved,)]
        assert world.rows("SELECT convert_from(path, 'UTF8') FROM {sources}.directory") == [(root,)]


class TestMoves:
    def test_a_moved_file_has_its_new_topic_and_name_and_nothing_is_embedded_anew(
        self, world: World, folder: Path
    ) -> None:
        body = f"# Top\n\n{'A sentence of it. ' * 60}\n\n## Inner\n\n{'Another one. ' * 60}\n"
        path = write(folder / "old" / "a.md", body)
        world.capture(folder)
        world.catch_up(embed=True)
        before, place = ids(world), places(world)
        assert {topic for topic, _ in place} == {"old"}
        vectors = world.rows("SELECT vector::text FROM {vectors}.vector ORDER BY passage_no")
        (folder / "new").mkdir()
        path = path.rename(folder / "new" / "b.md")
        world.capture(folder)
        (position,) = (r.position for r in world.store.after(0) if isinstance(r.event, SourceMoved))

        world.catch_up()

        assert places(world) == [("new", title.replace("old/a.md", "new/b.md")) for _, title in place]
        assert places(world, position) == place
        after = ids(world)
        assert {text: found[1] for text, found in after.items()} == {
            text: found[1] for text, found in before.items()
        }
        assert world.rows("SELECT count(*) FROM {vectors}.pending") == [(0,)]
        there = "SELECT vector::text FROM {vectors}.vector WHERE recorded_to = %s ORDER BY passage_no"
        assert world.rows(there, FOREVER) == vectors
        assert "".join(in_order(world)) == path.read_text()

    def test_a_file_that_is_moved_and_then_edited_has_one_topic(self, world: World, folder: Path) -> None:
        path = write(folder / "old" / "a.md", SECTIONS)
        world.capture(folder)
        world.catch_up()
        (folder / "new").mkdir()
        path = path.rename(folder / "new" / "a.md")
        world.capture(folder)
        add(path, "## Last", "", "A last sentence of it.")
        world.capture(folder)

        world.catch_up()

        assert {topic for topic, _ in places(world)} == {"new"}
        assert {title.split(":")[0] for _, title in places(world)} == {"new/a.md"}

    def test_a_directory_that_is_mapped_later_counts_for_the_whole_file_from_its_next_revision(
        self, world: World, tmp_path: Path
    ) -> None:
        path = write(tmp_path / "notes" / "deep" / "a.md", SECTIONS)
        world.capture(path)
        world.catch_up()
        assert {title.split(":")[0] for _, title in places(world)} == {"a.md"}
        root = str(tmp_path / "notes")
        mapped = DirectoryMapped(world.contents.text_key(root), OBSERVED_AT)
        world.given("scope-global", mapped, texts=[root])
        write(path, "A line at the top.", "", SECTIONS)
        world.capture(path)

        world.catch_up()

        assert {topic for topic, _ in places(world)} == {"deep"}
        assert {title.split(":")[0] for _, title in places(world)} == {"deep/a.md"}
        assert "".join(in_order(world)) == path.read_text()
        empty = "SELECT count(*) FROM {passages}.occurrence WHERE recorded_from >= recorded_to"
        assert world.rows(empty) == [(0,)]


class TestPlaces:
    def test_the_topic_is_the_first_two_folders_below_the_mapped_root(
        self, world: World, folder: Path
    ) -> None:
        for name in (
            "top.md",
            "one/a.md",
            "one/two/a.md",
            "one/two/three/a.md",
            "wei\u00df/\u00fc%20?#/a.md",
        ):
            write(folder / name, f"It is {name}.")
        world.capture(folder)
        world.catch_up()

        found = dict(world.rows("SELECT title, topic FROM {passages}.passage"))
        assert {bytes(title).decode(): topic for title, topic in found.items()} == {
            "top.md": None,
            "one/a.md": "one",
            "one/two/a.md": "one/two",
            "one/two/three/a.md": "one/two",
            "wei\u00df/\u00fc%20?#/a.md": "wei\u00df/\u00fc%20?#",
        }

    def test_outside_of_a_mapped_directory_the_topic_is_the_files_own_folder(
        self, world: World, tmp_path: Path
    ) -> None:
        world.capture(write(tmp_path / "one" / "two" / "a.md", "It is here."))
        world.catch_up()

        assert world.rows("SELECT title, topic FROM {passages}.passage") == [(b"a.md", "two")]

    def test_a_title_is_the_files_name_and_what_encloses_the_passage(
        self, world: World, folder: Path
    ) -> None:
        body = "A sentence of it. " * 60
        (folder / "a.md").write_text(f"# Top\n\n{body}\n\n## Inner\n\n{body}\n")
        (folder / "b.py").write_text("class Thing:\n    def first(self):\n" + "        call()\n" * 100)
        world.capture(folder)
        world.catch_up()

        found = {bytes(title).decode() for (title,) in world.rows("SELECT title FROM {passages}.passage")}
        assert found == {
            "a.md",
            "a.md: Top",
            "a.md: Inner",
            "b.py",
            "b.py: def first(self):",
        }

    def test_a_passage_has_its_turns_time_speaker_role_and_session(
        self, world: World, tmp_path: Path
    ) -> None:
        line = turn_line(
            "Hello.", session="t", role="assistant", speaker="Ann", at="2023-05-08T10:00:00+02:00"
        )
        world.capture(write(tmp_path / "t.turns.jsonl", line))
        world.catch_up()

        row = world.rows(
            "SELECT role, speaker, session, part, event_time, event_at::text, line_first FROM {passages}.passage"
            " JOIN {passages}.occurrence ON passage_no = no"
        )
        assert row[0][:5] == ("assistant", "Ann", "t", "text", "2023-05-08T10:00:00+02:00")
        assert row[0][6] is None


def long(seed: int) -> str:
    """Return 5,000 characters that no compression makes short enough for an index."""
    return random.Random(seed).randbytes(2_500).hex()


def places(world: World, ended: int = FOREVER) -> list[tuple[Any, ...]]:
    """Return topic and title of the passages that are there, or those that ended at a position."""
    columns = "SELECT topic, convert_from(title, 'UTF8') FROM {passages}.passage"
    return world.rows(f"{columns} WHERE recorded_to = %s ORDER BY no", ended)


def _alive(rows: list[tuple[Any, ...]], columns: list[str], position: int) -> list[tuple[Any, ...]]:
    """Return the rows that hold as of a position, without the end that they may have later."""
    first, last = columns.index("recorded_from"), columns.index("recorded_to")
    there = [row for row in rows if row[first] <= position < row[last]]
    return sorted((row[:last] + row[last + 1 :] for row in there), key=repr)


def _last_revision(world: World) -> RevisionCaptured:
    return [event for event in world.events() if isinstance(event, RevisionCaptured)][-1]
