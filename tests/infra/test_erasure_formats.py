"""Erasure in every format: a passage of a turn goes, however its text was put together, and every other turn stays."""

from __future__ import annotations

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import sqlalchemy as sa

from chronofile.domain.decoding import decode
from chronofile.domain.events import RevisionCaptured
from chronofile.domain.formats import FORMATS
from chronofile.domain.turns import Turn
from chronofile.infra.erasing.cutting import NotCutOut, cut_texts
from chronofile.infra.memory import Memory
from chronofile.projections import control, passages
from chronofile.projections.projection import FOREVER
from tests.builders import revised, turn_line
from tests.infra.erasures import opened, tables_with
from tests.infra.test_export import of_each_sample
from tests.samples import chatgpt, claude_ai, slack

SECRET = "The heron lands on the frozen reservoir every Tuesday at dawn."


@pytest.fixture
def memory(conninfo: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    monkeypatch.chdir(tmp_path)
    with opened(conninfo, home) as found:
        yield found


def made(sample: ModuleType, tmp_path: Path) -> Path:
    folder = tmp_path / "made"
    folder.mkdir()
    found: Path = sample.write(folder)
    return found


def said(memory: Memory) -> Counter[Any]:
    """Return what the turns of all sources say, passage by passage, and whose."""
    p = passages.passage
    query = sa.select(p.c.source, p.c.turn, p.c.speaker, p.c.event_time, p.c.text).where(
        p.c.recorded_to == FOREVER
    )
    with memory._parts.engine.connect() as plain:
        conn = control.translated(plain, control.read_active(plain))
        return Counter(conn.execute(query).all())


def middle(memory: Memory) -> Any:
    """Return a passage from the middle of the longest source, of a turn that is long enough to be looked for."""
    p = passages.passage
    query = sa.select(p.c.id, p.c.source, p.c.turn, p.c.text).where(
        p.c.turn.is_not(None), sa.func.length(p.c.text) >= 24
    )
    with memory._parts.engine.connect() as plain:
        conn = control.translated(plain, control.read_active(plain))
        rows = conn.execute(query.order_by(p.c.no)).all()
    longest, _ = Counter(row.source for row in rows).most_common(1)[0]
    of_it = [row for row in rows if row.source == longest]
    return of_it[len(of_it) // 2]


@of_each_sample
def test_a_passage_of_a_turn_in_the_middle_goes_from_every_format(
    sample: ModuleType, conninfo: str, memory: Memory, tmp_path: Path
) -> None:
    path = made(sample, tmp_path)
    memory.ingest([path], wait="words")
    before, chosen = said(memory), middle(memory)

    report = memory.erase(passages=[chosen.id])

    text = chosen.text.strip()
    assert report.verified
    assert tables_with(conninfo, text) == set()
    others = Counter(
        {row: count for row, count in before.items() if row.turn != chosen.turn and text not in row.text}
    )
    assert not others - said(memory)
    assert memory.verify().disagreements == ()
    assert memory.ingest([path], wait="words").revisions == 0
    shutil.copytree(tmp_path / "made", tmp_path / "again")
    memory.ingest([tmp_path / "again"], wait="words")
    assert tables_with(conninfo, text) == set()


@of_each_sample
def test_every_turn_of_a_format_can_be_erased_and_no_other_turn_says_less(
    sample: ModuleType, tmp_path: Path, memory: Memory
) -> None:
    memory.ingest([made(sample, tmp_path)], wait="words")
    for entry in memory.sources():
        stored = [one.event for one in memory._parts.store.read(f"source-{entry.id}")]
        event = next(event for event in stored if isinstance(event, RevisionCaptured))
        content = memory._parts.read([event.content])[event.content]
        if event.format in FORMATS:
            for turn in folded(event.format, content):
                for text in {turn.text.strip(), *(part.text.strip() for part in turn.parts)} - {""}:
                    if text != "[canceled]":  # Only the reader says so.
                        is_cut_alone(event.format, content, text)


def folded(format_name: str, content: bytes) -> tuple[Turn, ...]:
    return (
        FORMATS[format_name].fold(None, decode(content, "utf-8-sig")[0].removesuffix("\n").split("\n")).turns
    )


def cut(format_name: str, content: bytes, *texts: str) -> bytes:
    event = revised("key", format=format_name, encoding="utf-8-sig", end=len(content))
    found = cut_texts("the source", [event], texts, {"key": content}.get)
    return found.cleaned["key"].content


def is_cut_alone(format_name: str, content: bytes, text: str) -> None:
    before = folded(format_name, content)
    after = folded(format_name, cut(format_name, content, text))
    assert not any(text in turn.text for turn in after)
    assert not Counter(turn.text for turn in before if text not in turn.text) - Counter(
        turn.text for turn in after
    )


def lines(*values: object) -> bytes:
    return "".join(f"{json.dumps(value)}\n" for value in values).encode()


def test_numbers_and_the_names_of_arguments_go_with_a_call() -> None:
    call = {"type": "tool_use", "name": "add", "input": {"yearly_salary": [91000, 72000, 55500]}}
    made = claude_ai.conversation(
        claude_ai.message("Please add the salaries."),
        claude_ai.message(content=[call], uuid="m-2", sender="assistant"),
        claude_ai.message("Now of Rome, founded in 91000.", uuid="m-3"),
    )
    text = next(turn.text for turn in folded("claude-ai", lines(made)) if "72000" in turn.text)

    left = cut("claude-ai", lines(made), text)

    assert b"72000" not in left
    assert b"yearly_salary" not in left
    assert {"Please add the salaries.", "Now of Rome, founded in 91000."} <= {
        turn.text for turn in folded("claude-ai", left)
    }


def test_a_message_of_slack_goes_with_its_blocks_and_attachments_and_its_replies_stay() -> None:
    elements = [
        {"type": "text", "text": "Only blocks "},
        {"type": "user", "user_id": slack.BOB},
        {"type": "text", "text": " with marzipan & cake"},
    ]
    rich = {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": elements}]}
    day = lines(
        {"channel": slack.channel(), "day": "2026-01-02"},
        {"users": {slack.BOB: slack.person(slack.BOB, "Bob Invented", "")}, "channels": {}},
        slack.message(
            "",
            blocks=[rich],
            attachments=[{"fallback": "marzipan fallback", "text": f"Attached marzipan <@{slack.BOB}> text"}],
            replies=[{"user": slack.BOB, "ts": "1767348060.000100"}],
        ),
        slack.message(f"A reply <@{slack.BOB}> &amp; no more", "1767348060.000100", thread_ts=slack.STAMP),
    )
    before = folded("slack", day)
    text = next(turn.text for turn in before if "marzipan" in turn.text)

    left = cut("slack", day, text)

    assert b"marzipan" not in left
    assert [turn.text for turn in folded("slack", left) if turn.key != slack.STAMP] == [
        turn.text for turn in before if turn.key != slack.STAMP
    ]


def test_a_message_of_slack_with_entities_alone_is_cut_exactly() -> None:
    day = lines(
        {"channel": slack.channel(), "day": "2026-01-02"}, slack.message(f"So: a &lt; b &amp; {SECRET} Yes.")
    )
    left = cut("slack", day, f"a < b & {SECRET}")
    assert [turn.text for turn in folded("slack", left)] == ["So: [erased] Yes."]


def test_one_message_of_a_tree_is_cut_and_the_tree_and_its_title_stay() -> None:
    parts = ["The heron lands", "on the reservoir.\nAt dawn."]
    made = chatgpt.chain(
        chatgpt.message("What does the heron do?", key="a"),
        chatgpt.message(
            {
                "content_type": "multimodal_text",
                "parts": [{"content_type": "text", "text": one} for one in parts],
            },
            key="b",
            role="assistant",
        ),
        chatgpt.message("And on Wednesday?", key="c"),
        chatgpt.message("It rests.", key="d", role="assistant"),
    )
    before = folded("chatgpt", lines(made))
    text = next(turn.text for turn in before if "reservoir" in turn.text)

    after = folded("chatgpt", cut("chatgpt", lines(made), text))

    assert [(turn.key, turn.text) for turn in after if turn.key != "b"] == [
        (turn.key, turn.text) for turn in before if turn.key != "b"
    ]
    assert not any("reservoir" in turn.text for turn in after)


def test_what_only_a_reader_says_cannot_be_cut_out() -> None:
    record = {"type": "user", "uuid": "u", "sessionId": "s", "message": {"role": "user", "content": [{"type": "tool_result", "content": {SECRET: 1}}]}}  # fmt: skip
    text = next(turn.text for turn in folded("claude-code", lines(record)))
    with pytest.raises(NotCutOut):
        cut("claude-code", lines(record), text)


def test_the_preview_says_how_many_turns_lose_something(memory: Memory, tmp_path: Path) -> None:
    path = tmp_path / "a.turns.jsonl"
    path.write_text(
        f"{turn_line(SECRET)}\n{turn_line('Nothing of it.', turn='2')}\n{turn_line(f'I say: {SECRET}', turn='3')}\n"
    )
    memory.ingest([path], wait="words")
    hits = memory.search("frozen heron reservoir", scope="all").hits
    passage = next(hit.id for hit in hits if hit.text.strip() == SECRET)

    (concerned,) = memory.plan_erasure(passages=[passage]).sources

    assert (concerned.turns, concerned.places) == (2, 2)
