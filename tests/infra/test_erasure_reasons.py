"""Reasons of erasures: words that are kept for good, and so say nothing of what is erased."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from chronofile.domain.errors import BadRequest
from chronofile.infra.memory import Memory
from tests.builders import write
from tests.infra.erasures import opened, tables_with

SECRET = "The heron lands on the frozen reservoir every Tuesday at dawn."


@pytest.fixture
def memory(conninfo: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    monkeypatch.chdir(tmp_path)
    with opened(conninfo, home) as found:
        yield found


@pytest.mark.parametrize(
    "reason",
    [
        SECRET,
        f"Nobody is to read that {SECRET.lower()}",
        "heron lands on the FROZEN  reservoir",
        "{note} was not for us",
        "where are the birds?",
    ],
    ids=["the text", "with the text", "a piece of it", "its path", "a question about it"],
)
def test_a_reason_that_quotes_what_is_erased_is_refused_before_anything_is(
    memory: Memory, tmp_path: Path, reason: str
) -> None:
    note = write(tmp_path / "birds.md", SECRET)
    memory.ingest([note], wait="all")
    memory.search("where are the birds?", source=str(note))
    position = memory.status().position

    with pytest.raises(BadRequest, match="--reason quotes"):
        memory.erase(sources=[str(note)], reason=reason.format(note=note))

    assert memory.status().position == position
    assert not (memory.config.home / "receipts").exists()


def test_a_reason_that_quotes_a_passage_or_what_was_erased_before_is_refused(
    conninfo: str, memory: Memory
) -> None:
    short, other = memory.remember("hunter7"), memory.remember("The kettle is in the kitchen.")
    hit = next(hit for hit in memory.search("hunter7", scope="all").hits if hit.text == "hunter7")
    with pytest.raises(BadRequest, match="--reason quotes"):
        memory.erase(passages=[hit.id], reason="It is hunter7 still.")
    memory.erase(memories=[short.id], reason="It was still in use.")

    with pytest.raises(BadRequest, match="--reason quotes"):
        memory.erase(memories=[other.id], reason="hunter7")

    assert memory.erase(memories=[other.id], reason="A kettle is no secret, but it is private.").verified
    assert tables_with(conninfo, "hunter7", "in the kitchen") == set()
    assert tables_with(conninfo, "no secret, but it is private") == {"log.content"}
