"""Erasure of what an agent looked up: our quotations go from its transcript too, and what people say there stays."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from chronofile.infra.cli.erasure import preview_lines
from chronofile.infra.erasing import aftermath
from chronofile.infra.erasing.tables import contents
from chronofile.infra.mcp import remembering, tools
from chronofile.infra.mcp.arguments import ForgetArguments, PassageArguments, SearchArguments
from chronofile.infra.memory import Memory
from tests.builders import claude_line, turn_line, write
from tests.infra.erasures import dumped, opened, rebuilt, tables_with

SECRET = 'The heron lands on the "frozen" reservoir\nevery Tuesday at dämmerung.'
OTHER = "The heron has a kettle in the kitchen, beside the window."


@pytest.fixture
def memory(conninfo: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    monkeypatch.chdir(tmp_path)
    with opened(conninfo, home) as found:
        yield found


@pytest.fixture
def notes(memory: Memory, tmp_path: Path) -> dict[str, Path]:
    found = {
        "birds": write(tmp_path / "notes" / "birds.md", SECRET),
        "kettle": write(tmp_path / "notes" / "kettle.md", OTHER),
    }
    memory.ingest([tmp_path / "notes"], wait="all")
    return found


def asked(memory: Memory, question: str = "frozen heron reservoir") -> tuple[str, dict[str, Any]]:
    """Return what the tool answers: as text, and as an object."""
    reply = tools.search(memory, SearchArguments(query=question, scope="all"))
    return reply.text, json.loads(json.dumps(reply.structured))


def looked_up(memory: Memory) -> dict[str, list[str]]:
    """Return transcripts of agents that looked it up, as clients write them down."""
    text, answer = asked(memory)
    passage = passage_of(memory, SECRET)
    around = tools.passage(memory, PassageArguments(id=passage, whole=True))
    context = json.loads(json.dumps(around.structured))

    def result(content: object, **fields: Any) -> list[str]:
        block: list[dict[str, Any]] = [{"type": "tool_result", "tool_use_id": "t", "content": content}]
        return [
            claude_line("Where does the heron land?"),
            claude_line(block, uuid="u-2", **fields),
            claude_line("On ice, it seems.", role="assistant", uuid="u-3"),
        ]

    return {
        "fenced": result([{"type": "text", "text": text}]),
        "around": result([{"type": "text", "text": around.text}]),
        "cut off": result(text[: text.index("dämmerung") - 5]),
        "within json": result(json.dumps({"content": [{"type": "text", "text": text}]})),
        "as json": result(json.dumps(answer)),
        "as json, cut off": result(json.dumps(answer)[:-40]),
        "context as json": result(json.dumps(context, ensure_ascii=False)),
        "json within json": result(json.dumps([{"type": "text", "text": json.dumps(answer)}])),
        "an object": result("See the result.", toolUseResult={"structuredContent": answer}),
        "an object of context": result("See the result.", toolUseResult={"structuredContent": context}),
    }


def passage_of(memory: Memory, text: str) -> str:
    hits = memory.search("frozen heron reservoir kettle", scope="all", limit=100).hits
    return next(hit.id for hit in hits if hit.text.strip() == text.strip())


def texts(memory: Memory, question: str) -> list[str]:
    return [hit.text for hit in memory.search(question, scope="all", limit=100).hits]


def is_rebuilt_alike(memory: Memory) -> bool:
    memory.embed()
    live = dumped(memory)
    return live == rebuilt(memory)


def contents_of(memory: Memory) -> list[tuple[str, bytes]]:
    return list(contents(memory._parts))


PARTS = ("lands on the", "every Tuesday")


@pytest.mark.parametrize("named", ["passage", "source"])
def test_what_an_agent_looked_up_is_erased_from_its_transcript_however_it_is_written_there(
    conninfo: str, memory: Memory, notes: dict[str, Path], tmp_path: Path, named: str
) -> None:
    chats = looked_up(memory)
    for number, lines in enumerate(chats.values()):
        write(
            tmp_path / "chats" / f"{number}.jsonl", *(line.replace('"s"', f'"s{number}"') for line in lines)
        )
    memory.ingest([tmp_path / "chats"], wait="all")
    wanted: dict[str, Any] = (
        {"passages": [passage_of(memory, SECRET)]}
        if named == "passage"
        else {"sources": [str(notes["birds"])]}
    )

    preview = memory.plan_erasure(**wanted)
    report = memory.erase(**wanted, token=preview.token)

    quoting = [source for source in preview.sources if source.quoted]
    assert [source.quoted for source in quoting] == [1] * len(chats)
    assert all(source.places for source in quoting)
    assert report.verified, report.found_in
    assert tables_with(conninfo, SECRET, *PARTS) == set()
    said = texts(memory, "Where does the heron land?")
    own_words = {"Where does the heron land?", "On ice, it seems.", "See the result.", f"{OTHER}\n"}
    assert set(said) - {"[erased]\n\n"} == own_words
    assert memory.verify().disagreements == ()
    assert is_rebuilt_alike(memory)


def test_a_preview_lists_where_it_is_quoted_and_the_command_tells_what_is_said_elsewhere(
    memory: Memory, notes: dict[str, Path], tmp_path: Path
) -> None:
    quoting = write(tmp_path / "c.turns.jsonl", turn_line(asked(memory)[0], role="tool", session="c"))
    own = write(tmp_path / "d.turns.jsonl", turn_line(f"I say: {SECRET.splitlines()[0]}", session="d"))
    memory.ingest([quoting, own], wait="all")

    preview = memory.plan_erasure(sources=[str(notes["birds"])])

    lines = list(preview_lines(preview, "erased"))
    assert lines[0] == "1 source would be erased:"
    at = lines.index("quoted in 1 source, where the quotations would be cut out:")
    assert lines[at + 1].endswith("c.turns.jsonl#c (1 passage quoted, 1 place cut out)")
    at = lines.index("1 source would keep what it says of it in words of its own:")
    assert lines[at + 1].endswith("d.turns.jsonl#d")


def test_quotations_of_what_is_not_erased_stay_beside_it(
    conninfo: str, memory: Memory, notes: dict[str, Path], tmp_path: Path
) -> None:
    text, answer = asked(memory, "heron kettle frozen")
    assert len(answer["hits"]) == 2
    chat = write(
        tmp_path / "c.turns.jsonl",
        turn_line(text, role="tool"),
        turn_line(json.dumps(answer), turn="2", role="tool"),
    )
    memory.ingest([chat], wait="all")

    report = memory.erase(sources=[str(notes["birds"])])

    assert report.verified
    assert tables_with(conninfo, *PARTS, "birds.md") == set()
    (stored,) = [
        content.decode()
        for _, content in contents_of(memory)
        if content.startswith(b"{") and b"kettle in the kitchen" in content
    ]
    first, second = (json.loads(line)["text"] for line in stored.splitlines())
    assert OTHER in first
    assert [hit["text"].strip() for hit in json.loads(second)["hits"]] == [OTHER]
    assert sorted(hit.source.uri for hit in memory.search("kettle", scope="all").hits) == [
        f"file://{notes['kettle']}"
    ]


def test_what_a_person_says_of_an_erased_source_stays_and_is_listed(
    memory: Memory, notes: dict[str, Path], tmp_path: Path
) -> None:
    line = SECRET.splitlines()[0]
    text, _ = asked(memory)
    own = write(tmp_path / "own.turns.jsonl", turn_line(f"I say: {line} And {text}", session="own"))
    memory.ingest([own], wait="all")

    preview = memory.plan_erasure(sources=[str(notes["birds"])])
    report = memory.erase(sources=[str(notes["birds"])])

    assert preview.repeated == (f"file://{own}#own",)
    assert [(source.uri, source.quoted) for source in preview.sources if source.quoted] == [
        (f"file://{own}#own", 1)
    ]
    assert report.repeated == tuple(f"source-{source.id}" for source in preview.sources if source.quoted)
    assert report.verified
    (left,) = [text for text in texts(memory, "frozen reservoir") if "reservoir" in text]
    assert left.startswith(f"I say: {line} And")


def test_a_text_that_is_spread_over_two_passages_of_another_source_is_found(
    conninfo: str, memory: Memory, notes: dict[str, Path], tmp_path: Path
) -> None:
    long = " ".join(f"Sentence number {n} is one that somebody may want to erase." for n in range(12))
    filling = " ".join(f"Filling number {n} says nothing at all that matters." for n in range(9))
    one = write(tmp_path / "one.txt", long)
    two = write(tmp_path / "two.txt", f"{filling} {long} {filling}")
    wide = tmp_path / "three.txt"
    wide.write_bytes(f"{filling} {long} {filling}".encode("utf-16"))
    memory.ingest([one, two, wide], wait="all")
    hits = memory.search("Sentence number 3 erase", scope="all", limit=50).hits
    passage = next(hit for hit in hits if hit.source.uri == f"file://{one}")
    assert not any(passage.text.strip() in hit.text for hit in hits if hit.source.uri == f"file://{two}")

    preview = memory.plan_erasure(passages=[passage.id])
    report = memory.erase(passages=[passage.id])

    assert len(preview.sources) == 3
    assert report.verified
    assert tables_with(conninfo, "Sentence number 3 ") == set()
    assert not any("Sentence number 3 " in text for text in texts(memory, "Sentence number 3"))
    assert is_rebuilt_alike(memory)


def test_a_short_passage_goes_from_where_it_was_quoted_and_not_from_what_else_says_it(
    conninfo: str, memory: Memory, tmp_path: Path
) -> None:
    chat = write(tmp_path / "a.turns.jsonl", turn_line("hunter7"))
    memory.ingest([chat], wait="all")
    text, answer = asked(memory, "hunter7")
    other = write(
        tmp_path / "b.turns.jsonl",
        turn_line("What is hunter7 for?", session="b"),
        turn_line(text, session="b", turn="2", role="tool"),
        turn_line(json.dumps(answer), session="b", turn="3", role="tool"),
    )
    unrelated = write(tmp_path / "c.turns.jsonl", turn_line("My hunter7 is another one.", session="c"))
    memory.ingest([other, unrelated], wait="all")
    (passage,) = [hit.id for hit in memory.search("hunter7", scope="all").hits if hit.text == "hunter7"]

    report = memory.erase(passages=[passage])

    assert report.verified
    stored = b"\n".join(content for _, content in contents_of(memory)).decode("utf-8", "replace")
    assert stored.count("hunter7") == 2 + stored.count('\\"query\\": \\"hunter7\\"')
    assert sorted(texts(memory, "hunter7")) == [
        "My hunter7 is another one.", "What is hunter7 for?", "[erased]",
    ]  # fmt: skip


def test_a_memory_is_erased_from_where_it_was_quoted_and_shown(
    conninfo: str, memory: Memory, tmp_path: Path
) -> None:
    long = f"{SECRET} {'And so it does. ' * 100}"
    remembered = memory.remember(long)
    memory.embed()
    text, answer = asked(memory)
    shown = shown_before_forgetting(memory, remembered.id)
    chat = write(
        tmp_path / "c.turns.jsonl",
        *(
            turn_line(said, turn=str(n), role="tool")
            for n, said in enumerate((text, json.dumps(answer), shown))
        ),
    )
    memory.ingest([chat], wait="all")

    report = memory.erase(memories=[remembered.id])

    assert report.verified
    assert tables_with(conninfo, *PARTS) == set()
    assert texts(memory, "frozen heron reservoir") == []


def shown_before_forgetting(memory: Memory, identifier: str) -> str:
    """Return what an agent is shown before a memory is forgotten."""
    return remembering.forget(memory, ForgetArguments(ids=[identifier])).text


def test_a_transcript_that_is_captured_once_more_comes_without_the_quotation(
    conninfo: str, memory: Memory, notes: dict[str, Path], tmp_path: Path
) -> None:
    chat = write(tmp_path / "c.jsonl", *looked_up(memory)["fenced"])
    memory.ingest([chat], wait="all")
    memory.erase(sources=[str(notes["birds"])])

    assert memory.ingest([chat], wait="all").revisions == 0
    write(chat, claude_line("Another beginning.", uuid="u-0"), *chat.read_text().splitlines())
    assert memory.ingest([chat], wait="all").revisions > 0

    assert tables_with(conninfo, *PARTS) == set()
    assert not any("chronofile" in text for text in texts(memory, "heron another beginning"))


def test_a_quotation_that_comes_while_a_passage_is_erased_goes_too(
    conninfo: str, memory: Memory, notes: dict[str, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = write(tmp_path / "c.jsonl", *looked_up(memory)["fenced"])
    before = aftermath.bring_past
    chats = [chat]

    def captured_first(*asked: Any) -> None:
        while chats:
            memory.ingest([chats.pop()], wait="words")
        before(*asked)

    monkeypatch.setattr("chronofile.infra.erasing.completing.bring_past", captured_first)

    report = memory.erase(sources=[str(notes["birds"])])

    assert report.verified
    assert tables_with(conninfo, *PARTS) == set()
