"""The memory: everything a process does with one home, as Python calls it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from chronofile import connect
from chronofile.domain.errors import (
    BadRequest,
    DatabaseUnavailable,
    UnknownPassage,
    UnknownScope,
    UnknownSource,
)
from chronofile.domain.events import Event, SearchServed
from chronofile.domain.scopes import GLOBAL
from chronofile.domain.times import UnreadableTime
from chronofile.infra import embedded
from chronofile.infra.config import load
from chronofile.infra.memory import Memory
from chronofile.infra.models import LoadedModels
from chronofile.infra.wiring import memory_of
from chronofile.query import catalogue
from chronofile.query.answer import Answer, as_json
from tests.builders import add, repository, turn_line, write
from tests.servers import Server, postmaster, postmaster_pid, temporary_folder
from tests.world import WordHashes, static_vectors

Opening = Callable[..., Memory]


@dataclass(slots=True)
class Counting:
    """An embedder that notes what it was given."""

    identity: str = "word-hashes@16"
    dimension: int = 16
    seen: list[str] = field(default_factory=list)

    def embed(self, texts: Sequence[str]) -> Any:
        self.seen += texts
        return WordHashes().embed(texts)


def models(embedder: Any = None) -> LoadedModels:
    return LoadedModels(lambda name: embedder or WordHashes(), static_vectors)


@contextmanager
def opened(conninfo: str, home: Path, model: Any = None, **environment: str) -> Iterator[Memory]:
    """Yield a memory on a database of its own, with a small embedder unless another is given."""
    variables = {f"CHRONOFILE_{name.upper()}": value for name, value in environment.items()}
    config = load({"home": str(home), "database_url": conninfo}, variables)
    with memory_of(config, caller="python", models=models(model)) as memory:
        yield memory


@pytest.fixture
def memory(conninfo: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    monkeypatch.chdir(tmp_path)
    with opened(conninfo, home) as found:
        yield found


@pytest.fixture
def notes(tmp_path: Path) -> Path:
    return write(tmp_path / "notes" / "ports.md", "Staging listens on port 5433.")


def texts(answer: Answer) -> list[str]:
    return [hit.text for hit in answer.hits]


def at(name: str, value: str) -> dict[str, Any]:
    return {name: value}


def served(memory: Memory) -> list[Event]:
    return [found.event for page in memory._parts.ledger.pages() for found in page.events]


def test_what_is_ingested_is_found_shown_and_listed(memory: Memory, notes: Path) -> None:
    report = memory.ingest([notes])
    answer = memory.search("Which port does staging use?", explain=True)

    assert (report.sources, report.revisions, report.pending_vectors, report.failed) == (1, 1, 0, False)
    assert (texts(answer), answer.matched, answer.degraded) == (["Staging listens on port 5433.\n"], True, ())
    assert answer.position == report.position
    found = memory.get(answer.hits[0].id, context=3, source=True)
    assert (found.hit.text, found.whole) == (answer.hits[0].text, notes.read_text())
    assert [entry.files for entry in memory.sources()] == [(str(notes),)]
    assert [(count.scope, count.topic, count.passages) for count in memory.topics()] == [(GLOBAL, "notes", 1)]


def test_the_built_in_models_answer_in_other_words(conninfo: str, home: Path, tmp_path: Path) -> None:
    said = ["We moved the deploys to Friday morning.", "My cat is called Miso.", "The lamp is broken."]
    lines = [turn_line(text, turn=str(number)) for number, text in enumerate(said)]
    with connect(home=home, url=conninfo) as memory:
        memory.ingest([write(tmp_path / "a.turns.jsonl", *lines)], wait="all")
        answer = memory.search("what is the name of the pet?", scope="all", explain=True)
        (stages,) = {tuple(hit.stages or ()) for hit in answer.hits}

    assert answer.hits[0].text == "My cat is called Miso."
    assert answer.hits[0].stages is not None
    assert (answer.hits[0].stages["dense"].model or "").startswith("minilm")
    assert {"dense", "lexical", "instant", "fused"} <= set(stages)


def test_the_report_of_an_ingest_has_the_fields_that_others_read(memory: Memory, notes: Path) -> None:
    (notes.parent / "picture.dat").write_bytes(bytes(range(256)) * 9)
    told = as_json(memory.ingest([notes.parent, notes.parent / "nothing"]))
    assert {
        "batch", "sources", "revisions", "unchanged", "rejected", "redactions", "position", "pending_vectors"
    } <= set(told)  # fmt: skip
    assert {(rejected["reason"], Path(rejected["path"]).name) for rejected in told["rejected"]} == {
        ("binary", "picture.dat"),
        ("missing", "nothing"),
    }
    assert all({"path", "reason", "detail"} <= set(rejected) for rejected in told["rejected"])
    again = memory.ingest([notes.parent])
    assert (again.batch, again.sources, again.revisions, again.unchanged) == (None, 0, 0, 1)
    add(notes, "More of it.")
    grown = memory.ingest([notes.parent])
    assert (grown.sources, grown.revisions, grown.unchanged) == (1, 1, 0)


def test_each_way_of_waiting_leaves_what_it_says(memory: Memory, tmp_path: Path) -> None:
    def written(name: str) -> Path:
        return write(tmp_path / name, f"The violin of {name}.")

    left = memory.ingest([written("none.md")], wait="none")
    assert (left.passages, left.note) == (0, None)
    searchable = memory.ingest([written("words.md")], wait="words")
    assert (searchable.passages, searchable.pending_vectors) == (2, 2)
    assert searchable.note == "2 passages wait for their vectors: chronofile worker --drain"
    assert memory.search("violin").degraded == ("vectors: 2 pending",)
    complete = memory.ingest([written("auto.md")], wait="auto")
    assert (complete.passages, complete.pending_vectors, complete.note) == (3, 0, None)
    assert memory.ingest([written("all.md")], wait="all").pending_vectors == 0
    with pytest.raises(BadRequest, match="--wait is one of"):
        memory.ingest([tmp_path], wait="forever")


def test_by_itself_an_ingest_waits_for_few_vectors_and_names_the_command_for_many(
    memory: Memory, tmp_path: Path
) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("chronofile.infra.upkeep.AUTO_EMBED_MAX", 3)
        few = write(tmp_path / "few.turns.jsonl", *[turn_line(f"Few {n}", turn=str(n)) for n in range(2)])
        assert memory.ingest([few]).pending_vectors == 0
        many = [turn_line(f"Many {n}", turn=str(n), session="m") for n in range(3)]
        report = memory.ingest([write(tmp_path / "many.turns.jsonl", *many)])
    assert report.pending_vectors == 3
    assert "chronofile worker --drain" in (report.note or "")


def test_a_dry_run_tells_what_would_come_and_appends_nothing(memory: Memory, notes: Path) -> None:
    report = memory.ingest([notes], dry_run=True)
    assert (report.sources, report.revisions, report.position, report.passages) == (1, 1, 0, 0)
    assert memory.sources() == []


def test_what_makes_no_sense_is_refused_with_a_sentence(memory: Memory, notes: Path) -> None:
    for scope in ("all", "", "  ", "a\nb", "a\0b", "\ud800"):
        with pytest.raises(BadRequest):
            memory.ingest([notes], scope=scope)
    with pytest.raises(BadRequest, match="--format is one of"):
        memory.ingest([notes], format="nonsense")
    for limit in (-1, 1_000_001):
        with pytest.raises(BadRequest, match="--limit"):
            memory.search("port", limit=limit)
    for name in ("since", "until", "as_of", "at"):
        with pytest.raises(UnreadableTime):
            memory.search("port", **at(name, "yesterday"))
    for source in ("/nowhere", "file:///nowhere", "a\0b", "\ud800", "file://%00%ff", "", "#"):
        with pytest.raises(UnknownSource):
            memory.search("port", source=source)
    for scope in ("nobody's", "a\0b", "\ud800", ""):
        with pytest.raises(UnknownScope):
            memory.search("port", scope=scope)
    for identifier in ("nothing", "", "a\0b", "\ud800"):
        with pytest.raises(UnknownPassage):
            memory.get(identifier)


def test_odd_filters_find_nothing_and_break_nothing(memory: Memory, notes: Path) -> None:
    memory.ingest([notes])
    for odd in ("a\0b", "\ud800", "%", "'", "", "x" * 10_000):
        for name in ("topic", "kind", "session", "speaker"):
            assert memory.search("port", **at(name, odd)).hits == ()


def test_the_working_directory_decides_which_scopes_are_asked(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = repository(tmp_path / "api")
    write(root / "docs" / "a.md", "The port of api.")
    write(tmp_path / "notes.md", "The port of nobody.")
    other = write(tmp_path / "other" / "a.md", "The port of the other.")
    memory.ingest([root, tmp_path / "notes.md"])
    memory.ingest([other], scope="other")

    outside = memory.search("port")
    assert outside.scopes == ("global", "other", "project:api")
    assert len(outside.hits) == 3
    monkeypatch.chdir(root / "docs")
    inside = memory.search("port")
    assert inside.scopes == ("project:api", "global")
    assert sorted(texts(inside)) == ["The port of api.\n", "The port of nobody.\n"]
    assert len(memory.search("port", scope="all").hits) == 3
    assert texts(memory.search("port", scope="other")) == ["The port of the other.\n"]
    assert memory.search("port", scope=["other", "project:api"]).scopes == ("other", "project:api")


def test_where_the_working_directory_is_gone_every_scope_is_asked(
    memory: Memory, notes: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.ingest([notes])
    gone = tmp_path / "gone"
    gone.mkdir()
    monkeypatch.chdir(gone)
    gone.rmdir()
    assert len(memory.search("port").hits) == 1


def test_a_source_is_named_by_uri_or_path_whatever_it_was_read_from(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = write(
        tmp_path / "talk 1.turns.jsonl",
        turn_line("One violin.", session="one"),
        turn_line("Two violins.", session="two"),
    )
    copy = write(tmp_path / "copies" / "copy.turns.jsonl", turn_line("One violin.", session="one"))
    write(tmp_path / "rest.md", "More violins.")
    memory.ingest([both])
    memory.ingest([tmp_path])
    (tmp_path / "link").symlink_to(tmp_path, target_is_directory=True)
    monkeypatch.chdir(tmp_path)

    whole = {"One violin.", "Two violins."}
    for name in (
        str(both), "talk 1.turns.jsonl", "./copies/../talk 1.turns.jsonl", both.as_uri(),
        str(tmp_path / "link" / both.name),
    ):  # fmt: skip
        assert set(texts(memory.search("violin", source=name))) == whole, name
    for name in (str(copy), copy.as_uri(), f"{both.as_uri()}#one"):
        assert texts(memory.search("violin", source=name)) == ["One violin."], name
    with pytest.raises(UnknownSource):
        memory.search("violin", source="talk 2.turns.jsonl")


def test_a_copy_that_brought_nothing_new_is_listed_with_its_source(memory: Memory, tmp_path: Path) -> None:
    first = write(tmp_path / "a.turns.jsonl", turn_line("One violin."))
    copy = write(tmp_path / "copies" / "a.turns.jsonl", turn_line("One violin."))
    memory.ingest([first])
    assert memory.ingest([copy]).revisions == 0
    (entry,) = memory.sources()
    assert entry.files == (str(first), str(copy))


def test_times_bound_what_happened_with_dates_offsets_and_local_times(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    days = ["2026-05-07T23:30:00+00:00", "2026-05-08T10:00:00+02:00", "2026-05-09T00:00:00Z"]
    lines = [turn_line(f"violin {n}", turn=str(n), at=at) for n, at in enumerate(days)]
    memory.ingest([write(tmp_path / "a.turns.jsonl", *lines, turn_line("violin whenever", turn="x"))])
    monkeypatch.setenv("TZ", "UTC")

    def found(**bounds: Any) -> list[str]:
        return sorted(texts(memory.search("violin", **bounds)))

    assert found(since="2026-05-08T00:00:00+00:00") == ["violin 1", "violin 2"]
    assert found(since="2026-05-08T08:00:00Z", until="2026-05-08T10:00:00+02:00") == ["violin 1"]
    assert found(since="2026-05-08T10:00:01+02:00") == ["violin 2"]
    assert found(until=datetime(2026, 5, 7, 23, 30, tzinfo=UTC)) == ["violin 0"]
    assert found(since="2027-01-01") == []
    local = datetime.fromisoformat("2026-05-08T10:00:00+02:00").astimezone()
    assert found(since=local.strftime("%Y-%m-%d"), until=local.strftime("%Y-%m-%d"))[0].startswith("violin")
    assert "violin 1" in found(since=local.strftime("%Y-%m-%dT%H:%M:%S"))
    assert len(found()) == 4


def test_as_of_is_a_position_in_digits_or_the_last_one_recorded_by_a_time(
    memory: Memory, tmp_path: Path
) -> None:
    path = write(tmp_path / "a.turns.jsonl", turn_line("violin 1"))
    first = memory.ingest([path]).position
    between = datetime.now(UTC)
    add(path, turn_line("violin 2", turn="2"))
    second = memory.ingest([path]).position

    assert texts(memory.search("violin", as_of=first)) == ["violin 1"]
    assert memory.search("violin", as_of=f" {first} ").as_of == first
    by_time = memory.search("violin", as_of=between.isoformat())
    assert (texts(by_time), by_time.as_of, by_time.position) == (["violin 1"], first, second)
    assert memory.search("violin", as_of=between).as_of == first
    local = between.astimezone().replace(tzinfo=None)
    assert (
        memory.search("violin", as_of=local).as_of == memory.search("violin", as_of=f"{local}").as_of == first
    )
    assert len(memory.search("violin", as_of=between + timedelta(days=1)).hits) == 2
    assert len(memory.search("violin", as_of=second + 1_000).hits) == 2
    before_all = memory.search("violin", as_of="1999-12-31")
    assert (before_all.as_of, before_all.hits, before_all.matched) == (0, (), False)
    assert memory.search("violin", as_of=0).hits == memory.search("violin", as_of="0").hits == ()
    today = datetime.now().astimezone().strftime("%Y-%m-%d")
    assert memory.search("violin", as_of=today).as_of == second


def test_ages_count_from_the_moment_that_is_given(memory: Memory, tmp_path: Path) -> None:
    path = write(tmp_path / "a.turns.jsonl", turn_line("violin", at="2026-05-08T10:00:00Z"))
    memory.ingest([path])
    assert memory.search("violin", at="2026-05-08T11:00:00Z").hits[0].age_s == 3_600
    assert memory.search("violin", at=datetime(2026, 5, 8, tzinfo=UTC)).hits[0].age_s == 0


def test_many_questions_at_once_are_answered_as_one_by_one(memory: Memory, notes: Path) -> None:
    memory.ingest([notes], scope="one")
    fields: list[dict[str, Any]] = [{}, {"scope": "one"}, {"scope": "global"}, {"limit": 0}]
    questions = [(f"port {number}", found) for number, found in enumerate(fields)]
    together = list(memory.search_all(questions))
    singly = [memory.search(question, **found) for question, found in questions]
    assert [answer.query for answer in together] == [question for question, _ in questions]
    assert [answer.hits for answer in together] == [answer.hits for answer in singly]
    assert [answer.matched for answer in together] == [answer.matched for answer in singly]


def test_a_search_leaves_one_record_in_the_ledger_without_a_word_of_text_and_nothing_else(
    memory: Memory, notes: Path
) -> None:
    memory.ingest([notes])

    def rows() -> dict[str, int]:
        with memory._parts.store.cursor() as cursor:
            tables = cursor.execute(
                "SELECT quote_ident(schemaname) || '.' || quote_ident(tablename) AS name FROM pg_tables"
                " WHERE schemaname !~ '^(pg_|information)'"
            ).fetchall()
            found = {}
            for table in tables:
                counted = cursor.execute(f"SELECT count(*) AS n FROM {table['name']}".encode())  # noqa: S608
                found[str(table["name"])] = int((counted.fetchone() or {})["n"])
        return found

    memory.search("Which port?")
    before, position = rows(), memory.status().position
    answer = memory.search("Which port?")
    after = rows()
    assert {name: after[name] - before[name] for name in after if after[name] != before[name]} == {
        "log.ledger": 1
    }
    assert memory.status().position == position
    event = served(memory)[-1]
    assert isinstance(event, SearchServed)
    assert (event.caller, event.matched, event.position) == ("python", True, position)
    assert event.passages == tuple(hit.id for hit in answer.hits)
    with memory._parts.store.cursor() as cursor:
        states = cursor.execute("SELECT state FROM log.ledger").fetchall()
    assert not any(word in bytes(row["state"]) for row in states for word in (b"port", b"Which"))


def test_the_status_has_the_fields_that_others_read(memory: Memory, notes: Path) -> None:
    empty = memory.status()
    assert (empty.position, empty.passages, empty.bytes) == (0, 0, {})
    memory.ingest([notes], wait="none")
    assert memory.status().projections["passages"].lag == memory.status().position > 0
    memory.search("port")
    told = as_json(memory.status())
    assert {
        "position", "projections", "passages", "vectors", "pending_vectors", "embedder", "bytes", "database"
    } <= set(told)  # fmt: skip
    assert {"position", "lag", "failures", "generation"} <= set(told["projections"]["passages"])
    assert told["database"] == {"mode": "external", "data_folder": None}
    assert told["bytes"] == {GLOBAL: notes.stat().st_size}
    assert (told["embedder"], told["pending_vectors"]) == ("word-hashes@16", 1)


def test_closing_twice_does_nothing_and_a_closed_memory_says_so_in_one_sentence(
    conninfo: str, home: Path
) -> None:
    with opened(conninfo, home) as memory:
        memory.close()
        memory.close()
        for call in (
            memory.status,
            memory.topics,
            lambda: memory.search("port"),
            lambda: memory.ingest([home]),
        ):
            with pytest.raises(
                DatabaseUnavailable, match=r"^This memory was closed; a new one can be opened"
            ):
                call()


def test_two_memories_on_one_database_see_what_the_other_captures(
    memory: Memory, conninfo: str, home: Path, notes: Path
) -> None:
    with opened(conninfo, home) as other:
        assert other.search("port").hits == ()
        memory.ingest([notes], wait="none")
        assert len(other.search("port").hits) == 1
        assert len(memory.search("port").hits) == 1


def test_another_embedder_in_the_settings_is_told_while_the_old_one_goes_on(
    memory: Memory, conninfo: str, home: Path, notes: Path
) -> None:
    memory.ingest([notes])
    with opened(conninfo, home, embedder="sentence-transformers:other") as other:
        answer = other.search("Which port does staging use?", explain=True)
        assert answer.degraded == ("vectors: sentence-transformers:other is configured, minilm serves",)
        assert other.status().notes == answer.degraded
        assert answer.hits[0].stages is not None
        assert answer.hits[0].stages["dense"].model == "word-hashes@16"
        assert other.ingest([add(notes, "More.")]).pending_vectors == 0


def test_another_language_in_the_settings_is_told_while_the_old_one_goes_on(
    memory: Memory, conninfo: str, home: Path, notes: Path
) -> None:
    memory.ingest([notes])
    with opened(conninfo, home, language="german") as other:
        report = other.ingest([add(notes, "More harbours.")])
        assert report.position == other.status().projections["lexical"].position
        answer = other.search("harbour")
        assert answer.degraded == ("words: german is configured, english serves",)
        assert "harbours" in texts(answer)[0]


ALONE = "{}: not brought up to date here, another version of Chronofile built it"
BUILT_ON_IT = "{}: not brought up to date here, it is built from passages"


def built_by_another_version(memory: Memory, projection: str) -> None:
    with memory._parts.store.cursor() as cursor:
        cursor.execute("UPDATE control.generation SET code_version = 99 WHERE projection = %s", [projection])


@pytest.mark.parametrize(
    ("projection", "sentences"),
    [
        ("sources", [ALONE.format("sources")]),
        ("passages", [ALONE.format("passages"), *map(BUILT_ON_IT.format, ("lexical", "instant", "vectors"))]),
        ("lexical", [ALONE.format("lexical")]),
        ("instant", [ALONE.format("instant")]),
        ("vectors", [ALONE.format("vectors")]),
    ],
)
@pytest.mark.parametrize("wait", ["words", "all"])
def test_a_projection_that_another_version_built_is_waited_for_by_nobody_and_named(
    memory: Memory, notes: Path, projection: str, sentences: list[str], wait: str
) -> None:
    memory.ingest([notes])
    built_by_another_version(memory, projection)
    report = memory.ingest([add(notes, "More harbours.")], wait=wait)
    lag = report.position - memory.status().projections[projection].position
    assert lag > 0
    assert [found for found in (report.note or "").split("; ") if "worker --drain" not in found] == sentences
    assert not report.stopped
    assert list(memory.status().notes) == sentences
    answer = memory.search("harbours")
    assert list(answer.degraded[: len(sentences)]) == sentences
    if projection != "vectors":
        assert f"log: {lag} events not applied yet" in answer.degraded
    assert len(answer.hits) == 1
    memory.work(drain=True)


def renamed(memory: Memory, projection: str, table: str, name: str) -> None:
    schema = catalogue.serving(memory._parts.engine)[projection].schema
    with memory._parts.store.cursor() as cursor:
        cursor.execute(f"ALTER TABLE {schema}.{table} RENAME TO {name}".encode())


def test_an_ingest_whose_projection_stops_reports_what_it_captured_and_why_it_is_not_searchable(
    memory: Memory, notes: Path
) -> None:
    renamed(memory, "lexical", "posting", "elsewhere")
    report = memory.ingest([notes])
    assert (report.sources, report.revisions, report.passages) == (1, 1, 1)
    assert report.position == memory.status().position > 0
    assert (report.failed, report.stopped, report.unreadable) == (True, True, False)
    assert "lexical at position" in (report.note or "")
    renamed(memory, "lexical", "elsewhere", "posting")
    again = memory.ingest([notes])
    assert (again.unchanged, again.failed, again.note) == (1, False, None)
    assert memory.search("port").matched


def test_an_ingest_for_all_vectors_without_the_model_reports_what_it_captured(
    memory: Memory, conninfo: str, home: Path, notes: Path
) -> None:
    with opened(conninfo, home, Counting(identity="word-hashes@17")) as other:
        report = other.ingest([notes], wait="all")
    assert (report.revisions, report.pending_vectors, report.failed) == (1, 1, True)
    assert "word-hashes@17 instead of word-hashes@16" in (report.note or "")


def test_the_catch_up_of_a_search_ends_soon_after_its_time_however_much_was_appended(
    memory: Memory, tmp_path: Path
) -> None:
    for number in range(60):
        write(tmp_path / "many" / f"{number}.md", f"The violin {number}.")
    memory.ingest([tmp_path / "many"], wait="none")
    assert memory.catch_up(0.0) == []
    positions = [found.position for found in memory.status().projections.values()]
    assert 0 < max(positions) <= 50 < memory.status().position


def test_a_model_that_is_no_longer_the_same_is_never_asked(
    memory: Memory, conninfo: str, home: Path, notes: Path
) -> None:
    memory.ingest([notes])
    changed = Counting(identity="word-hashes@17")
    with opened(conninfo, home, changed) as other:
        answer = other.search("port")
        assert "word-hashes@17 instead of word-hashes@16" in answer.degraded[0]
        assert len(answer.hits) == 1
        report = other.ingest([add(notes, "More.")])
        assert (report.pending_vectors or 0) > 0
        assert "word-hashes@17" in (report.note or "")
    assert changed.seen == []


def test_a_worker_that_drains_embeds_all_that_is_pending_and_ends(memory: Memory, tmp_path: Path) -> None:
    lines = [turn_line(f"violin {n}", turn=str(n)) for n in range(150)]
    memory.ingest([write(tmp_path / "a.turns.jsonl", *lines)], wait="none")
    assert memory.work(drain=True) == 150
    assert memory.work(drain=True) == 0
    assert (memory.status().vectors, memory.status().pending_vectors) == (150, 0)


def test_two_that_embed_at_once_share_the_work_and_double_nothing(
    memory: Memory, conninfo: str, home: Path, tmp_path: Path
) -> None:
    lines = [turn_line(f"violin {n}", turn=str(n)) for n in range(300)]
    path = write(tmp_path / "a.turns.jsonl", *lines)
    memory.ingest([path], wait="words")
    embedders = Counting(), Counting()
    with opened(conninfo, home, embedders[0]) as one, opened(conninfo, home, embedders[1]) as two:
        threads = [
            threading.Thread(target=each.ingest, args=([path],), kwargs={"wait": "all"})
            for each in (one, two)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()
    seen = [text for embedder in embedders for text in embedder.seen]
    assert len(seen) == len(set(seen)) == 300
    assert memory.status().vectors == 300


TWO_AT_ONCE = """
import sys
from chronofile import connect
home, folder = sys.argv[1:]
with connect(home) as memory:
    print("ready", flush=True)
    sys.stdin.readline()
    memory.ingest([folder], wait="words")
"""


@pytest.fixture(scope="module")
def small_home() -> Iterator[Path]:
    """A home with an embedded server of its own."""
    with temporary_folder() as folder:
        home = folder / "home"
        with connect(home):
            pass
        yield home
        embedded.remove(home)


def test_two_processes_that_ingest_one_folder_at_once_append_each_event_once(
    small_home: Path, tmp_path: Path
) -> None:
    for number in range(60):
        write(tmp_path / f"{number}.md", f"# File {number}\n\nSome words.")
    command = [sys.executable, "-c", TWO_AT_ONCE, str(small_home), str(tmp_path)]
    running = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) for _ in range(2)
    ]
    for process in running:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in running:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    assert [process.wait(120) for process in running] == [0, 0]

    with connect(small_home) as memory:
        names = [type(found.event).__name__ for page in memory._parts.store.pages() for found in page.events]
        assert (names.count("SourceRegistered"), names.count("RevisionCaptured")) == (60, 60)
        assert memory.status().passages == sum(count.passages for count in memory.topics()) == 60
        assert memory.status().database.mode == "embedded"


def test_two_memories_of_one_process_share_the_embedded_server_until_the_last_closes(
    small_home: Path,
) -> None:
    one, two = connect(small_home), connect(small_home)
    folder = one.status().database.data_folder
    assert folder == two.status().database.data_folder
    assert folder is not None
    one.close()
    assert two.status().position >= 0
    two.close()
    assert not (Path(folder) / "postmaster.pid").exists()


def test_an_embedded_server_that_is_killed_is_an_error_with_a_sentence_and_the_next_memory_starts_it(
    small_home: Path, tmp_path: Path
) -> None:
    with connect(small_home) as memory:
        memory.ingest([write(tmp_path / "a.md", "The violin survives.")], wait="words")
        folder = memory.status().database.data_folder
        assert folder is not None
        os.kill(postmaster_pid(Path(folder)), signal.SIGQUIT)
        for call in (lambda: memory.search("violin"), memory.status, memory.topics, memory.sources):
            with pytest.raises(DatabaseUnavailable, match="try again"):
                call()
        with connect(small_home) as other:
            assert "The violin survives.\n" in texts(other.search("violin", scope="all"))
        assert "The violin survives.\n" in texts(memory.search("violin", scope="all"))


def test_an_external_server_that_was_restarted_answers_the_next_call(home: Path, notes: Path) -> None:
    with postmaster() as server, opened(server.conninfo, home) as memory:
        memory.ingest([notes])
        server.stop()
        with pytest.raises(DatabaseUnavailable):
            memory.search("port")
        server.start()
        assert len(memory.search("port", scope="all").hits) == 1
        assert memory.ingest([add(notes, "More.")]).revisions == 1


def test_a_memory_works_on_an_external_server(external_postgres: Server, home: Path, notes: Path) -> None:
    with external_postgres.database() as conninfo, opened(conninfo, home) as memory:
        memory.ingest([notes])
        assert memory.search("Which port does staging use?", scope="all").matched
        assert memory.status().database.mode == "external"


def test_a_secret_in_a_question_does_not_reach_the_ledger(memory: Memory) -> None:
    secret = "ghp_" + "Zx7Kq2Lm9Rt4Vb8Nc3Wd" + "5Yf6Hg1Jp0Sa3Ue2"

    memory.search(f"who uses {secret}?")

    (event,) = served(memory)
    assert isinstance(event, SearchServed)
    with memory._parts.engine.connect() as conn:
        (question,) = memory._parts.contents.read(conn, [event.question]).values()
    assert question == b"who uses [redacted: github-token]?"
