"""Erasure of passages: their text goes from every source that holds it, and all else of these sources stays."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from chronofile.domain.events import RevisionCaptured
from chronofile.infra.erasing.cutting import cut_texts
from chronofile.infra.erasing.remains import remains
from chronofile.infra.erasing.surveys import surveying
from chronofile.infra.erasing.wanted import Wanted
from chronofile.infra.erasure import ErasedAlready
from chronofile.infra.memory import Memory
from chronofile.infra.progress import UNWATCHED
from tests.builders import add, claude_line, revised, turn_line, write
from tests.infra.erasures import dumped, opened, rebuilt, tables_with

SECRET = 'The heron lands on the "frozen" reservoir every Tuesday at dawn.'
OTHER = "The kettle is in the kitchen, beside the window."
FILLING = " ".join(f"Sentence number {n} says nothing that anybody has to know." for n in range(30))


@pytest.fixture
def memory(conninfo: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    monkeypatch.chdir(tmp_path)
    with opened(conninfo, home) as found:
        yield found


def passage_of(memory: Memory, text: str, question: str = "frozen heron reservoir") -> str:
    """Return the id of the passage that says just this."""
    hits = memory.search(question, scope="all", limit=100).hits
    return next(hit.id for hit in hits if hit.text.strip() == text.strip())


def whole(memory: Memory, question: str) -> str:
    hit = memory.search(question, scope="all").hits[0]
    return memory.get(hit.id, source=True).whole or ""


def is_rebuilt_alike(memory: Memory) -> bool:
    memory.embed()
    live = dumped(memory)
    return live == rebuilt(memory)


def test_a_passage_goes_from_every_source_that_holds_its_text(
    conninfo: str, memory: Memory, tmp_path: Path
) -> None:
    write(tmp_path / "notes" / "birds.md", "# Birds", "", OTHER, FILLING, "", SECRET, "", FILLING)
    write(tmp_path / "a.turns.jsonl", turn_line(SECRET), turn_line(OTHER, turn="2"))
    write(
        tmp_path / "c.jsonl",
        claude_line("What of the birds?"),
        claude_line(
            [
                {"type": "text", "text": f"I know this: {SECRET}"},
                {"type": "tool_use", "name": "Write", "input": {"path": "x", "body": {"said": SECRET}}},
            ],
            role="assistant",
            uuid="u-2",
        ),
        claude_line("And the kettle?", uuid="u-3"),
    )
    memory.remember(f"Remember: {SECRET} And more.")
    memory.ingest([tmp_path], wait="all")
    before = memory.status().position
    passage = passage_of(memory, SECRET)

    preview = memory.plan_erasure(passages=[passage])
    report = memory.erase(passages=[passage], token=preview.token)

    assert len(preview.sources) == 4
    assert all(source.places for source in preview.sources)
    assert report.verified
    assert tables_with(conninfo, SECRET, "heron lands on") == set()
    for as_of in (None, before):
        hits = memory.search("frozen heron reservoir", scope="all", limit=100, as_of=as_of).hits
        assert not any("heron" in hit.text for hit in hits)
    assert FILLING[:200] in whole(memory, "Sentence number 3")
    assert "[erased]" in whole(memory, "Sentence number 3")
    assert "Remember: [erased] And more." in whole(memory, "Remember more")
    assert memory.verify().disagreements == ()
    assert is_rebuilt_alike(memory)
    with pytest.raises(ErasedAlready, match=report.id):
        memory.erase(passages=[passage])


def test_the_files_are_not_captured_again_and_what_they_grow_by_is_without_the_passage(
    conninfo: str, memory: Memory, tmp_path: Path
) -> None:
    note = write(tmp_path / "notes" / "birds.md", SECRET)
    chat = write(tmp_path / "a.turns.jsonl", turn_line(SECRET), turn_line(OTHER, turn="2"))
    memory.ingest([tmp_path], wait="all")
    memory.erase(passages=[passage_of(memory, SECRET)])

    assert memory.ingest([tmp_path], wait="all").revisions == 0
    add(chat, turn_line(f"Once more: {SECRET} Yes.", turn="3"))
    write(note, "It changed.", SECRET, "It goes on.")
    report = memory.ingest([tmp_path], wait="all")

    assert (report.revisions, report.redactions, report.erased_passages) == (2, 0, 2)
    assert tables_with(conninfo, SECRET) == set()
    assert "It changed.\n[erased]\nIt goes on." in whole(memory, "It changed")
    assert "Once more: [erased] Yes." in whole(memory, "Once more")
    assert memory.verify().disagreements == ()
    assert is_rebuilt_alike(memory)


def test_earlier_revisions_that_hold_the_passage_are_erased_and_others_stay(
    conninfo: str, memory: Memory, tmp_path: Path
) -> None:
    note = write(tmp_path / "birds.md", OTHER)
    memory.ingest([note])
    first = memory.status().position
    write(note, SECRET)
    memory.ingest([note])
    passage = passage_of(memory, SECRET)
    write(note, "Nothing of the kind.")
    memory.ingest([note], wait="all")
    count = len(memory._parts.store.read(f"source-{memory.sources()[0].id}"))

    report = memory.erase(passages=[passage])

    assert report.contents == 1
    assert len(memory._parts.store.read(f"source-{memory.sources()[0].id}")) == count
    assert tables_with(conninfo, SECRET) == set()
    assert [hit.text.strip() for hit in memory.search("kettle", scope="all", as_of=first).hits] == [OTHER]
    assert [hit.text.strip() for hit in memory.search("nothing", scope="all").hits] == [
        "Nothing of the kind."
    ]
    assert is_rebuilt_alike(memory)


def test_a_passage_that_is_put_together_from_several_strings_goes_with_its_pieces(
    conninfo: str, memory: Memory, tmp_path: Path
) -> None:
    pieces = [
        f'The {bird} lands at {hour} o\'clock.\nBeside a "pond".' for bird, hour in (("owl", 3), ("gull", 4))
    ]
    result = [{"type": "text", "text": piece} for piece in pieces]
    write(
        tmp_path / "c.jsonl",
        claude_line("Where do they land?"),
        claude_line([{"type": "tool_result", "tool_use_id": "t", "content": result}], uuid="u-2"),
        claude_line(
            [{"type": "tool_use", "name": "Note", "input": {"list": [{"what": pieces[0]}, 7]}}],
            role="assistant",
            uuid="u-3",
        ),
        claude_line(OTHER, uuid="u-4"),
    )
    memory.ingest([tmp_path], wait="all")
    joined = passage_of(memory, "\n".join(pieces), "owl gull pond")
    shown = passage_of(memory, f"Note\nlist.0.what: {pieces[0]}\nlist.1: 7", "owl note list what")

    memory.erase(passages=[joined, shown])

    assert tables_with(conninfo, "The owl lands", "The gull lands", 'a "pond"') == set()
    assert OTHER in whole(memory, "kettle")
    assert memory.verify().disagreements == ()
    assert is_rebuilt_alike(memory)


def test_a_text_that_is_the_name_of_a_calls_argument_goes_with_the_argument() -> None:
    line = json.dumps(
        {"type": "user", "uuid": "u", "sessionId": "s", "message": {"role": "user", "content": 5}}
    )
    named = json.dumps(
        {
            "type": "assistant",
            "uuid": "u-2",
            "sessionId": "s",
            "message": {
                "id": "m",
                "role": "assistant",
                "content": [{"type": "tool_use", "name": "Read", "input": {SECRET: 1}}],
            },
        }
    )
    content = f"{line}\n{named}\n".encode()
    event = revised("key", format="claude-code", encoding="utf-8-sig", end=len(content))

    cut = cut_texts("the source", [event], [SECRET], {"key": content}.get)

    left = cut.cleaned["key"].content
    assert SECRET.encode() not in left
    assert left.startswith(line.encode())


def test_an_undone_range_stays_hidden_when_a_passage_before_it_is_erased(
    conninfo: str, memory: Memory, tmp_path: Path
) -> None:
    chat = write(tmp_path / "a.turns.jsonl", turn_line(SECRET), turn_line(OTHER, turn="2"))
    memory.ingest([chat], wait="all")
    add(chat, turn_line("This was a mistake.", turn="3"))
    batch = memory.ingest([chat], wait="all").batch
    assert batch is not None
    undone = memory.undo(batch).batch
    assert undone is not None
    passage = passage_of(memory, SECRET)

    memory.erase(passages=[passage])

    assert "mistake" not in "".join(hit.text for hit in memory.search("mistake", scope="all").hits)
    assert is_rebuilt_alike(memory)
    memory.undo(undone)
    assert "This was a mistake." in whole(memory, "mistake")
    assert "[erased]" in whole(memory, "mistake")
    assert tables_with(conninfo, SECRET) == set()
    assert memory.ingest([chat], wait="all").revisions == 0
    assert is_rebuilt_alike(memory)


def test_a_removed_file_loses_the_passage_and_is_not_captured_for_it(
    conninfo: str, memory: Memory, tmp_path: Path
) -> None:
    note = write(tmp_path / "notes" / "birds.md", SECRET)
    write(tmp_path / "notes" / "other.md", OTHER)
    memory.ingest([tmp_path / "notes"], wait="all")
    passage = passage_of(memory, SECRET)
    note.unlink()
    memory.ingest([tmp_path / "notes"], wait="all")

    memory.erase(passages=[passage])

    assert tables_with(conninfo, SECRET) == set()
    assert sorted(entry.revision for entry in memory.sources()) == [1, 1]
    assert sorted(entry.state for entry in memory.sources()) == ["captured", "erased"]
    assert is_rebuilt_alike(memory)


def test_a_short_passage_goes_only_where_it_stands_alone(
    conninfo: str, memory: Memory, tmp_path: Path
) -> None:
    chat = write(
        tmp_path / "a.turns.jsonl",
        turn_line("hunter7", role="user"),
        turn_line("So hunter7 it is, and hunter77 it is not.", turn="2", role="assistant"),
    )
    other = write(tmp_path / "b.turns.jsonl", turn_line("A hunter7 of another session.", session="b"))
    memory.ingest([chat, other], wait="all")

    memory.erase(passages=[passage_of(memory, "hunter7", "hunter7")])

    assert whole(memory, "so it is not") == "[erased]\n\nSo [erased] it is, and hunter77 it is not."
    assert whole(memory, "another session") == "A hunter7 of another session."
    assert is_rebuilt_alike(memory)


def test_a_large_transcript_is_captured_anew_range_by_range(
    conninfo: str, memory: Memory, tmp_path: Path
) -> None:
    chat = tmp_path / "a.turns.jsonl"
    write(chat, *(turn_line(f"{n}: {FILLING}", turn=str(n)) for n in range(20)))
    memory.ingest([chat], wait="words")
    add(chat, turn_line(SECRET, turn="s"))
    memory.ingest([chat], wait="words")
    add(chat, *(turn_line(f"{n}: {FILLING}", turn=str(n)) for n in range(20, 40)))
    memory.ingest([chat], wait="words")
    (entry,) = memory.sources()

    memory.erase(passages=[passage_of(memory, SECRET)])

    stored = [one.event for one in memory._parts.store.read(f"source-{entry.id}")]
    ranges = [event for event in stored if isinstance(event, RevisionCaptured)]
    old, new = ranges[:3], ranges[3:]
    assert [(e.start, e.end, e.batch, e.probe) for e in old] == [
        (e.start, e.end, e.batch, e.probe) for e in new
    ]
    assert [a.content == b.content for a, b in zip(old, new, strict=True)] == [True, False, True]
    assert new[1].original == old[1].content
    assert new[1].redactions == {"erased": 1}
    assert [e.revision for e in ranges] == [1, 2, 3, 4, 5, 6]
    assert is_rebuilt_alike(memory)


def test_a_passage_goes_where_it_is_json_in_ascii_within_a_string(
    conninfo: str, memory: Memory, tmp_path: Path
) -> None:
    said = "Der Kranich überfliegt täglich den zugefrorenen Stausee 🐦 im Süden."
    answer = json.dumps({"note": said, "more": [json.dumps({"again": said})]})
    note = write(tmp_path / "n.md", said)
    chat = write(tmp_path / "c.turns.jsonl", turn_line(f"It printed {answer}."), turn_line(OTHER, turn="2"))
    memory.ingest([note, chat], wait="all")

    report = memory.erase(passages=[passage_of(memory, said, "Kranich Stausee")])

    assert report.verified
    assert tables_with(conninfo, "Kranich", "zugefrorenen") == set()
    assert OTHER in whole(memory, "kettle")
    assert is_rebuilt_alike(memory)


def test_a_text_that_another_source_still_has_is_found_unless_it_came_since(memory: Memory) -> None:
    memory.remember(f"It is said: {SECRET}")
    memory.remember(SECRET)
    parts = memory._parts
    found = surveying(Wanted(passages=[passage_of(memory, SECRET)]))(parts, UNWATCHED)
    began = parts.store.position()

    assert {"log.content"} <= set(remains(parts, found, (), began, ()))
    assert remains(parts, found, (), 0, ()) == ()
