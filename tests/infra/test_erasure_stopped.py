"""Erasures that are stopped in the middle: what is left of them is erased by whoever comes next."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from chronofile.infra.erasing import exclusive
from chronofile.infra.erasing.exclusive import ErasureGoesOn, alone
from chronofile.infra.erasing.receipts import Receipts
from chronofile.infra.erasure import ErasedAlready, ErasureStopped
from chronofile.infra.mcp import tools
from chronofile.infra.mcp.arguments import SearchArguments
from chronofile.infra.memory import Memory
from chronofile.infra.progress import Progress
from tests.builders import claude_line, turn_line, write
from tests.infra.erasures import dumped, opened, rebuilt, tables_with

SECRET = "The heron lands on the frozen reservoir every Tuesday at dawn."
OTHER = "The kettle is in the kitchen, beside the window."


@pytest.fixture
def memory(conninfo: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("chronofile.infra.erasing.carrying.STREAMS_MAX", 2)
    with opened(conninfo, home) as found:
        yield found


def stopping() -> Progress:
    """Return what stops a run after the first of its appends."""

    def applied(what: str, position: int) -> None:
        if what == "log.events":
            raise KeyboardInterrupt

    return Progress(applied=applied)


def stopped(erase: Callable[..., Any], **wanted: Any) -> None:
    with pytest.raises(KeyboardInterrupt):
        erase(**wanted, progress=stopping())


def receipts(memory: Memory) -> list[dict[str, Any]]:
    folder = memory.config.home / "receipts"
    return [json.loads(path.read_text()) for path in sorted(folder.iterdir())]


def is_rebuilt_alike(memory: Memory) -> bool:
    memory.embed()
    live = dumped(memory)
    return live == rebuilt(memory)


def passage_of(memory: Memory, text: str) -> str:
    hits = memory.search(text, scope="all", limit=100).hits
    return next(hit.id for hit in hits if hit.text.strip() == text)


def notes_of(folder: Path, count: int) -> list[Path]:
    return [write(folder / f"{number}.md", f"{number}. {SECRET}") for number in range(count)]


def test_the_rest_of_a_scope_is_erased_by_finish_and_the_receipt_tells_of_all(
    conninfo: str, memory: Memory, tmp_path: Path
) -> None:
    memory.ingest(notes_of(tmp_path / "notes", 7), wait="all")
    remembered = memory.remember(f"{SECRET} So it is.")
    stopped(memory.erase, scopes=["global"], reason="It was not ours.")
    assert sum(entry.state == "erased" for entry in memory.sources()) < 7
    (begun,) = receipts(memory)

    finished = memory.finish_erasures()

    assert finished == [begun["id"]]
    assert {entry.state for entry in memory.sources()} == {"erased"}
    assert tables_with(conninfo, "frozen reservoir") == set()
    (receipt,) = receipts(memory)
    assert (receipt["state"], receipt["verified"], receipt["left"]) == ("finished", True, [])
    assert len(receipt["sources"]) == 8
    assert memory.status().notes == ()
    with pytest.raises(ErasedAlready, match=begun["id"]):
        memory.erase(memories=[remembered.id])
    assert is_rebuilt_alike(memory)


def test_the_rest_of_a_passage_is_erased_by_finish(conninfo: str, memory: Memory, tmp_path: Path) -> None:
    for number in range(5):
        write(
            tmp_path / f"{number}.turns.jsonl",
            turn_line(f"{number}: {SECRET}" if number else SECRET, session=str(number)),
            turn_line(OTHER, turn="2", session=str(number)),
        )
    memory.ingest([tmp_path], wait="all")
    stopped(memory.erase, passages=[passage_of(memory, SECRET)])
    assert "log.content" in tables_with(conninfo, "frozen reservoir")

    (finished,) = memory.finish_erasures()

    assert tables_with(conninfo, "frozen reservoir") == set()
    assert [receipt["verified"] for receipt in receipts(memory)] == [True]
    assert {receipt["id"] for receipt in receipts(memory)} == {finished}
    assert [hit.text for hit in memory.search("kettle", scope="all").hits].count(OTHER) == 5
    assert is_rebuilt_alike(memory)


def test_the_rest_of_what_was_quoted_is_found_again_by_finish(
    conninfo: str, memory: Memory, tmp_path: Path
) -> None:
    note = write(tmp_path / "note.md", SECRET)
    memory.ingest([note], wait="all")
    answer = tools.search(memory, SearchArguments(query="frozen heron", scope="all")).text
    for number in range(4):
        result = [{"type": "tool_result", "tool_use_id": "t", "content": answer}]
        write(
            tmp_path / f"{number}.jsonl",
            claude_line(result, session=f"s-{number}"),
            claude_line(OTHER, uuid="u-2"),
        )
    memory.ingest([tmp_path], wait="all")
    stopped(memory.erase, sources=[str(note)])
    assert sum(entry.state == "erased" for entry in memory.sources()) == 0, "what is quoted goes first"

    assert len(memory.finish_erasures()) == 1

    assert sum(entry.state == "erased" for entry in memory.sources()) == 1
    assert tables_with(conninfo, "frozen reservoir") == set()
    assert is_rebuilt_alike(memory)


def test_the_rest_of_a_redaction_is_redacted_by_finish(
    conninfo: str, home: Path, tmp_path: Path, memory: Memory
) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    notes = [write(tmp_path / f"{number}.md", f"{number}: {token}") for number in range(5)]
    with opened(conninfo, home, redaction="off") as unredacted:
        unredacted.ingest(notes, wait="all")
    stopped(memory.redact)
    assert tables_with(conninfo, token)

    finished = memory.finish_erasures()

    assert len(finished) == 1
    assert tables_with(conninfo, token) == set()
    assert {entry.state for entry in memory.sources()} == {"captured"}


def test_the_same_request_once_more_finishes_it_and_says_so(
    conninfo: str, memory: Memory, tmp_path: Path
) -> None:
    notes = notes_of(tmp_path / "notes", 5)
    memory.ingest(notes, wait="all")
    named = [str(note) for note in notes]
    stopped(memory.erase, sources=named)
    (begun,) = receipts(memory)

    report = memory.erase(sources=named)

    assert (report.id, report.finished) == (begun["id"], (begun["id"],))
    assert (report.verified, report.state) == (True, "finished")
    assert len(report.sources) == 5
    assert tables_with(conninfo, "frozen reservoir") == set()
    with pytest.raises(ErasedAlready, match=begun["id"]):
        memory.erase(sources=named)


def test_another_erasure_finishes_it_too(conninfo: str, memory: Memory, tmp_path: Path) -> None:
    notes = notes_of(tmp_path / "notes", 5)
    kettle = write(tmp_path / "kettle.md", OTHER)
    memory.ingest([*notes, kettle], wait="all")
    stopped(memory.erase, sources=[str(note) for note in notes])
    (begun,) = receipts(memory)

    report = memory.erase(sources=[str(kettle)])

    assert report.id != begun["id"]
    assert report.finished == (begun["id"],)
    assert tables_with(conninfo, "frozen reservoir", "kettle") == set()
    assert [(receipt["state"], receipt["verified"]) for receipt in receipts(memory)] == [
        ("finished", True)
    ] * 2


def test_a_preview_of_what_was_stopped_names_the_command_and_changes_nothing(
    memory: Memory, tmp_path: Path
) -> None:
    notes = notes_of(tmp_path / "notes", 3)
    memory.ingest(notes, wait="all")
    stopped(memory.erase, sources=[str(note) for note in notes])
    position = memory.status().position
    erased = next(entry.id for entry in memory.sources() if entry.state == "erased")

    with pytest.raises(ErasureStopped, match="erase --finish"):
        memory.plan_erasure(sources=[erased])

    assert memory.status().position == position


def test_what_nobody_knows_any_more_stays_begun_and_is_named_until_it_is_erased(
    conninfo: str, memory: Memory, tmp_path: Path
) -> None:
    for number in range(4):
        write(tmp_path / f"{number}.turns.jsonl", turn_line(SECRET, session=str(number)))
    kettle = write(tmp_path / "kettle.md", OTHER)
    memory.ingest([tmp_path], wait="all")
    stopped(memory.erase, passages=[passage_of(memory, SECRET)])
    (begun,) = receipts(memory)
    Receipts(memory.config.home).write(begun["id"], {**begun, "named": {"passages": ["f" * 32]}})

    assert memory.finish_erasures() == []
    report = memory.erase(sources=[str(kettle)])

    (receipt,) = (found for found in receipts(memory) if found["id"] == begun["id"])
    assert (receipt["state"], receipt["verified"], report.finished) == ("begun", False, ())
    (sentence,) = receipt["left"]
    words = sentence.rpartition("chronofile erase ")[2].split()
    assert sentence in memory.status().notes
    left = [word for word in words if word != "--source"]
    assert len(left) == 2
    memory.erase(sources=left)
    assert memory.status().notes == ()
    assert "log.content" not in tables_with(conninfo, "frozen reservoir")


def test_only_one_erases_at_a_time(
    conninfo: str, home: Path, memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exclusive, "LEASE_TIMEOUT_S", 0.1)
    note = write(tmp_path / "note.md", SECRET)
    memory.ingest([note], wait="all")

    with alone(memory._parts), opened(conninfo, home) as other:
        with pytest.raises(ErasureGoesOn):
            other.erase(sources=[str(note)])
        with pytest.raises(ErasureGoesOn):
            other.finish_erasures()

    assert memory.erase(sources=[str(note)]).verified
