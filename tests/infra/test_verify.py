"""Verify finds whatever was lost or altered, names it with what to do, and finds nothing where nothing was."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from chronofile.domain.echoes import fence
from chronofile.domain.errors import UnknownScope, UnknownSource
from chronofile.infra.config import load
from chronofile.infra.embedded import start
from chronofile.infra.memory import Memory
from chronofile.infra.models import LoadedModels
from chronofile.infra.reports import Listed, Verified
from chronofile.infra.wiring import memory_of
from chronofile.ingest import sighting, spool
from chronofile.ingest.capture import Request
from tests.builders import add, claude_line, turn_line, write
from tests.infra.command_line import command_line
from tests.infra.documents import docx, paragraph
from tests.world import WordHashes, static_vectors

SAMPLES = Path(__file__).parents[2] / ".." / "shared" / "data" / "transcripts"


@contextmanager
def opened(conninfo: str, home: Path) -> Iterator[Memory]:
    config = load({"home": str(home), "database_url": conninfo}, {})
    models = LoadedModels(lambda name: WordHashes(), static_vectors)
    with memory_of(config, caller="python", models=models) as memory:
        yield memory


@pytest.fixture
def memory(conninfo: str, home: Path) -> Iterator[Memory]:
    with opened(conninfo, home) as found:
        yield found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A file of each kind, and transcripts of each format."""
    folder = tmp_path / "captured"
    long = "".join(
        f"## Part {n}\n\n" + f"The port of part {n} is {7_000 + n}. " * 40 + "\n\n" for n in range(9)
    )
    write(folder / "notes.md", "# Ports", "", long)
    write(folder / "code.py", *(f"def port_{n}():\n    return {n}\n" for n in range(60)))
    (folder / "empty.txt").write_bytes(b"")
    (folder / "old.txt").write_bytes("Der Hafen heißt Zürich.\n".encode("cp1252") * 3)
    (folder / "odd\nname.txt").write_bytes(b"The name of this file has a line break.\r\n")
    write(folder / "agents" / "main.jsonl", *conversation())
    turns = [
        turn_line(f"Turn {n} of {s}.", session=s, turn=str(n)) for n in range(4) for s in ("a", "b", "c")
    ]
    write(folder / "chat.turns.jsonl", *turns, turn_line("In a scope.", session="a", scope="project:other"))
    return folder


def conversation() -> list[str]:
    block: dict[str, Any] = {"type": "tool_result", "content": fence("The port is 7433.", "answer")}
    return [
        claude_line("Which port does staging use?", uuid="u-1"),
        claude_line("I look it up.", role="assistant", uuid="u-2", message_id="m-1"),
        claude_line([block], uuid="u-3"),
        claude_line("It is 7433. " * 200, role="assistant", uuid="u-4", message_id="m-1"),
    ]


def captured(memory: Memory, *paths: Path) -> str | None:
    return memory.ingest(paths, wait="words").batch


def problems(found: Verified) -> set[str]:
    return {one.problem for one in found.disagreements}


def states(found: Verified) -> dict[str, list[Listed]]:
    grouped: dict[str, list[Listed]] = {}
    for one in found.listed:
        grouped.setdefault(one.state, []).append(one)
    return grouped


def executed(memory: Memory, statement: str, *arguments: Any) -> int:
    """Run a statement on the database behind the memory's back; `{passages}` is the serving schema.

    `{first}` is the first passage's number.
    """
    with psycopg.connect(memory._parts.conninfo) as conn:
        row = conn.execute(
            "SELECT schema_name FROM control.generation g JOIN control.active a ON a.generation = g.id"
            " WHERE g.projection = 'passages'"
        ).fetchone()
        assert row is not None
        first = "(SELECT min(no) FROM {passages}.passage)"
        named = statement.replace("{first}", first).replace("{passages}", row[0])
        return conn.execute(named.encode(), arguments).rowcount


def key_of(memory: Memory, content: bytes) -> str:
    return memory._parts.contents.key(content)


def test_what_was_captured_and_left_alone_is_all_there(memory: Memory, folder: Path) -> None:
    captured(memory, folder)

    found = memory.verify()

    assert found.disagreements == ()
    assert states(found) == {}
    assert found.sources == 10
    assert found.passages == memory.status().passages > 20
    assert found.bytes > 10_000
    assert {at.lag for name, at in found.projections.items() if name != "vectors"} == {0}


def test_a_transcript_that_grew_range_by_range_is_compared_as_a_whole(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sighting, "RANGE_BYTES", 2_000)
    path = write(tmp_path / "main.jsonl", *conversation())
    turns = write(
        tmp_path / "a.turns.jsonl", turn_line("Zero.", turn="0"), turn_line("One. " * 600, turn="1")
    )
    for n in range(4):
        captured(memory, path, turns)
        assert memory.verify().disagreements == ()
        add(path, claude_line(f"And then {n}?" * 90, uuid=f"v-{n}"))
        add(path, claude_line(f"More {n}.", role="assistant", uuid=f"w-{n}", message_id="m-1"))
        add(turns, turn_line(f"Zero said anew {n}.", turn="0"), turn_line(f"Two {n}.", turn=f"two-{n}"))

    found = memory.verify()

    assert found.disagreements == ()
    assert {one.uri: one.count for one in states(found)["behind"]}.keys() == {
        path.as_uri(), f"{turns.as_uri()}#s",
    }  # fmt: skip


def test_files_that_went_on_are_listed_and_are_no_disagreement(memory: Memory, folder: Path) -> None:
    main, chat = folder / "agents" / "main.jsonl", folder / "chat.turns.jsonl"
    captured(memory, folder)
    line = claude_line("A later question.", uuid="u-9")
    add(main, line)
    with main.open("ab") as file:
        file.write(b'{"type": "user", "not')
    (folder / "code.py").write_text("def other(): ...\n")
    (folder / "old.txt").unlink()
    write(chat, turn_line("Only this.", session="b"))

    found = memory.verify()

    assert found.disagreements == ()
    listed = states(found)
    assert [(one.uri, one.count) for one in listed["behind"]] == [(main.as_uri(), len(line) + 1)]
    assert [(one.uri, one.count) for one in listed["waiting"]] == [(main.as_uri(), 21)]
    assert [one.uri for one in listed["gone"]] == [(folder / "old.txt").as_uri()]
    uri = chat.as_uri()
    assert sorted(one.uri or "" for one in listed["changed"]) == sorted(
        [(folder / "code.py").as_uri(), f"{uri}#a", f"{uri}#a", f"{uri}#b", f"{uri}#c"]
    )


def test_a_content_whose_bytes_were_altered_is_named_with_its_source(memory: Memory, folder: Path) -> None:
    captured(memory, folder)
    key = key_of(memory, (folder / "notes.md").read_bytes())
    assert executed(
        memory,
        "UPDATE log.content SET bytes = set_byte(bytes, 40, 255 - get_byte(bytes, 40)) WHERE key = %s",
        key,
    )

    found = memory.verify()

    assert "content-changed" in problems(found)
    assert {one.uri for one in found.disagreements} == {(folder / "notes.md").as_uri()}
    (named,) = (one for one in found.disagreements if one.problem == "content-changed")
    assert key in named.detail
    assert "backup" in named.remedy


def test_a_content_that_is_short_enough_to_be_kept_as_it_is_can_be_altered_too(
    memory: Memory, tmp_path: Path
) -> None:
    path = write(tmp_path / "short.md", "The port is 7433.")
    captured(memory, path)
    key = key_of(memory, path.read_bytes())
    executed(memory, "UPDATE log.content SET bytes = %s WHERE key = %s", b"The port is 7434.\n", key)

    found = memory.verify()

    assert problems(found) == {"content-changed", "passage-missing", "passage-unknown"}


def test_a_content_that_was_deleted_is_missing_and_the_text_of_a_path_too(
    memory: Memory, folder: Path
) -> None:
    captured(memory, folder)
    key, path = key_of(memory, (folder / "code.py").read_bytes()), folder / "notes.md"
    for gone in (key, key_of(memory, str(path).encode())):
        assert executed(memory, "DELETE FROM log.content WHERE key = %s", gone) == 1

    found = memory.verify()

    missing = [one for one in found.disagreements if one.problem == "content-missing"]
    assert {one.uri for one in missing} == {(folder / "code.py").as_uri(), path.as_uri()}


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        (
            "DELETE FROM {passages}.passage WHERE no = (SELECT max(no) FROM {passages}.passage)",
            "passage-missing",
        ),
        (
            "DELETE FROM {passages}.passage WHERE source IN (SELECT source FROM {passages}.turn)",
            "passage-missing",
        ),
        (
            "UPDATE {passages}.passage SET text = 'x'::bytea WHERE no = (SELECT max(no) FROM {passages}.passage)",
            "passage-changed",
        ),
        (
            "UPDATE {passages}.occurrence SET span_end = span_end + 1 WHERE passage_no = {first}",
            "passage-changed",
        ),
        (
            "UPDATE {passages}.occurrence SET seq = -seq WHERE source IN (SELECT source FROM {passages}.turn)",
            "passages-out-of-order",
        ),
        ("UPDATE {passages}.passage SET id = repeat('0a', 16) WHERE no = {first}", "passage-unknown"),
        ("UPDATE {passages}.passage SET id = 'odd' WHERE no = {first}", "passage-unknown"),
        ("UPDATE {passages}.passage SET recorded_to = recorded_from WHERE no = {first}", "passage-missing"),
    ],
)
def test_passages_that_are_not_those_of_the_text_are_named(
    memory: Memory, folder: Path, statement: str, problem: str
) -> None:
    captured(memory, folder)
    assert executed(memory, statement)

    found = memory.verify()

    assert problem in problems(found)
    assert not problems(found) & {"content-missing", "content-changed", "range-gap"}
    assert all(one.remedy and one.uri for one in found.disagreements)


def test_a_range_that_is_missing_from_the_log_is_a_gap(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "main.jsonl"
    for n in range(4):
        write(path, *(claude_line("Why? " * 100, uuid=f"u-{i}") for i in range(n + 1)))
        captured(memory, path)
    assert memory.verify().disagreements == ()
    executed(
        memory,
        "DELETE FROM log.events WHERE topic = 'RevisionCaptured' AND originator_version = 3",
    )

    found = memory.verify()

    assert "range-gap" in problems(found)


def test_what_was_undone_is_listed_and_its_passages_are_not_asked_for(memory: Memory, tmp_path: Path) -> None:
    path = write(tmp_path / "main.jsonl", claude_line("First.", uuid="u-1"))
    captured(memory, path)
    add(path, claude_line("Second.", uuid="u-2"))
    batch = captured(memory, path)
    assert batch is not None
    undo = memory.undo(batch).batch
    add(path, claude_line("Third.", uuid="u-3"))
    captured(memory, path)

    undone = memory.verify()
    memory.undo(undo or "")
    restored = memory.verify()

    assert undone.disagreements == restored.disagreements == ()
    assert [(one.state, one.count) for one in undone.listed] == [("undone", 2)]
    assert (undone.passages, restored.passages, restored.listed) == (1, 3, ())


def test_a_file_that_is_shown_as_before_an_undo_has_the_passages_of_then(
    memory: Memory, tmp_path: Path
) -> None:
    folder = tmp_path / "in"
    text = "".join(f"def port_{n}():\n    return {n} # " + "why " * 30 + "\n\n" for n in range(30))
    path = write(folder / "a.py", text)
    captured(memory, folder)
    path.rename(path.with_name("a.md"))
    assert memory.ingest([folder], wait="words").moved == 1
    add(folder / "a.md", "# Now it is about something else", "", "And that is said here.")
    batch = captured(memory, folder)
    assert memory.verify().disagreements == ()

    memory.undo(batch or "")

    assert memory.verify().disagreements == ()


def test_memories_have_the_passages_of_what_they_say_now(memory: Memory) -> None:
    kept = memory.remember("The port is 7433. " * 100, scope="global")
    other = memory.remember("Ask Mel first.", scope="global")
    memory.correct(other.id, "Ask Ann first.")
    gone = memory.remember("Forget this.", scope="global")
    memory.forget(gone.id)

    well = memory.verify()
    executed(memory, "DELETE FROM {passages}.passage WHERE source = %s", other.id)
    ill = memory.verify()

    assert well.disagreements == ()
    assert (well.sources, well.passages) == (3, memory.status().passages + 1)
    assert [(one.problem, one.source) for one in ill.disagreements] == [("passage-missing", other.id)]
    assert kept.id not in {one.source for one in ill.disagreements}


def test_what_was_erased_is_listed_and_not_missed(memory: Memory, folder: Path) -> None:
    captured(memory, folder)
    add(folder / "chat.turns.jsonl", turn_line("Said later.", session="c", turn="9"))
    captured(memory, folder)
    said = next(
        hit
        for hit in memory.search("Which port does staging use?", scope="all").hits
        if "staging" in hit.text
    )
    memory.erase(sources=[str(folder / "notes.md")])
    memory.erase(passages=[said.id])

    found = memory.verify()
    captured(memory, folder)
    later = memory.verify()

    assert found.disagreements == later.disagreements == ()
    assert len(states(found)["erased"]) == len(states(later)["erased"]) == 2
    assert {one.source for one in states(found)["erased"]} >= {said.source.id}


def test_a_session_with_an_erased_range_has_the_passages_of_the_others(
    memory: Memory, tmp_path: Path
) -> None:
    path = write(tmp_path / "a.turns.jsonl", turn_line("One.", turn="1"))
    captured(memory, path)
    add(path, turn_line("Two.", turn="2"))
    batch = captured(memory, path)
    add(path, turn_line("Three.", turn="3"))
    captured(memory, path)
    two = next(hit for hit in memory.search("Two.", scope="all").hits if hit.text == "Two.")
    memory.erase(passages=[two.id])
    assert memory.verify().disagreements == ()

    memory.undo(batch or "")

    assert memory.verify().disagreements == ()


def test_a_part_of_the_memory_is_named_by_scope_source_or_path(memory: Memory, folder: Path) -> None:
    captured(memory, folder)
    executed(memory, "DELETE FROM {passages}.passage WHERE turn IS NOT NULL")

    assert memory.verify(scope="project:other").sources == 1
    assert memory.verify(source=(folder / "code.py").as_uri()).disagreements == ()
    assert memory.verify(source=str(folder / "chat.turns.jsonl")).sources == 4
    assert memory.verify(source=str(folder / "chat.turns.jsonl"), scope="project:other").sources == 1
    with pytest.raises(UnknownScope):
        memory.verify(scope="project:none")
    with pytest.raises(UnknownSource):
        memory.verify(source="file:///none")


def test_failures_omissions_rejections_and_what_hooks_left_are_listed(
    memory: Memory, tmp_path: Path, home: Path
) -> None:
    line = claude_line("Hello.")
    odd = json.dumps({"type": "new-kind", "uuid": "n-1", "sessionId": "s"})
    write(tmp_path / "main.jsonl", line, odd, '{"cut')
    (tmp_path / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(100))
    spool.set_aside(write(home / "spool" / f"1-1{spool.SUFFIX}", "made up"), "It is no JSON.")
    captured(memory, tmp_path / "main.jsonl", tmp_path / "picture.png")
    executed(
        memory, "INSERT INTO {passages}.failure SELECT id, 1, 'made up', 1 FROM {passages}.source LIMIT 1"
    )

    found = memory.verify()

    assert found.disagreements == ()
    assert {(one.state, one.count, one.detail) for one in found.listed} == {
        ("failed", 1, "made up"),
        ("omitted", 1, "unknown record: new-kind"),
        ("omitted", 1, "unreadable records"),
        ("rejected", 1, "binary"),
        ("set-aside", 1, "It is no JSON."),
    }


def test_a_document_that_somebody_without_the_extra_made_searchable_is_listed_and_healed(
    memory: Memory, conninfo: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pypdfium2", reason="the extra [documents] is not installed")
    path = tmp_path / "plan.docx"
    path.write_bytes(docx(paragraph("The east quay needs three hundred new piles before the winter comes.")))
    memory.capture(Request([path]))
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "pypdfium2", None)
        with opened(conninfo, home) as other:
            other.catch_up()

    found = memory.verify()
    assert (problems(found), list(states(found))) == (set(), ["failed"])
    assert "chronofile ingest" in states(found)["failed"][0].detail
    assert "replay" not in states(found)["failed"][0].detail

    assert memory.ingest([path]).revisions == 1
    assert memory.search("new piles").hits[0].source.revision == 2
    assert memory.ingest([path]).revisions == 0
    found = memory.verify()
    assert (found.passages, problems(found), states(found)) == (1, set(), {})


def test_a_file_that_was_renamed_keeps_the_passages_that_it_was_cut_into(
    memory: Memory, tmp_path: Path
) -> None:
    text = "".join(f"def port_{n}():\n    return {n} # " + "why " * 30 + "\n\n" for n in range(30))
    (tmp_path / "in").mkdir()
    path = write(tmp_path / "in" / "a.py", text)
    captured(memory, tmp_path / "in")
    path.rename(path.with_name("a.md"))
    assert memory.ingest([tmp_path / "in"], wait="words").moved == 1

    assert memory.verify().disagreements == ()


def test_a_file_that_is_gone_from_its_folder_has_no_passages_and_no_fault(
    memory: Memory, folder: Path
) -> None:
    captured(memory, folder)
    (folder / "notes.md").unlink()
    captured(memory, folder)

    assert memory.verify().disagreements == ()


def test_the_command_says_what_it_found_and_fails_only_where_something_disagrees(tmp_path: Path) -> None:
    with command_line(tmp_path) as line:
        line.write("notes.md", "The port is 7433.\n")
        line.run("ingest", "--wait", "words", "notes.md")
        line.write("notes.md", "The port is 7434.\n")

        well, well_json = line.run("verify"), line.run("verify", "--json", "--source", "notes.md")
        with start(line.home) as server, psycopg.connect(server.conninfo) as conn:
            conn.execute("UPDATE log.content SET bytes = '\\x00' WHERE bytes = %s", [b"The port is 7433.\n"])
        ill = line.run("verify")

    assert (well.status, well_json.status, ill.status) == (0, 0, 1)
    assert "1 changed: files changed since they were captured" in well.out
    assert "all there" in well.out
    assert well_json.json["disagreements"] == []
    assert well_json.json["listed"][0]["state"] == "changed"
    assert "DISAGREES  content-changed: notes.md (source " in ill.out
    assert "not all is as it was captured" in ill.err


@pytest.mark.skipif(not SAMPLES.is_dir(), reason="the samples of transcripts are not here")
def test_every_sample_is_kept_whole_and_its_passages_are_its_text(memory: Memory) -> None:
    captured(memory, SAMPLES.resolve())

    found = memory.verify()

    assert found.disagreements == ()
    assert found.passages == memory.status().passages > 0
