"""Erasure of sources, memories and scopes: nothing of them is found any more, and all else is as it was."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from structlog.testing import capture_logs

from chronofile.domain.errors import BadRequest, UnknownPassage, UnknownScope, UnknownSource
from chronofile.domain.events import ContentErased
from chronofile.domain.memories import TextErased, UnknownMemory
from chronofile.infra.cli.erasure import preview_lines
from chronofile.infra.erasing.aftermath import ProjectionsNotOurs
from chronofile.infra.erasure import ErasedAlready, PlanChanged
from chronofile.infra.mcp import tools
from chronofile.infra.mcp.arguments import SearchArguments
from chronofile.infra.memory import Memory
from tests.builders import add, claude_line, repository, turn_line, write
from tests.infra.erasures import dumped, opened, rebuilt, tables_with

SECRET = "The heron lands on the frozen reservoir every Tuesday at dawn."
OTHER = "The kettle is in the kitchen, beside the window."
LONG = " ".join(f"Sentence number {n} says nothing that anybody has to know." for n in range(80))


@pytest.fixture
def memory(conninfo: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    monkeypatch.chdir(tmp_path)
    with opened(conninfo, home) as found:
        yield found


def texts(memory: Memory, question: str, **fields: object) -> str:
    answer = memory.search(question, scope="all", limit=100, **fields)  # type: ignore[arg-type]
    return "\n".join(hit.text for hit in answer.hits)


def is_rebuilt_alike(memory: Memory) -> bool:
    memory.embed()
    live = dumped(memory)
    return live == rebuilt(memory)


def test_an_erased_file_is_found_nowhere_on_either_kind_of_server(
    any_conninfo: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    heron = write(tmp_path / "notes" / "heron.md", "# Birds", "", SECRET, LONG)
    write(tmp_path / "notes" / "kettle.md", OTHER)
    with opened(any_conninfo, home) as memory:
        memory.ingest([tmp_path / "notes"], wait="all")
        before = memory.status().position
        write(heron, "# Birds", "", SECRET, "Another revision.")
        memory.ingest([tmp_path / "notes"], wait="all")
        (passage, *_) = memory.search("frozen reservoir", scope="all").hits
        memory.search(SECRET, scope="all")
        memory.search("heron", scope="all")

        report = memory.erase(sources=[str(heron)], reason="It was not mine.")

        assert report.verified
        assert report.contents == 4  # Two revisions, the URI and the path.
        assert tables_with(any_conninfo, "frozen reservoir", "heron", "Sentence number 7 ") == set()
        assert "reservoir" not in texts(memory, "frozen reservoir")
        assert "reservoir" not in texts(memory, "frozen reservoir", as_of=before)
        found = tools.search(memory, SearchArguments(query="frozen reservoir", scope="all"))
        assert "heron" not in found.text.replace("frozen reservoir", "")
        with pytest.raises(UnknownPassage):
            memory.get(passage.id)
        erased = next(entry for entry in memory.sources() if entry.state == "erased")
        assert (erased.uri, erased.files) == ("", ())
        assert memory.status().passages == 1
        assert OTHER in texts(memory, "kettle")
        assert is_rebuilt_alike(memory)


def test_a_session_is_erased_with_all_its_ranges_and_the_file_keeps_its_other_sessions(
    memory: Memory, tmp_path: Path
) -> None:
    chat = write(tmp_path / "chat.turns.jsonl", turn_line(SECRET, session="a"), turn_line(OTHER, session="b"))
    memory.ingest([chat], wait="all")
    add(chat, turn_line(f"Again: {SECRET}", session="a", turn="2"))
    memory.ingest([chat], wait="all")

    preview = memory.plan_erasure(sources=[f"file://{chat}#a"])
    assert [source.uri for source in preview.sources] == [f"file://{chat}#a"]
    memory.erase(sources=[f"file://{chat}#a"], token=preview.token)

    assert "heron" not in texts(memory, "heron")
    assert OTHER in texts(memory, "kettle")
    assert [entry.files for entry in memory.sources() if entry.session == "b"] == [(str(chat),)]
    add(chat, turn_line("More.", session="a", turn="3"), turn_line("More here.", session="b", turn="2"))
    report = memory.ingest([chat], wait="all")
    assert report.revisions == 1
    assert [found.reason for found in report.rejected] == ["erased"]
    assert is_rebuilt_alike(memory)


def test_a_content_that_another_source_holds_stays_and_is_listed(
    conninfo: str, memory: Memory, tmp_path: Path
) -> None:
    one = write(tmp_path / "one.md", SECRET)
    two = write(tmp_path / "two.md", SECRET)
    before = memory.ingest([one, two], wait="all").position

    preview = memory.plan_erasure(sources=[str(one)])
    memory.erase(sources=[str(one)])

    then = memory.search("heron", scope="all", as_of=before)
    assert [hit.source.uri for hit in then.hits] == [f"file://{two}"]
    assert [shared.uris for shared in preview.shared] == [(f"file://{two}",)]
    assert preview.contents == 2  # The URI and the path.
    assert [hit.source.uri for hit in memory.search("heron", scope="all").hits] == [f"file://{two}"]
    assert tables_with(conninfo, "one.md") == set()
    assert is_rebuilt_alike(memory)
    with pytest.raises(ErasedAlready):
        memory.erase(sources=[str(one)])
    report = memory.erase(sources=[str(two)])
    assert report.verified
    assert tables_with(conninfo, "frozen reservoir") == set()


def test_sources_that_hold_the_same_are_erased_together(
    conninfo: str, memory: Memory, tmp_path: Path
) -> None:
    paths = [write(tmp_path / f"{name}.md", SECRET) for name in ("one", "two")]
    memory.ingest(paths, wait="all")

    preview = memory.plan_erasure(sources=[str(path) for path in paths])
    memory.erase(sources=[str(path) for path in paths])

    assert preview.shared == ()
    assert preview.files == tuple(sorted(map(str, paths)))
    assert tables_with(conninfo, "frozen reservoir", "one.md", "two.md") == set()


def test_a_memory_is_erased_with_its_former_texts_and_is_not_remembered_again(
    conninfo: str, memory: Memory
) -> None:
    remembered = memory.remember(SECRET, key="bird")
    memory.correct(remembered.id, f"{SECRET} And at dusk.")
    memory.forget([remembered.id], reason="the reservoir thawed")

    report = memory.erase(memories=[remembered.id])

    assert report.verified
    assert tables_with(conninfo, "frozen reservoir", "at dusk", "thawed") == set()
    assert "heron" not in texts(memory, "heron")
    with pytest.raises(TextErased):
        memory.remember(SECRET)
    with pytest.raises(ErasedAlready, match=report.id):
        memory.erase(memories=[remembered.id])
    assert is_rebuilt_alike(memory)


def test_a_scope_is_erased_with_its_files_sessions_and_memories(
    conninfo: str, memory: Memory, tmp_path: Path
) -> None:
    api = repository(tmp_path / "api")
    write(api / "notes.md", SECRET, LONG)
    chat = write(tmp_path / "api.jsonl", claude_line(f"{SECRET} Really?", cwd=str(api)))
    other = write(tmp_path / "other.md", OTHER)
    memory.ingest([api, chat, other], wait="all")
    memory.remember(f"{SECRET} So it is.", scope="project:api")
    assert {entry.scope for entry in memory.sources()} == {"project:api", "global"}

    preview = memory.plan_erasure(scopes=["project:api"])
    report = memory.erase(scopes=["project:api"])

    assert len(preview.sources) == 3
    assert report.verified
    assert tables_with(conninfo, "frozen reservoir", "notes.md") == set()
    assert OTHER in texts(memory, "kettle")
    assert is_rebuilt_alike(memory)


def test_what_was_asked_about_it_is_erased_from_the_ledger_and_other_questions_stay(
    conninfo: str, memory: Memory, tmp_path: Path
) -> None:
    heron = write(tmp_path / "heron.md", SECRET)
    kettle = write(tmp_path / "kettle.md", OTHER)
    memory.ingest([kettle], wait="all")
    memory.search("where do we boil water?", scope="all")
    memory.ingest([heron], wait="all")
    memory.search("the  FROZEN reservoir", source=str(kettle))
    memory.search(f"is it true? {SECRET} I wonder.", source=str(kettle))
    memory.search("xylophone tuesday something", source=str(heron))

    preview = memory.plan_erasure(sources=[str(heron)])
    memory.erase(sources=[str(heron)])

    assert preview.questions == 3
    assert tables_with(conninfo, "FROZEN reservoir", "I wonder", "xylophone") == set()
    assert tables_with(conninfo, "boil water") == {"log.content"}


def test_an_erasure_needs_its_own_token(memory: Memory, tmp_path: Path) -> None:
    note = write(tmp_path / "note.md", SECRET)
    memory.ingest([note])
    token = memory.plan_erasure(sources=[str(note)]).token
    write(note, SECRET, "More.")
    memory.ingest([note])

    with pytest.raises(PlanChanged):
        memory.erase(sources=[str(note)], token=token)

    assert "heron" in texts(memory, "heron")


def test_erasing_what_there_is_not_names_it(memory: Memory, tmp_path: Path) -> None:
    memory.ingest([write(tmp_path / "note.md", SECRET)])
    with pytest.raises(UnknownSource):
        memory.erase(sources=["nowhere.md"])
    with pytest.raises(UnknownPassage):
        memory.erase(passages=["f" * 32])
    with pytest.raises(UnknownMemory):
        memory.erase(memories=["f" * 32])
    with pytest.raises(UnknownScope):
        memory.erase(scopes=["nothing"])
    with pytest.raises(BadRequest):
        memory.erase(sources=[str(tmp_path / "note.md")], reason=" ")
    assert "heron" in texts(memory, "heron")


def test_erasing_twice_appends_nothing_and_names_the_erasure(memory: Memory, tmp_path: Path) -> None:
    note = write(tmp_path / "note.md", SECRET)
    memory.ingest([note])
    report = memory.erase(sources=[str(note)])
    position = memory.status().position

    with pytest.raises(ErasedAlready, match=report.id):
        memory.erase(sources=[str(note)])

    assert memory.status().position == position
    assert list((memory.config.home / "receipts").iterdir()) == [
        memory.config.home / "receipts" / f"{report.id}.json"
    ]


def test_a_generation_of_another_version_refuses_before_anything_is_erased(
    conninfo: str, memory: Memory, tmp_path: Path
) -> None:
    note = write(tmp_path / "note.md", SECRET)
    memory.ingest([note])
    with psycopg.connect(conninfo) as conn:
        conn.execute("UPDATE control.generation SET code_version = 99 WHERE projection = 'lexical'")
    position = memory.status().position

    with pytest.raises(ProjectionsNotOurs, match="lexical"):
        memory.erase(sources=[str(note)])

    assert memory.status().position == position


def test_generations_that_do_not_serve_are_dropped(conninfo: str, memory: Memory, tmp_path: Path) -> None:
    note = write(tmp_path / "note.md", SECRET)
    memory.ingest([note], wait="all")
    rebuilt(memory)
    assert len({table for table in tables_with(conninfo, "heron") if "passages" in table}) == 2

    memory.erase(sources=[str(note)])

    assert tables_with(conninfo, "heron") == set()
    with psycopg.connect(conninfo) as conn:
        assert conn.execute("SELECT count(*) FROM control.generation").fetchone() == (5,)


def test_an_erasure_of_much_is_told_in_events_of_less_than_a_megabyte(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chronofile.infra.erasing.carrying.KEYS_MAX", 20)
    monkeypatch.setattr("chronofile.infra.erasing.carrying.STREAMS_MAX", 7)
    folder = tmp_path / "many"
    for number in range(30):
        write(folder / f"{number}.md", f"Number {number}. {SECRET if number % 3 else OTHER}")
    memory.ingest([folder], wait="all")

    report = memory.erase(scopes=["global"])

    parts = memory._parts
    stored = parts.store.read(f"erasure-{report.id}")
    events = [one.event for one in stored if isinstance(one.event, ContentErased)]
    assert len(events) == len(stored) > 4
    assert max(len(event.contents) for event in events) <= 20
    assert len({key for event in events for key in event.contents}) == 90
    assert report.verified
    assert is_rebuilt_alike(memory)


def test_a_table_in_use_is_left_and_a_later_finish_writes_it_anew(
    conninfo: str, memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chronofile.infra.erasing.reclaiming.LOCK_TIMEOUT_MS", 100)
    note = write(tmp_path / "note.md", SECRET)
    memory.ingest([note])
    with psycopg.connect(conninfo) as user:
        user.execute("LOCK TABLE log.content IN ACCESS SHARE MODE")
        report = memory.erase(sources=[str(note)])

    assert (report.verified, report.state) == (True, "begun")
    assert report.left == ("log.content is in use and was not written anew.",)
    assert any(report.id in sentence for sentence in memory.status().notes)
    assert memory.finish_erasures() == [report.id]
    assert memory.status().notes == ()
    assert memory.finish_erasures() == []


def test_an_erasure_finishes_those_that_were_left(
    conninfo: str, memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("chronofile.infra.erasing.reclaiming.LOCK_TIMEOUT_MS", 100)
    notes = [write(tmp_path / f"{name}.md", f"{name}: {SECRET}") for name in ("one", "two")]
    memory.ingest(notes)
    with psycopg.connect(conninfo) as user:
        user.execute("LOCK TABLE log.content IN ACCESS SHARE MODE")
        memory.erase(sources=[str(notes[0])])

    memory.erase(sources=[str(notes[1])])

    assert memory.status().notes == ()


def test_a_memory_is_named_by_its_id_as_a_source_is(memory: Memory) -> None:
    remembered = memory.remember(SECRET)

    report = memory.erase(sources=[remembered.id])

    assert report.sources == (f"memory-{remembered.id}",)
    assert report.verified


def test_a_content_that_was_asked_for_word_by_word_is_counted_once_as_a_content(
    memory: Memory, tmp_path: Path
) -> None:
    note = tmp_path / "note.md"
    note.write_text(SECRET)
    memory.ingest([note], wait="all")
    memory.search(SECRET, scope="all")

    preview = memory.plan_erasure(sources=[str(note)])
    report = memory.erase(sources=[str(note)])

    assert (preview.contents, preview.questions) == (3, 1)
    assert (report.contents, report.questions) == (3, 1)


def test_asking_again_for_what_was_erased_is_not_recorded_and_no_warning(
    conninfo: str, memory: Memory, tmp_path: Path
) -> None:
    note = tmp_path / "note.md"
    note.write_text(SECRET)
    memory.ingest([note], wait="all")
    memory.erase(sources=[str(note)])

    with capture_logs() as logs:
        memory.search(SECRET, scope="all")

    assert [entry["log_level"] for entry in logs if entry["event"] == "search not recorded"] == ["debug"]
    assert tables_with(conninfo, "frozen reservoir") == set()


@pytest.mark.parametrize(
    ("count", "sentence"), [(1, "1 question telling of it"), (2, "2 questions telling of it")]
)
def test_the_preview_counts_questions(memory: Memory, tmp_path: Path, count: int, sentence: str) -> None:
    note = write(tmp_path / "note.md", SECRET)
    memory.ingest([note], wait="all")
    for number in range(count):
        memory.search(f"heron {number}", source=str(note))

    preview = memory.plan_erasure(sources=[str(note)])

    assert any(line.startswith(sentence) for line in preview_lines(preview, "erased"))
