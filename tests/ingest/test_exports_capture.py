"""Exports from end to end: captured once whatever is exported again, and what is broken in them is told."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from chronofile.domain.identity import decoded
from chronofile.infra.memory import Memory
from chronofile.ingest import parts
from chronofile.ingest.archives import elements, unpacked
from chronofile.ingest.capture import Captured
from chronofile.ingest.comparing import Captured as CapturedSource
from chronofile.ingest.comparing import Compared, Comparing
from chronofile.ingest.sighting import uri_of
from chronofile.projections.projection import FOREVER
from tests.infra.erasures import opened
from tests.samples import chatgpt, claude_ai
from tests.samples.chatgpt import BEGAN_S, chain, message
from tests.world import World

LATER_S = BEGAN_S + 1_000


def said(*words: str, key: str = "c-1", updated: Any = LATER_S, **fields: Any) -> dict[str, Any]:
    """Return a conversation in which these words are said, last changed at a time."""
    messages = [message(word, key=f"{key}-m{n}") for n, word in enumerate(words)]
    return chain(*messages, key=key, update_time=updated, title=None, **fields)


def export(path: Path, *told: Any, at: datetime | None = None) -> Path:
    """Write an export, packed where the name says so, as if it had been downloaded a while ago."""
    content = json.dumps(told)
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("conversations.json", content)
    else:
        path.write_text(content)
    return aged(path)


def aged(path: Path) -> Path:
    ago_s = (datetime.now(UTC) - timedelta(hours=1)).timestamp()
    os.utime(path, (ago_s, ago_s))
    return path


def capture(world: World, *paths: Path, **request: Any) -> Captured:
    """Capture at a time at which no file can change unseen any more."""
    world.now = datetime.now(UTC) + timedelta(minutes=1)
    return world.capture(*paths, **request)


def texts(world: World, *, superseded: bool | None = None) -> list[str]:
    """Return the texts that are shown, without titles; only those whose turn is superseded, or is not."""
    world.catch_up()
    query = (
        "SELECT turn.key, passage.text, turn.superseded FROM {passages}.passage AS passage"
        " JOIN {passages}.turn AS turn"
        " ON turn.source = passage.source AND turn.key = passage.turn AND turn.recorded_to = passage.recorded_to"
        " WHERE passage.recorded_to = %s ORDER BY passage.no"
    )
    rows = world.rows(query, FOREVER)
    shown = [(decoded(key), decoded(text)) for key, text, mark in rows if superseded in (None, mark)]
    return [text for key, text in shown if not key.startswith("title:")]


def state(world: World, path: Path, told: dict[str, Any], *, key: str = "c-1") -> Compared:
    """Compare a conversation, as it is captured, with what the file holds now."""
    original = world.contents.key(json.dumps(told).encode() + b"\n")
    uri = f"{uri_of(path)}#{key}"
    source = CapturedSource(uri, (), "transcript", "global", "chatgpt", "c-1", [(0, 1, original)])
    return Comparing(world.contents.key).compare(source)


def rejections(world: World) -> list[str]:
    """Return the reasons of all that counts as rejected now."""
    world.catch_up()
    rows = world.rows("SELECT rejection FROM {sources}.source WHERE rejection IS NOT NULL")
    return [reason for (reason,) in rows]


@pytest.fixture(params=["export.zip", "conversations.json"])
def path(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Where an export lies: packed, and as it is in there."""
    found: str = request.param
    return tmp_path / found


class TestExports:
    def test_each_conversation_is_a_source_of_its_own_with_the_tools_id_as_its_session(
        self, world: World, path: Path
    ) -> None:
        captured = capture(world, export(path, said("one"), said("two", key="c-2")))
        world.catch_up()
        rows = world.rows("SELECT session, format, uri FROM {sources}.source ORDER BY session")
        names = [decoded(uri).rpartition("#")[2] for _, _, uri in rows]

        assert (captured.revisions, captured.rejected) == (2, [])
        assert [row[:2] for row in rows] == [("c-1", "chatgpt"), ("c-2", "chatgpt")]
        assert names == ["c-1", "c-2"]
        assert texts(world) == ["one", "two"]

    def test_the_samples_are_found_word_for_word(self, world: World, tmp_path: Path) -> None:
        captured = capture(world, aged(chatgpt.write(tmp_path / "a")), aged(claude_ai.write(tmp_path / "b")))

        assert (captured.revisions, captured.rejected, dict(captured.omitted)) == (
            6,
            [],
            {"archive-entry": 3},
        )
        found = texts(world, superseded=False)
        for phrase in (
            "When do I sow beans? \u2028 e\u0301 👩‍🌾",
            "Runner beans – frühe.",
            "Late frost would kill the beans.",
            "I garden in Graz.",
            "Knead for ten minutes – no less.",
            "500 g of rye flour",
            "The stone oven holds 250 degrees.",
            "The bakery opens at six.",
        ):
            assert any(phrase in text for text in found), phrase
        assert "When do I sow beens?" in "".join(texts(world, superseded=True))

    def test_a_second_run_changes_nothing_and_reads_nothing(self, world: World, path: Path) -> None:
        capture(world, export(path, said("one"), said("two", key="c-2")))
        before = world.store.position()
        again = capture(world, path)

        assert (again.unchanged, again.revisions, again.read_bytes) == (2, 0, 0)
        assert world.store.position() == before

    def test_looking_at_all_of_it_again_changes_nothing(self, world: World, path: Path) -> None:
        capture(world, export(path, said("one"), said("two", key="c-2")))
        before = world.store.position()
        again = capture(world, path, again=True)

        assert (again.unchanged, again.revisions, world.store.position()) == (2, 0, before)

    def test_a_renamed_export_only_moves(self, world: World, path: Path) -> None:
        capture(world, export(path, said("one"), said("two", key="c-2")))
        captured = capture(world, path.rename(path.with_stem("renamed")))

        assert (captured.revisions, captured.moved) == (0, 2)
        assert texts(world) == ["one", "two"]

    def test_a_newer_export_adds_only_what_is_new(self, world: World, path: Path) -> None:
        capture(world, export(path, said("one"), said("two", key="c-2")))
        newer = said("one", "and more", updated=LATER_S + 9)
        new = said("three", key="c-3")
        captured = capture(world, export(path.with_stem("newer"), newer, said("two", key="c-2"), new))

        assert (captured.revisions, captured.unchanged) == (2, 1)
        assert sorted(texts(world)) == ["and more", "one", "three", "two"]

    def test_an_older_export_after_a_newer_one_is_omitted_and_counted(self, world: World, path: Path) -> None:
        capture(world, export(path, said("one", "and more", updated=LATER_S + 9)))
        captured = capture(world, export(path.with_stem("older"), said("one"), said("two", key="c-2")))

        assert (captured.revisions, dict(captured.omitted)) == (1, {"older-copy": 1})
        assert texts(world) == ["one", "and more", "two"]

    @pytest.mark.parametrize("updated", [None, LATER_S])
    def test_where_no_time_tells_the_longer_of_two_copies_stays(
        self, world: World, tmp_path: Path, updated: Any
    ) -> None:
        longer = said("one", "and more", updated=updated, create_time=None)
        shorter = said("one", updated=updated, create_time=None)
        capture(world, export(tmp_path / "a.json", longer))
        older = capture(world, export(tmp_path / "b.json", shorter))

        assert (older.revisions, dict(older.omitted)) == (0, {"older-copy": 1})
        assert texts(world) == ["one", "and more"]

    def test_where_a_conversation_does_not_tell_the_time_of_its_entry_does(
        self, world: World, tmp_path: Path
    ) -> None:
        def archive(name: str, month: int, memory: str) -> Path:
            with zipfile.ZipFile(tmp_path / name, "w") as found:
                told = [{"conversations_memory": memory, "account_uuid": "a-1"}]
                found.writestr(zipfile.ZipInfo("memories.json", (2026, month, 1, 0, 0, 0)), json.dumps(told))
            return aged(tmp_path / name)

        capture(world, archive("may.zip", 5, "A long note that says a lot."))
        june = capture(world, archive("june.zip", 6, "A short note."))
        april = capture(
            world, archive("april.zip", 4, "A very long note that says more than all the others.")
        )

        assert (june.revisions, april.revisions, dict(april.omitted)) == (1, 0, {"older-copy": 1})
        assert texts(world) == ["A short note."]

    def test_a_rewritten_export_replaces_what_it_said(self, world: World, path: Path) -> None:
        capture(world, export(path, said("one", "two")))
        capture(world, export(path, said("one", updated=LATER_S + 1)))

        assert texts(world) == ["one"]

    def test_an_older_state_is_shown_as_of_before(self, world: World, path: Path) -> None:
        capture(world, export(path, said("one")))
        capture(world, export(path, said("two", updated=LATER_S + 1)))
        world.catch_up()
        rows = world.rows("SELECT text, recorded_to < %s FROM {passages}.passage ORDER BY no", FOREVER)

        assert rows == [(b"one", True), (b"two", False)]


class TestOddLists:
    def test_a_conversation_that_is_listed_twice_is_one(self, world: World, path: Path) -> None:
        captured = capture(world, export(path, said("one"), said("two", key="c-2"), said("one")))

        assert (captured.revisions, captured.rejected) == (2, [])
        assert texts(world) == ["one", "two"]

    def test_two_conversations_with_one_id_are_two_and_stay_so(self, world: World, path: Path) -> None:
        first, second = said("one"), said("two", updated=LATER_S - 5)
        capture(world, export(path, first, second))
        before = world.store.position()
        again = capture(world, path, again=True)

        assert (again.revisions, world.store.position()) == (0, before)
        assert sorted(texts(world)) == ["one", "two"]
        assert state(world, path, first).state == "same"
        assert state(world, path, second, key="c-1%232").state == "same"

    def test_conversations_without_ids_are_known_again_by_what_began_them(
        self, world: World, path: Path
    ) -> None:
        def nameless(*words: str, **fields: Any) -> dict[str, Any]:
            return {key: value for key, value in said(*words, **fields).items() if "id" not in key}

        capture(world, export(path, nameless("one"), nameless("two")))
        grown = nameless("one", "and more", updated=LATER_S + 1)
        captured = capture(world, export(path.with_stem("newer"), grown, nameless("two")))

        assert (captured.revisions, captured.moved, captured.unchanged) == (1, 1, 1)
        assert sorted(texts(world)) == ["and more", "one", "two"]

    def test_records_that_are_no_conversations_are_told_once_and_counted(
        self, world: World, path: Path
    ) -> None:
        captured = capture(world, export(path, said("one"), {"a": 1}, {"b": 2}, [3], said("two", key="c-2")))

        assert [(r.reason, r.detail) for r in captured.rejected] == [
            ("not-turns", "conversations.json: 3 records")
        ]
        assert texts(world) == ["one", "two"]

    def test_what_was_left_out_is_remembered_and_not_read_again(self, world: World, path: Path) -> None:
        capture(world, export(path, said("one"), {"a": 1}))
        again = capture(world, path)

        assert (again.read_bytes, again.unchanged) == (0, 1)
        assert [(r.reason, r.detail) for r in again.rejected] == [("not-turns", "1 part")]

    def test_a_list_without_a_single_conversation_is_told_and_not_read_again(
        self, world: World, tmp_path: Path
    ) -> None:
        broken = said("one")
        broken["mapping"]["c-1-m0"]["message"] = None
        path = export(tmp_path / "e.zip", {key: value for key, value in broken.items() if "id" not in key})
        first, again = capture(world, path), capture(world, path)

        assert [r.reason for r in (*first.rejected, *again.rejected)] == ["not-turns", "not-turns"]
        assert (again.read_bytes, again.unchanged) == (0, 0)

    def test_parts_and_small_archives_are_counted_rightly(
        self, world: World, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(parts, "PART_CONVERSATIONS_MAX", 3)
        capture(world, export(path, *(said(f"word {n}", key=f"c-{n}") for n in range(10))))

        assert capture(world, path).unchanged == 10
        assert world.rows("SELECT sources FROM log.files") == [(10,)]


class TestBadExports:
    def test_a_conversation_above_the_limit_is_left_out_and_told(
        self, world: World, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(elements.elements, "__defaults__", (1 << 16,))
        captured = capture(
            world, export(path, said("one"), said("x" * (1 << 17), key="c-2"), said("three", key="c-3"))
        )

        assert [r.reason for r in captured.rejected] == ["too-large"]
        assert "Conversation 2" in captured.rejected[0].detail
        assert texts(world) == ["one", "three"]

    def test_a_json_that_is_cut_off_gives_what_is_whole(self, world: World, tmp_path: Path) -> None:
        path = export(tmp_path / "conversations.json", said("one"), said("two", key="c-2"))
        path.write_bytes(path.read_bytes()[:-40])
        captured = capture(world, aged(path))

        assert [r.reason for r in captured.rejected] == ["damaged"]
        assert texts(world) == ["one"]

    def test_twenty_megabytes_of_base64_are_a_fact(self, world: World, path: Path) -> None:
        picture = {
            "content_type": "image_asset_pointer",
            "size_bytes": 3,
            "asset_pointer": "data:image/png;base64," + "QUJD" * (5 << 20),
        }
        captured = capture(world, export(path, chain(message(["Look.", picture]), title=None)))

        assert (captured.revisions, captured.rejected) == (1, [])
        assert texts(world) == ["Look.\n\n[image 3 bytes]"] or texts(world) == ["Look.", "[image 3 bytes]"]

    @pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-32"])
    def test_a_file_with_a_mark_is_read(self, world: World, tmp_path: Path, encoding: str) -> None:
        told = [said("Grüße 👩‍🌾")]
        path = tmp_path / "conversations.json"
        path.write_bytes(json.dumps(told, ensure_ascii=False, indent=1).encode(encoding))
        captured = capture(world, aged(path))

        assert (captured.revisions, captured.rejected) == (1, [])
        assert texts(world) == ["Grüße 👩‍🌾"]

    def test_invalid_bytes_are_counted_and_the_rest_is_read(self, world: World, path: Path) -> None:
        told = json.dumps([said("be_fore after")]).replace("be_fore", "be\udcfffore")
        content = told.encode("utf-8", "surrogateescape")
        if path.suffix == ".zip":
            with zipfile.ZipFile(path, "w") as archive:
                archive.writestr("conversations.json", content)
        else:
            path.write_bytes(content)
        capture(world, aged(path))

        assert texts(world) == ["be\ufffdfore after"]
        assert world.rows("SELECT record FROM {passages}.omission") == [("undecodable bytes",)]

    def test_lone_surrogates_and_nul_in_ids_and_texts_are_captured(self, world: World, path: Path) -> None:
        captured = capture(world, export(path, said("a \ud800 b \0 c", key="c-\ud800\0")))

        assert (captured.revisions, captured.rejected) == (1, [])
        assert len(texts(world)) == 1
        assert capture(world, path).unchanged == 1

    def test_an_archive_that_cannot_be_opened_is_rejected_once_and_captured_when_it_is_whole(
        self, world: World, tmp_path: Path
    ) -> None:
        path = export(tmp_path / "e.zip", said("one"))
        whole = path.read_bytes()
        path.write_bytes(whole[:-30])
        first = capture(world, aged(path))
        before = world.store.position()
        again = capture(world, path)

        assert [r.reason for r in (*first.rejected, *again.rejected)] == ["damaged", "damaged"]
        assert (again.read_bytes, world.store.position()) == (0, before)
        path.write_bytes(whole)
        assert capture(world, aged(path)).revisions == 1
        assert rejections(world) == []

    def test_a_broken_archive_that_is_gone_is_rejected_no_more(self, world: World, tmp_path: Path) -> None:
        path = export(tmp_path / "e.zip", said("one"))
        path.write_bytes(path.read_bytes()[:-30])
        capture(world, aged(path))
        there = rejections(world)
        path.unlink()
        capture(world, tmp_path)

        assert (there, rejections(world)) == (["damaged"], [])

    def test_an_archive_that_breaks_leaves_its_conversation_as_it_was(
        self, world: World, tmp_path: Path
    ) -> None:
        path = export(tmp_path / "e.zip", said("one"))
        whole = path.read_bytes()
        capture(world, path)
        path.write_bytes(whole[:-30])
        broken = capture(world, aged(path))
        world.catch_up()
        rows = world.rows("SELECT kind, rejection FROM {sources}.source ORDER BY kind")
        path.write_bytes(whole)
        mended = capture(world, aged(path))

        assert [r.reason for r in broken.rejected] == ["damaged"]
        assert rows == [("file", "damaged"), ("transcript", None)]
        assert (mended.revisions, mended.unchanged, rejections(world)) == (0, 1, [])

    def test_a_format_that_it_does_not_have_is_said_and_forgotten(self, world: World, path: Path) -> None:
        export(path, said("one"))
        capture(world, path)
        before = world.store.position()
        other = capture(world, path, format_name="claude-ai")
        again = capture(world, path)

        assert [r.reason for r in other.rejected] == [
            "other-format" if path.suffix == ".zip" else "not-turns"
        ]
        assert (other.revisions, world.store.position()) == (0, before)
        assert (again.unchanged, again.rejected, rejections(world)) == (1, [], [])

    def test_an_older_export_is_told_as_such_when_it_is_not_read_again(
        self, world: World, path: Path
    ) -> None:
        kept = said("kept", key="c-2")
        capture(world, export(path.with_stem("newer"), said("one", "two", updated=LATER_S + 1), kept))
        first = capture(world, export(path, said("one"), kept))
        again = capture(world, path)

        for captured in (first, again):
            assert (captured.unchanged, dict(captured.omitted)) == (1, {"older-copy": 1})
        assert (first.read_bytes > 0, again.read_bytes) == (True, 0)

    def test_an_archive_that_changes_while_it_is_read_is_told_and_read_again(
        self, world: World, path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        export(path, said("one"), said("two", key="c-2"))
        listed = unpacked.listed

        def listed_and_touched(*arguments: Any) -> Iterator[Any]:
            yield from listed(*arguments)
            path.touch()

        with monkeypatch.context() as patch:
            patch.setattr("chronofile.ingest.archives.listed", listed_and_touched)
            patch.setattr("chronofile.ingest.archives.zips.listed", listed_and_touched)
            captured = capture(world, path)

        assert [r.reason for r in captured.rejected] == ["changed-while-read"]
        aged(path)
        again = capture(world, path)
        assert (again.rejected, again.unchanged, again.read_bytes > 0) == ([], 2, True)

    def test_an_export_that_shrinks_while_it_is_read_gives_what_was_read(
        self, world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        path = export(
            tmp_path / "conversations.json", *(said("word " * 200, key=f"c-{n}") for n in range(50))
        )
        monkeypatch.setattr(elements, "CHUNK_BYTES", 4_096)
        identify = parts._Taken._conversation

        def identify_and_cut(taken: Any, one: Any) -> Iterator[Any]:
            if len(taken.seen) == 9:
                os.truncate(path, 20_000)
            return identify(taken, one)

        monkeypatch.setattr(parts._Taken, "_conversation", identify_and_cut)
        captured = capture(world, path)

        assert captured.revisions >= 9
        assert {r.reason for r in captured.rejected} == {"changed-while-read"}

    def test_secrets_are_taken_out_and_the_line_stays_valid(self, world: World, path: Path) -> None:
        secret = "ghp_" + "a1B2c3D4" * 4 + "abcd"
        captured = capture(world, export(path, said(f"My token is {secret} okay")))

        assert captured.redactions.total() == 1
        assert secret not in "".join(texts(world))
        assert world.rows("SELECT record FROM {passages}.omission") == []

    def test_a_dry_run_appends_nothing_and_counts(self, world: World, path: Path) -> None:
        captured = capture(world, export(path, said("one"), said("two", key="c-2")), dry_run=True)

        assert (captured.revisions, captured.batch, world.store.position()) == (2, None, 0)


class TestTakingBack:
    @pytest.fixture
    def memory(self, conninfo: str, home: Path) -> Iterator[Memory]:
        with opened(conninfo, home) as found:
            yield found

    def test_an_undone_export_stays_away_until_it_is_asked_for(self, memory: Memory, path: Path) -> None:
        report = memory.ingest([export(path, said("one word"), said("two words", key="c-2"))])
        memory.undo(report.batch or "")

        assert found(memory) == []
        assert (memory.ingest([path]).revisions, found(memory)) == (0, [])
        assert memory.ingest([path], again=True).revisions == 2
        assert found(memory) == ["one word", "two words"]
        assert memory.verify().disagreements == ()

    def test_what_was_undone_stays_away_when_an_older_export_is_read_again(
        self, memory: Memory, path: Path
    ) -> None:
        memory.ingest([export(path, said("one word"))])
        told = [said("one word", "two words", updated=LATER_S + 1)]
        newer = export(path.with_stem("newer"), *told)
        memory.undo(memory.ingest([newer]).batch or "")
        oldest = export(path.with_stem("oldest"), said("no word", updated=LATER_S - 1))
        held, older = memory.ingest([path], again=True), memory.ingest([oldest])
        copied = memory.ingest([export(path.with_stem("copy"), *told)])

        assert (held.revisions, older.revisions, copied.revisions) == (0, 0, 0)
        assert older.omitted["older-copy"] == 1
        assert found(memory) == ["one word"]
        assert memory.ingest([newer], again=True).revisions == 1
        assert found(memory) == ["one word", "two words"]
        assert memory.verify().disagreements == ()

    def test_an_undone_newer_export_shows_the_older_one(self, memory: Memory, path: Path) -> None:
        memory.ingest([export(path, said("one word"))])
        newer = memory.ingest(
            [export(path.with_stem("newer"), said("one word", "two words", updated=LATER_S + 1))]
        )
        memory.undo(newer.batch or "")

        assert found(memory) == ["one word"]
        assert memory.verify().disagreements == ()

    def test_an_erased_conversation_stays_away_when_its_export_comes_again(
        self, memory: Memory, path: Path
    ) -> None:
        told = [said("one word"), said("two words", key="c-2")]
        memory.ingest([export(path, *told)])
        memory.erase(sources=[f"{uri_of(path)}#c-1"])
        again = memory.ingest([path])
        renamed = memory.ingest([export(path.with_stem("copy"), *told)])
        newer = memory.ingest(
            [export(path.with_stem("newer"), said("one word", "and more", updated=LATER_S + 1), told[1])]
        )

        assert found(memory) == ["two words"]
        assert (again.revisions, renamed.revisions, newer.revisions) == (0, 0, 0)
        assert memory.verify().disagreements == ()

    def test_an_erased_conversation_is_taken_back_from_a_file_of_its_own_and_not_with_others(
        self, memory: Memory, path: Path
    ) -> None:
        told = [said("one word"), said("two words", key="c-2")]
        memory.ingest([export(path, *told)])
        memory.erase(sources=[f"{uri_of(path)}#c-1"])
        together = memory.ingest([path], again=True)
        after = found(memory)
        alone = memory.ingest([export(path.with_stem("alone"), told[0])], again=True)

        assert ([r.reason for r in together.rejected], after) == (["erased"], ["two words"])
        assert (together.revisions, alone.revisions) == (0, 1)
        assert found(memory) == ["one word", "two words"]

    def test_an_export_of_which_nothing_is_to_be_captured_was_read(self, memory: Memory, path: Path) -> None:
        memory.ingest([export(path.with_stem("newer"), said("one word", "two words", updated=LATER_S + 1))])
        older = export(path, said("one word"))
        reports = [memory.ingest([older]), memory.ingest([older])]
        memory.erase(sources=[f"{uri_of(path.with_stem('newer'))}#c-1"])
        reports += [memory.ingest([path.with_stem("newer")]), memory.ingest([path.with_stem("newer")])]

        assert [report.failed for report in reports] == [False] * 4

    def test_an_erased_title_that_is_short_does_not_come_back(self, memory: Memory, tmp_path: Path) -> None:
        told = claude_ai.conversation(claude_ai.message("Good morning to you"), name="Secret plan")
        path = tmp_path / "conversations.json"
        path.write_text(json.dumps([told]))
        memory.ingest([aged(path)])
        passage = memory.search("secret plan", scope="all").hits[0]
        memory.erase(passages=[passage.id])
        newer = claude_ai.conversation(
            *told["chat_messages"], claude_ai.message("And good night", uuid="m-2"), name="Secret plan",
            updated_at="2026-05-01T00:00:00Z",
        )  # fmt: skip
        path.write_text(json.dumps([newer]))
        memory.ingest([aged(path)])

        assert [hit.text for hit in memory.search("good night", scope="all").hits][:1] == ["And good night"]
        assert not any("Secret plan" in hit.text for hit in memory.search("secret plan", scope="all").hits)
        assert memory.verify().disagreements == ()

    def test_verify_finds_each_conversation_of_an_export(self, memory: Memory, path: Path) -> None:
        memory.ingest([export(path, *(said(f"word {n}", key=f"c-{n}") for n in range(5)))])
        verified = memory.verify()

        assert (verified.disagreements, verified.listed, verified.sources) == ((), (), 5)
        path.unlink()
        assert {listed.state for listed in memory.verify().listed} == {"gone"}

    def test_verify_finds_conversations_in_a_copy_of_which_nothing_was_new(
        self, memory: Memory, path: Path
    ) -> None:
        told = [said(f"word {n}", key=f"c-{n}") for n in range(3)]
        copy, single = path.with_stem("copy"), path.with_stem("single")
        memory.ingest([export(path, *told)])
        memory.ingest([export(copy, *told)])
        memory.ingest([export(single, told[0])])
        path.unlink()

        assert memory.verify().listed == ()
        export(copy, told[0], said("another word", key="c-1"))
        assert sorted(listed.state for listed in memory.verify().listed) == ["changed", "gone"]
        copy.unlink()
        assert [listed.state for listed in memory.verify().listed] == ["gone", "gone"]


def found(memory: Memory) -> list[str]:
    return sorted(hit.text for hit in memory.search("word words", scope="all").hits)
