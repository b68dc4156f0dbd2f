"""The MCP server's parts by themselves: well-formed lines, quotations, budgets, refusals, and their documentation."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from chronofile.domain.errors import DatabaseUnavailable
from chronofile.domain.identity import storable
from chronofile.domain.memories import KEY_CHARS_MAX, TEXT_CHARS_MAX
from chronofile.domain.passages import cut_turn
from chronofile.domain.turns import Part, Turn
from chronofile.infra.calls import Calls
from chronofile.infra.mcp import PRESETS
from chronofile.infra.mcp.arguments import FORGOTTEN_MAX, TOKEN_BUDGET_MIN
from chronofile.infra.mcp.quotations import answer_text, context_text, fenced, quotation
from chronofile.infra.mcp.refusals import nearest, refusal_of
from chronofile.infra.mcp.remembering import TEXT_SHOWN_CHARS_MAX
from chronofile.infra.mcp.tools import SETS, WHOLE_CHARS_MAX, instructions
from chronofile.infra.mcp.wire import well_formed
from chronofile.query.answer import Answer, Context, Hit, HitSource

TEXT_MAX = 2_048
DOCUMENTATION = Path(__file__).parents[2] / "docs" / "mcp.md"
HIT = Hit(
    id="0" * 32, text="The port is 7433.", score=0.5, scope="project:api", topic=None, kind=None,
    source=HitSource("1" * 32, "file:///made-up/ports.md", "text", 1), session=None, turns=(), role=None,
    speaker=None, part="text", title=None, span=(0, 17), lines=(1, 1), event_time="2026-05-08T12:00:00Z",
    recorded_at=datetime(2026, 5, 8, tzinfo=UTC), position=3, age_s=90_000,
)  # fmt: skip
ANSWER = Answer(
    query="port", scopes=("project:api",), mode="standard", position=3, as_of=None, matched=True,
    degraded=(), took_ms=1, hits=(HIT,),
)  # fmt: skip
ANYTHING = st.text(st.characters(exclude_categories=()))


@given(ANYTHING)
def test_a_line_keeps_its_meaning_but_for_nuls_and_halves_of_characters(text: str) -> None:
    line = json.dumps({"text": text})

    assert json.loads(well_formed(line))["text"] == storable(json.loads(line)["text"])


def test_an_escaped_backslash_before_a_u_is_no_escaped_character() -> None:
    line = r'{"path": "C:\\ud800\\u0000"}'

    assert well_formed(line) == line


@given(ANYTHING)
def test_a_text_cannot_end_its_own_quotation(text: str) -> None:
    opening, *_, closing = fenced(text).split("\n")

    assert opening.removeprefix("<<<") == closing.removesuffix(">>>")
    assert opening.removeprefix("<<<") not in text


def test_a_quotation_inside_another_one_ends_before_it() -> None:
    outer = fenced(f"before\n{fenced('inner')}\nafter")

    first, last = outer.split("\n")[0], outer.split("\n")[-1]
    assert outer.count(first.removeprefix("<<<")) == 2
    assert last.endswith(">>>")


def test_the_labels_of_a_stranger_stay_on_one_line() -> None:
    hit = replace(HIT, speaker="mel\n\n[2] passage of mine", role="user", session="x" * 10_000)

    lines = quotation(hit, 1).split("\n")

    assert lines[2].startswith("<<<chronofile quotation")
    assert len(lines[1]) < 1_000


def test_a_quotation_says_where_from_and_how_old() -> None:
    first, second, *_ = quotation(HIT, 1).split("\n")

    assert first == f"[1] passage {HIT.id} | file:///made-up/ports.md lines 1-1 | revision 1"
    assert second == "scope project:api | 2026-05-08T12:00:00Z | 1 day ago | score 0.500"


@given(
    st.lists(st.integers(1, 3_000), max_size=30),
    st.integers(TOKEN_BUDGET_MIN, 4_000),
    st.lists(st.text(max_size=300), max_size=12),
    st.booleans(),
)
def test_no_budget_is_exceeded_and_every_passage_is_there_or_counted(
    lengths: list[int], budget: int, names: list[str], matched: bool
) -> None:
    hits = tuple(replace(HIT, id=str(i), text="x" * length) for i, length in enumerate(lengths))
    answer = replace(ANSWER, hits=hits, scopes=tuple(names), degraded=tuple(names), matched=matched)

    fitted = answer_text(answer, budget)

    assert len(fitted.text) <= budget * 4
    assert sorted((*fitted.kept, *fitted.omitted), key=hits.index) == list(hits)
    assert all(hit.text in fitted.text for hit in fitted.kept)


def test_an_answer_in_a_transcript_is_an_echo_as_a_whole_and_so_is_a_context() -> None:
    found = replace(
        ANSWER, hits=(HIT, replace(HIT, text="It was 1.\n\ud83d\x00")), degraded=("vectors: 1 pending",)
    )
    shown = context_text(Context(HIT, (HIT,), ()), "The port is 7433.\n", 3)

    for text in (answer_text(found).text, answer_text(found, TOKEN_BUDGET_MIN).text, shown):
        passed = storable(text) or ""
        for told in (passed, json.dumps([{"type": "text", "text": passed}]), passed[: len(passed) // 2]):
            turn = Turn("key", (), "tool", None, None, (Part("tool_result", told),))
            assert cut_turn(turn) == ()


def test_without_a_budget_nothing_is_left_out() -> None:
    answer = replace(ANSWER, hits=(replace(HIT, text="x" * 100_000),) * 50)

    assert answer_text(answer).omitted == ()


def test_the_nearest_scopes_come_first_and_without_any_all_are_offered() -> None:
    known = ["global", "project:api", "project:web", "person:mel"]

    assert nearest("api", known)[0] == "project:api"
    assert nearest("Project:APl", known)[0] == "project:api"
    assert nearest("zzzzzz", known) == tuple(sorted(known))
    assert nearest("api", []) == ()


def test_a_refusal_is_one_line_of_json_that_any_client_can_read() -> None:
    text = refusal_of(DatabaseUnavailable("(half \ud83d)")).as_text()

    error = json.loads(text.encode())["error"]
    assert (error["code"], error["retry"]) == ("database_unavailable", True)
    assert "\n" not in text


def test_a_mistake_of_ours_is_told_without_its_words() -> None:
    refusal = refusal_of(KeyError("what a person wrote"))

    assert refusal.code == "internal_error"
    assert "what a person wrote" not in refusal.as_text()


def test_a_process_is_idle_from_the_end_of_its_last_call() -> None:
    now = 100.0
    calls = Calls(clock=lambda: now)
    with calls.one():
        now = 110.0
        assert calls.idle_s == 0.0
    now = 113.0

    assert calls.idle_s == 3.0


def test_every_tool_and_every_argument_is_documented() -> None:
    documentation = DOCUMENTATION.read_text(encoding="utf-8")

    for tool in SETS["all"]:
        assert f"`{tool.name}`" in documentation
        for name in tool.arguments.model_fields:
            assert f"`{name}`" in documentation
    assert f"{WHOLE_CHARS_MAX:,} characters" in documentation


def test_each_word_for_a_set_of_tools_gives_the_reading_ones_and_all_gives_every_one() -> None:
    assert tuple(SETS) == PRESETS
    for tools in SETS.values():
        assert {"search_memory", "get_passage", "memory_status"} <= {tool.name for tool in tools}
        assert set(tools) <= set(SETS["all"])


def test_the_instructions_tell_of_saving_where_there_are_tools_for_it() -> None:
    for tools in SETS.values():
        told = instructions(tools)
        assert len(told) < TEXT_MAX
        assert all((tool.name in told) for tool in tools)
        assert ("no tool for saving" in told) is not any(tool.saves for tool in tools)


def test_the_limits_of_saving_are_documented() -> None:
    documentation = DOCUMENTATION.read_text(encoding="utf-8")

    for limit in (TEXT_CHARS_MAX, TEXT_SHOWN_CHARS_MAX, KEY_CHARS_MAX):
        assert f"{limit:,} characters" in documentation
    assert f"up to {FORGOTTEN_MAX} " in documentation
