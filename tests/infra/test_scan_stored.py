"""Scanning what is stored for secrets, and redacting it: cleaned revisions take the place of what held one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from chronofile.domain.errors import UnknownScope, UnknownSource
from chronofile.domain.events import RevisionCaptured
from chronofile.infra.erasure import NothingToRedact
from chronofile.infra.memory import Memory
from chronofile.infra.scanning import LEDGER
from tests.builders import add, claude_line, repository, turn_line, write
from tests.infra.command_line import command_line
from tests.infra.erasures import dumped, opened, rebuilt, tables_with

TOKEN = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
OTHER_TOKEN = "glpat-" + "x1Y2z3A4b5C6d7E8f9G0"
WORDS = "The kettle is in the kitchen, beside the window."


@pytest.fixture
def leaky(conninfo: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    """A memory into which secrets came while nothing was taken out: in files, sessions, a memory and a question."""
    monkeypatch.chdir(tmp_path)
    api = repository(tmp_path / "api")
    note = write(api / "deploy.md", "# Deploy", "", f"The first token was {OTHER_TOKEN}.")
    chat = write(tmp_path / "a.turns.jsonl", turn_line(WORDS), turn_line(f"Use {TOKEN}.", turn="2"))
    with opened(conninfo, home, redaction="off") as memory:
        memory.ingest([api, chat], wait="all")
        write(note, "# Deploy", "", WORDS, "", f"The token is {TOKEN}, I say {TOKEN}.")
        add(chat, turn_line("And then?", turn="3"))
        memory.ingest([api, chat], wait="all")
        memory.search(f"what is {TOKEN} for?", scope="all")
    with opened(conninfo, home) as memory:
        yield memory


def found(memory: Memory, **names: list[str]) -> set[tuple[str, str, int, int]]:
    return {
        (one.uri.rpartition("/")[2], one.rule, one.line, one.count)
        for one in memory.scan(**names)  # type: ignore[arg-type]
    }


def test_a_scan_finds_secrets_of_old_revisions_and_of_questions_too(leaky: Memory) -> None:
    assert found(leaky) == {
        ("deploy.md", "gitlab-token", 3, 1),
        ("deploy.md", "github-token", 5, 2),
        ("a.turns.jsonl#s", "github-token", 2, 1),
        (LEDGER, "github-token", 1, 1),
    }
    assert not any(TOKEN in repr(one) or OTHER_TOKEN in repr(one) for one in leaky.scan())
    assert {name for name, *_ in found(leaky, scopes=["project:api"])} == {"deploy.md"}
    assert {name for name, *_ in found(leaky, sources=["a.turns.jsonl"])} == {"a.turns.jsonl#s"}


def test_a_scan_changes_nothing(leaky: Memory) -> None:
    position = leaky.status().position
    list(leaky.scan())
    assert leaky.status().position == position


def test_a_scan_of_what_there_is_not_says_so(leaky: Memory) -> None:
    with pytest.raises(UnknownSource):
        list(leaky.scan(sources=["nowhere.md"]))
    with pytest.raises(UnknownScope):
        list(leaky.scan(scopes=["nothing"]))


def test_after_a_redaction_no_secret_is_stored_and_all_else_is(conninfo: str, leaky: Memory) -> None:
    preview = leaky.plan_redaction()
    report = leaky.redact(token=preview.token)

    assert len(preview.sources) == 2
    assert preview.questions == 1
    assert report.verified
    assert found(leaky) == set()
    assert tables_with(conninfo, TOKEN, OTHER_TOKEN) == set()
    hits = leaky.search("deploy token", scope="all").hits
    assert any("The token is [redacted: github-token]" in hit.text for hit in hits)
    assert WORDS in "".join(hit.text for hit in leaky.search("kettle", scope="all").hits)
    assert leaky.verify().disagreements == ()
    leaky.embed()
    live = dumped(leaky)
    assert live == rebuilt(leaky)
    with pytest.raises(NothingToRedact):
        leaky.redact()


def test_what_was_redacted_is_not_captured_again_and_grows_on(leaky: Memory, tmp_path: Path) -> None:
    leaky.redact()
    assert leaky.ingest([tmp_path / "api", tmp_path / "a.turns.jsonl"], wait="all").revisions == 0
    add(tmp_path / "a.turns.jsonl", turn_line(f"Again {TOKEN}.", turn="4"))
    copy = write(tmp_path / "copy.md", (tmp_path / "api" / "deploy.md").read_text().removesuffix("\n"))
    report = leaky.ingest([tmp_path / "a.turns.jsonl", copy], wait="all")
    assert (report.revisions, report.rejected) == (2, ())
    assert found(leaky) == set()


def test_a_redaction_of_one_source_leaves_the_others(leaky: Memory) -> None:
    leaky.redact(sources=["a.turns.jsonl"])
    assert {name for name, *_ in found(leaky)} == {"deploy.md", LEDGER}


def test_the_ranges_of_a_session_keep_their_places_and_their_batches(leaky: Memory, tmp_path: Path) -> None:
    (entry,) = [entry for entry in leaky.sources() if entry.format == "turns"]
    leaky.redact(sources=["a.turns.jsonl"])
    stored = [one.event for one in leaky._parts.store.read(f"source-{entry.id}")]
    one, two, one_anew, two_anew = [event for event in stored if isinstance(event, RevisionCaptured)]
    assert (one_anew.start, one_anew.end, one_anew.batch) == (one.start, one.end, one.batch)
    assert (one_anew.original, one_anew.redactions) == (one.content, {"github-token": 1})
    assert (two_anew.content, two_anew.batch, two_anew.original) == (two.content, two.batch, None)


def test_memories_are_scanned_and_corrected(conninfo: str, memory_without_redaction: Memory) -> None:
    memory = memory_without_redaction
    remembered = memory.remember(f"The key is {TOKEN}, mind it.")
    assert {(one.uri, one.rule) for one in memory.scan()} == {(f"memory:{remembered.id}", "github-token")}

    memory.redact()

    assert list(memory.scan()) == []
    assert tables_with(conninfo, TOKEN) == set()
    (hit, *_) = memory.search("the key", scope="all").hits
    assert hit.text == "The key is [redacted: github-token], mind it."


@pytest.fixture
def memory_without_redaction(
    conninfo: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Memory]:
    monkeypatch.chdir(tmp_path)
    with opened(conninfo, home, redaction="off") as memory:
        yield memory


def test_the_commands_show_beginnings_only_and_exit_with_0(tmp_path: Path) -> None:
    with command_line(tmp_path) as line:
        write(tmp_path / "c.jsonl", claude_line(f"Take {TOKEN} and go."))
        write(tmp_path / "n.md", WORDS)
        assert line.run("ingest", "c.jsonl", "n.md", CHRONOFILE_REDACTION="off").status == 0

        listed = line.run("scan")
        assert listed.status == 0
        assert "github-token" in listed.out
        assert "c.jsonl" in listed.out
        assert TOKEN not in listed.out
        assert [one["count"] for one in line.run("scan", "--json").lines] == [1]
        shown = line.run("redact", "--all")
        assert shown.status == 0
        assert "1 source would be redacted" in shown.out
        assert line.run("scan", "--json").lines != []

        done = line.run("redact", "--all", "--yes")
        assert done.status == 0, done.err
        nothing = line.run("scan")
        assert (nothing.status, nothing.out) == (0, "")
        assert line.run("redact", "--all", "--yes").status == 1
