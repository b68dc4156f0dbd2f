"""An export has every turn that is shown, word for word, and an import of it has the same turns again."""

from __future__ import annotations

import importlib
import json
import pkgutil
import signal
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from io import BytesIO
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import sqlalchemy as sa

from chronofile.domain.echoes import fence
from chronofile.domain.errors import BadRequest, UnknownScope
from chronofile.domain.formats import FORMATS
from chronofile.infra import export as exporting
from chronofile.infra.config import load
from chronofile.infra.memory import Memory
from chronofile.infra.models import LoadedModels
from chronofile.infra.wiring import memory_of
from chronofile.infra.writing import FileIsThere
from chronofile.ingest.looking import looks
from chronofile.ingest.scan import Found, scan
from chronofile.projections import control, passages
from chronofile.projections.projection import FOREVER
from tests import samples
from tests.builders import add, claude_line, turn_line, write
from tests.infra.command_line import CommandLine, command_line
from tests.servers import Server
from tests.world import WordHashes, static_vectors

Line = dict[str, Any]
Home = Callable[[], AbstractContextManager[Memory]]

REAL = Path(__file__).parents[2] / ".." / "shared" / "data" / "transcripts"
SAMPLES = [
    importlib.import_module(f"tests.samples.{found.name}") for found in pkgutil.iter_modules(samples.__path__)
]
of_each_sample = pytest.mark.parametrize(
    "sample", SAMPLES, ids=lambda sample: sample.__name__.rpartition(".")[2]
)


@pytest.fixture
def another_home(embedded_postgres: Server, tmp_path: Path) -> Home:
    """Opens a home that nothing is in yet, each time another one."""
    numbers = count()

    @contextmanager
    def opened() -> Iterator[Memory]:
        home = tmp_path / f"home-{next(numbers)}"
        home.mkdir()
        with embedded_postgres.database() as conninfo:
            config = load({"home": str(home), "database_url": conninfo}, {})
            models = LoadedModels(lambda name: WordHashes(), static_vectors)
            with memory_of(config, caller="python", models=models) as memory:
                yield memory

    return opened


@pytest.fixture
def memory(another_home: Home) -> Iterator[Memory]:
    with another_home() as found:
        yield found


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CommandLine]:
    with command_line(tmp_path_factory.mktemp("work")) as found:
        found.write("chat.turns.jsonl", turn_line("The port is 7433.") + "\n")
        found.write("notes.md", "A note.\n")
        found.run("ingest", "chat.turns.jsonl", "notes.md", "--wait", "words")
        yield found


def captured(memory: Memory, *paths: Path, **request: Any) -> None:
    report = memory.ingest(paths, wait="words", **request)
    assert report.rejected == ()


def exported(memory: Memory, **wanted: Any) -> list[Line]:
    return [
        json.loads(line) for line in written(memory, **wanted).decode().removesuffix("\n").split("\n") if line
    ]


def written(memory: Memory, **wanted: Any) -> bytes:
    file = BytesIO()
    memory.export(file, format="turns", **wanted)
    return file.getvalue()


def by_session(lines: list[Line]) -> dict[tuple[str, str], list[Line]]:
    """Sessions in no order, the turns of each in theirs: that is what an export and an import keep to."""
    found: dict[tuple[str, str], list[Line]] = {}
    for line in lines:
        found.setdefault((line["scope"], line["session"]), []).append(line)
    return found


def said(memory: Memory) -> Counter[tuple[Any, ...]]:
    """Return all that the passages of conversations say, and of what: everything but where it was read from."""
    p, t, s, o = passages.passage, passages.turn, passages.source, passages.occurrence
    with memory._parts.engine.connect() as plain:
        conn = control.translated(plain, control.read_active(plain))
        query = (
            sa.select(
                s.c.scope, p.c.session, t.c.superseded, t.c.native_ids, p.c.role, p.c.speaker, p.c.event_time,
                p.c.part, p.c.text, o.c.span_start, o.c.span_end,
            )
            .join(o, o.c.passage_no == p.c.no)
            .join(s, s.c.id == p.c.source)
            .join(t, (t.c.source == p.c.source) & (t.c.key == p.c.turn) & (t.c.recorded_to == FOREVER))
            .where(p.c.recorded_to == FOREVER, o.c.recorded_to == FOREVER)
        )  # fmt: skip
        return Counter((*row[:3], tuple(row[3]), *row[4:]) for row in conn.execute(query))


def sample_in(sample: ModuleType, folder: Path) -> Path:
    folder.mkdir(parents=True)
    path: Path = sample.write(folder)
    return path


def formats_of(sample: ModuleType, folder: Path) -> set[str]:
    path = sample_in(sample, folder)
    found = [found for found in scan([path], home=folder / "home") if isinstance(found, Found)]
    return {sighting.format for one in found for looked in looks(one) for sighting in looked.sightings}


def test_every_format_has_a_sample(tmp_path: Path) -> None:
    found = {name for sample in SAMPLES for name in formats_of(sample, tmp_path / sample.__name__)}

    assert FORMATS.keys() - found == set()


@of_each_sample
def test_what_was_exported_and_imported_says_the_same_and_is_exported_the_same(
    sample: ModuleType, another_home: Home, tmp_path: Path
) -> None:
    file = tmp_path / "exported.turns.jsonl"
    with another_home() as first:
        captured(first, sample_in(sample, tmp_path / "sample"))
        report = first.export(file, format="turns")
        lines, passages_before = exported(first), said(first)
    with another_home() as second:
        captured(second, file)
        again, passages_after = exported(second), said(second)
        once_more = second.ingest([file], wait="words", again=True)

    assert report.turns == len(lines) > 0
    assert report.sessions == len(by_session(lines))
    assert report.unread == 0
    assert by_session(again) == by_session(lines)
    assert passages_after == passages_before
    assert passages_before.total() > 0
    assert once_more.revisions == 0


@pytest.mark.skipif(not REAL.is_dir(), reason="the sample transcripts are not here")
def test_real_transcripts_come_back_as_they_were(memory: Memory, another_home: Home, tmp_path: Path) -> None:
    memory.ingest([REAL], wait="words")
    file = tmp_path / "exported.turns.jsonl"
    report = memory.export(file, format="turns")

    with another_home() as second:
        captured(second, file)
        assert by_session(exported(second)) == by_session(exported(memory))
        assert said(second) == said(memory)
    assert report.turns > 100


def test_an_export_has_one_line_for_each_turn_with_what_it_is(memory: Memory, tmp_path: Path) -> None:
    call = {"type": "tool_use", "name": "Bash", "input": {"command": "ls"}}
    thought = {"type": "thinking", "thinking": "Hm."}
    lines = [
        claude_line("Grüezi \u2028 \u0085", uuid="u-1", at="2026-05-08T12:00:00+02:00"),
        claude_line([thought, call], role="assistant", uuid="u-2", message_id="m-1"),
        json.dumps({"type": "custom-title", "customTitle": "Ports", "sessionId": "s"}),
    ]
    captured(memory, write(tmp_path / "s.jsonl", *lines), scope="project:api")

    greeting, answer, title = exported(memory)

    assert list(greeting) == ["session", "turn", "role", "at", "text", "scope", "title", "format"]
    assert greeting["text"] == "Grüezi \u2028 \u0085"
    assert (greeting["at"], greeting["scope"]) == ("2026-05-08T12:00:00+02:00", "project:api")
    assert answer["text"] == "Hm.\n\nBash\ncommand: ls"
    assert answer["parts"] == [["thinking", 3], ["tool_call", 16]]
    assert (answer["turn"], answer["ids"], answer["format"]) == ("m-1", ["u-2"], "claude-code")
    assert title["parts"] == [["notice", 5]]
    assert b"\r" not in written(memory)


def test_a_turn_that_grew_over_several_captures_stands_where_it_began(memory: Memory, tmp_path: Path) -> None:
    file = write(tmp_path / "s.jsonl", claude_line("First.", role="assistant", uuid="u-1", message_id="m"))
    captured(memory, file)
    captured(memory, add(file, claude_line("Between.", uuid="u-2")))
    captured(memory, add(file, claude_line("Last.", role="assistant", uuid="u-3", message_id="m")))

    assert [(line["turn"], line["text"]) for line in exported(memory)] == [
        ("m", "First.\n\nLast."),
        ("u-2", "Between."),
    ]


def test_a_conversation_that_is_too_long_for_memory_is_exported_the_same(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = [turn_line(f"Turn {n}. " * 20, turn=str(n % 70), session=str(n % 3)) for n in range(200)]
    captured(memory, write(tmp_path / "long.turns.jsonl", *lines))
    held = written(memory)

    monkeypatch.setattr(exporting, "HELD_BYTES_MAX", 1_000)
    monkeypatch.setattr(exporting, "READ_BYTES_MAX", 1)

    assert written(memory) == held
    assert len(exported(memory)) == len({(n % 70, n % 3) for n in range(200)})


def test_sources_of_one_session_do_not_take_each_others_place(
    memory: Memory, another_home: Home, tmp_path: Path
) -> None:
    file = tmp_path / "a" / "s.jsonl"
    captured(memory, write(file, claude_line("One.", uuid="u-1"), claude_line("Two.", uuid="u-2")))
    # A compaction wrote it anew; and another file has the same session and says something else.
    captured(memory, write(file, claude_line("One, in short.", uuid="u-1")))
    captured(
        memory,
        write(
            tmp_path / "b" / "s.jsonl", claude_line("Three.", uuid="u-1"), claude_line("Four.", uuid="u-9")
        ),
    )

    lines = exported(memory)

    assert [line["text"] for line in lines] == ["One, in short.", "One.", "Two.", "Three.", "Four."]
    assert len({(line["scope"], line["session"], line["turn"]) for line in lines}) == 5
    assert [line["turn"].partition("@")[0] for line in lines] == ["u-1", "u-1", "u-2", "u-1", "u-9"]
    assert ["@" in line["turn"] for line in lines] == [False, True, False, True, False]
    assert lines[1]["turn"] != lines[3]["turn"]
    assert [line.get("ids", [line["turn"]]) for line in lines[:2]] == [["u-1"], ["u-1"]]
    file = tmp_path / "exported.turns.jsonl"
    assert memory.export(file, format="turns").renamed == 2
    with another_home() as second:
        captured(second, file)
        assert exported(second) == lines
        assert {turns[0] for turns in ((row[3]) for row in said(second))} == {"u-1", "u-2", "u-9"}


def test_the_turns_of_a_sidechain_are_a_session_of_their_own_once_they_are_imported(
    memory: Memory, another_home: Home, tmp_path: Path
) -> None:
    side: dict[str, Any] = {"isSidechain": True, "agentId": "7", "parentUuid": None}
    lines = [
        claude_line("Main.", uuid="u-1", isSidechain=False),
        claude_line("Look there.", uuid="u-2", **side),
        claude_line("Main again.", uuid="u-3"),
        claude_line("Found.", role="assistant", uuid="u-4", **{**side, "parentUuid": "u-2"}),
    ]
    captured(memory, write(tmp_path / "s.jsonl", *lines))
    file = tmp_path / "exported.turns.jsonl"

    report = memory.export(file, format="turns")

    assert (report.conversations, report.sessions, report.turns) == (1, 2, 4)
    with another_home() as second:
        captured(second, file)
        assert by_session(exported(second)) == by_session(exported(memory))
        assert [len(turns) for turns in by_session(exported(second)).values()] == [2, 2]
        assert said(second) == said(memory)


def test_what_chronofile_quoted_is_known_again_after_an_import(
    memory: Memory, another_home: Home, tmp_path: Path
) -> None:
    quoted: dict[str, Any] = {"type": "tool_result", "content": fence("The port is 7433.", "answer")}
    captured(
        memory,
        write(tmp_path / "s.jsonl", claude_line("Hello.", uuid="u-1"), claude_line([quoted], uuid="u-2")),
    )
    file = tmp_path / "exported.turns.jsonl"
    memory.export(file, format="turns")

    with another_home() as second:
        captured(second, file)
        assert second.search("port", scope="all").hits[0].text == "Hello."
        assert exported(second)[1]["text"] == quoted["content"]


def test_files_and_memories_are_counted_and_left_out(memory: Memory, tmp_path: Path) -> None:
    captured(memory, write(tmp_path / "a.md", "A."), write(tmp_path / "b.md", "B."))
    captured(memory, write(tmp_path / "c.turns.jsonl", turn_line("C.")))
    memory.remember("A memory.", scope="global")
    memory.forget(memory.remember("Another.", scope="global").id)

    report = memory.export(BytesIO(), format="turns")

    assert (report.turns, report.files, report.memories, report.omitted) == (1, 2, 1, 0)


def test_a_scope_alone_and_all_of_them(memory: Memory, tmp_path: Path) -> None:
    lines = [
        turn_line("In api.", scope="project:api"),
        turn_line("In web.", scope="project:web"),
        turn_line("Global."),
    ]
    captured(memory, write(tmp_path / "c.turns.jsonl", *lines))

    assert [line["text"] for line in exported(memory, scope="project:web")] == ["In web."]
    assert [line["text"] for line in exported(memory, scope="global")] == ["Global."]
    assert len(exported(memory, scope="all")) == len(exported(memory)) == 3
    with pytest.raises(UnknownScope):
        exported(memory, scope="project:gone")


def test_a_scope_that_is_not_there_where_it_is_imported_is_made(
    memory: Memory, another_home: Home, tmp_path: Path
) -> None:
    captured(memory, write(tmp_path / "c.turns.jsonl", turn_line("In api.", scope="project:api")))
    file = tmp_path / "exported.turns.jsonl"
    memory.export(file, format="turns")

    with another_home() as second:
        captured(second, file, scope="project:elsewhere")
        assert [line["scope"] for line in exported(second, scope="project:api")] == ["project:api"]


def test_what_was_undone_is_not_exported_but_as_of_before(memory: Memory, tmp_path: Path) -> None:
    file = write(tmp_path / "s.jsonl", claude_line("Kept.", uuid="u-1"))
    captured(memory, file)
    batch = memory.ingest([add(file, claude_line("Undone.", uuid="u-2"))], wait="words").batch
    before = memory.status().position
    memory.undo(batch or "")

    assert [line["text"] for line in exported(memory)] == ["Kept."]
    assert [line["text"] for line in exported(memory, as_of=before)] == ["Kept.", "Undone."]
    assert [line["text"] for line in exported(memory, as_of=str(before))] == ["Kept.", "Undone."]
    assert exported(memory, as_of="2020-01-01") == []
    assert exported(memory, as_of=0) == []


def test_what_was_erased_is_gone_as_of_before_too(memory: Memory, tmp_path: Path) -> None:
    captured(memory, write(tmp_path / "s.jsonl", claude_line("Erased.", uuid="u-1")))
    captured(
        memory,
        write(
            tmp_path / "t.jsonl",
            claude_line("Kept.", session="t"),
            claude_line("A passage.", session="t", uuid="u-2"),
        ),
    )
    before = memory.status().position
    hit = next(hit for hit in memory.search("passage", scope="all").hits if hit.text == "A passage.")
    memory.erase(sources=[str(tmp_path / "s.jsonl")])
    memory.erase(passages=[hit.id])

    assert [line["text"] for line in exported(memory)][:1] == ["Kept."]
    assert "A passage." not in written(memory).decode()
    assert "Erased." not in written(memory, as_of=before).decode()
    assert memory.export(BytesIO(), format="turns").unread == 0


def test_secrets_that_were_taken_out_stay_out(memory: Memory, another_home: Home, tmp_path: Path) -> None:
    token = "ghp_" + "a1B2" * 9
    result: dict[str, Any] = {"type": "tool_result", "content": f"token: {token}"}
    captured(memory, write(tmp_path / "s.jsonl", claude_line([result])))
    file = tmp_path / "exported.turns.jsonl"
    memory.export(file, format="turns")

    with another_home() as second:
        captured(second, file)
        assert said(second) == said(memory)
    assert "[redacted: github-token]" in file.read_text()
    assert token not in file.read_text()


def test_a_content_that_is_lost_is_told_and_the_rest_is_exported(memory: Memory, tmp_path: Path) -> None:
    captured(
        memory,
        write(tmp_path / "s.jsonl", claude_line("Lost.")),
        write(tmp_path / "t.jsonl", claude_line("Kept.", session="t")),
    )
    key = memory._parts.contents.key((tmp_path / "s.jsonl").read_bytes())
    with memory._parts.store.cursor() as cursor:
        cursor.execute("UPDATE log.content SET codec = 1, bytes = 'x' WHERE key = %s", (key,))

    file = BytesIO()
    report = memory.export(file, format="turns")

    assert (report.unread, report.turns) == (1, 1)
    assert b"Kept." in file.getvalue()


def test_an_export_twice_in_one_file_doubles_nothing(
    memory: Memory, another_home: Home, tmp_path: Path
) -> None:
    sample = importlib.import_module("tests.samples.turns")
    captured(memory, sample_in(sample, tmp_path / "sample"))
    file = tmp_path / "twice.turns.jsonl"
    file.write_bytes(written(memory) * 2)

    with another_home() as second:
        captured(second, file)
        assert by_session(exported(second)) == by_session(exported(memory))
        assert said(second) == said(memory)


def test_an_export_that_is_cut_off_gives_what_is_complete(memory: Memory, tmp_path: Path) -> None:
    lines = "\n".join(
        [turn_line("One.", turn="1"), turn_line("Two.", turn="2"), turn_line("Three.", turn="3")]
    )
    file = tmp_path / "cut.turns.jsonl"
    file.write_text(lines[:-9])

    report = memory.ingest([file], wait="words")

    assert report.waiting_bytes > 0
    assert [line["text"] for line in exported(memory)] == ["One.", "Two."]


def test_an_export_that_somebody_edited_says_what_it_says_now(memory: Memory, tmp_path: Path) -> None:
    file = tmp_path / "edited.turns.jsonl"
    parts = [["thinking", 3], ["text", 4]]
    write(file, turn_line("Hm.\n\nTwo.", parts=parts, own={"a": [1]}), turn_line("Three.", turn="2"))
    captured(memory, file)
    captured(
        memory,
        write(file, turn_line("Hm.\n\nTwo, no: 3.", parts=parts), turn_line("Four.", turn="2", parts="none")),
    )

    first, second = exported(memory)

    assert (first["text"], first["parts"]) == ("Hm.\n\nTwo, no: 3.", [["thinking", 3], ["text", 11]])
    assert (second["text"], "parts" in second) == ("Four.", False)
    (entry,) = memory.sources()
    assert entry.omissions == {"unknown record: parts": 1}


@pytest.mark.parametrize(
    "session", ["a/b#c@d", " ", "\u2028", "é" * 300, "\x00\ud800", "../..", "%2F", '"\\']
)
def test_a_session_may_be_called_anything(
    memory: Memory, another_home: Home, tmp_path: Path, session: str
) -> None:
    file = tmp_path / "odd.turns.jsonl"
    file.write_text(json.dumps({"session": session, "turn": "1", "role": "user", "text": "Hello."}) + "\n")
    captured(memory, file)
    lines = exported(memory)
    exported_file = tmp_path / "exported.turns.jsonl"
    memory.export(exported_file, format="turns")

    with another_home() as second:
        captured(second, exported_file)
        assert exported(second) == lines
        assert said(second) == said(memory)


def test_sessions_whose_names_differ_only_in_what_no_store_takes_stay_apart(
    memory: Memory, tmp_path: Path
) -> None:
    file = tmp_path / "odd.turns.jsonl"
    lines = [
        {"session": session, "turn": "1", "role": "user", "text": session.encode().hex()}
        for session in ("\x00", "\ufffd")
    ]
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    captured(memory, file)

    assert len({(line["session"], line["turn"]) for line in exported(memory)}) == 2


def test_a_file_is_not_written_over_unasked(memory: Memory, tmp_path: Path) -> None:
    captured(memory, write(tmp_path / "c.turns.jsonl", turn_line("C.")))
    (tmp_path / "out").write_text("Mine.")

    with pytest.raises(FileIsThere):
        memory.export(tmp_path / "out", format="turns")
    assert (tmp_path / "out").read_text() == "Mine."
    memory.export(tmp_path / "out", format="turns", force=True)
    assert "C." in (tmp_path / "out").read_text()
    assert (tmp_path / "out").stat().st_mode & 0o777 == 0o600
    with pytest.raises(FileIsThere):
        memory.export(tmp_path, format="turns", force=True)
    with pytest.raises(FileNotFoundError):
        memory.export(tmp_path / "nowhere" / "out", format="turns")
    with pytest.raises(BadRequest):
        memory.export(tmp_path / "new", format="archive")
    assert not list(tmp_path.glob(".chronofile-*"))


def test_a_link_is_followed_when_its_file_is_replaced(memory: Memory, tmp_path: Path) -> None:
    captured(memory, write(tmp_path / "c.turns.jsonl", turn_line("C.")))
    (tmp_path / "real").write_text("Mine.")
    (tmp_path / "link").symlink_to("real")

    with pytest.raises(FileIsThere):
        memory.export(tmp_path / "link", format="turns")
    memory.export(tmp_path / "link", format="turns", force=True)

    assert (tmp_path / "link").is_symlink()
    assert "C." in (tmp_path / "real").read_text()


def test_an_export_that_fails_leaves_no_file(memory: Memory, tmp_path: Path) -> None:
    captured(memory, write(tmp_path / "c.turns.jsonl", turn_line("C.")))

    with pytest.raises(UnknownScope):
        memory.export(tmp_path / "out", format="turns", scope="project:gone")

    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.turns.jsonl", "home-0"]


def test_the_command_writes_turns_to_standard_output_and_counts_to_standard_error(line: CommandLine) -> None:
    plain = line.run("export", "--format", "turns")
    as_json = line.run("export", "-", "--format", "turns", "--json")

    assert (plain.status, as_json.status) == (0, 0)
    assert [one["text"] for one in plain.lines] == ["The port is 7433."]
    assert as_json.out == plain.out
    assert plain.err.startswith("1 turn of 1 conversation written (")
    assert plain.err.endswith("\n1 file is no conversation and was left out.\n")
    assert json.loads(as_json.err)["files"] == 1


def test_the_command_writes_a_file_and_counts_to_standard_output(line: CommandLine) -> None:
    done = line.run("export", "out.turns.jsonl", "--format", "turns", "--json")
    again = line.run("export", "out.turns.jsonl", "--format", "turns")
    forced = line.run("export", "out.turns.jsonl", "--format", "turns", "--force")

    assert done.json["file"] == str(line.directory / "out.turns.jsonl")
    assert (done.json["turns"], done.json["bytes"]) == (
        1,
        (line.directory / "out.turns.jsonl").stat().st_size,
    )
    assert (done.status, again.status, forced.status) == (0, 1, 0)
    assert "--force" in again.err
    assert forced.out == ""


def test_wrong_usage_and_what_cannot_be_done_have_their_statuses(line: CommandLine) -> None:
    assert line.run("export", "x").status == 2
    assert line.run("export", "x", "--format", "archive").status == 2
    assert line.run("export", "", "--format", "turns").status == 2
    assert line.run("export", "--format", "turns", "--as-of", "yesterday").status == 2
    gone = line.run("export", "--format", "turns", "--scope", "project:gone")
    assert (gone.status, gone.out) == (1, "")
    assert "no such scope" in gone.err


def test_a_reader_that_goes_away_ends_it_quietly(line: CommandLine) -> None:
    many = "".join(
        turn_line(f"Turn {n}. " * 50, turn=str(n), scope="project:many") + "\n" for n in range(2_000)
    )
    line.write("many.turns.jsonl", many)
    line.run("ingest", "many.turns.jsonl", "--wait", "none")

    with line.started("export", "--format", "turns", "--scope", "project:many") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.readline()
        process.stdout.close()
        assert process.stderr.read() == b""
        assert process.wait(60) == 0


def test_an_interrupt_leaves_no_file(line: CommandLine) -> None:
    many = "".join(
        turn_line(f"Turn {n}. " * 50, turn=str(n), scope="project:more") + "\n" for n in range(20_000)
    )
    line.write("more.turns.jsonl", many)
    line.run("ingest", "more.turns.jsonl", "--wait", "none")
    process: subprocess.Popen[bytes]
    with line.started(
        "export", "interrupted.jsonl", "--format", "turns", "--scope", "project:more"
    ) as process:
        while process.poll() is None and not list(line.directory.glob(".chronofile-*")):
            pass
        process.send_signal(signal.SIGINT)
        process.wait(60)

    assert not list(line.directory.glob(".chronofile-*"))
    assert process.returncode in (0, 1)
    assert (line.directory / "interrupted.jsonl").exists() is (process.returncode == 0)
