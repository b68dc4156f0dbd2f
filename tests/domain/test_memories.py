"""What remembering, correcting and forgetting mean, decided from a memory's own events alone."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronofile.domain import memories
from chronofile.domain.errors import BadRequest
from chronofile.domain.events import Event, MemoryCorrected, MemoryForgotten, MemoryRemembered
from chronofile.domain.memories import (
    KEY_CHARS_MAX,
    TEXT_CHARS_MAX,
    Asker,
    Memory,
    MemoryConflict,
    MemoryIsForgotten,
    UnknownMemory,
    Wording,
    memory_of,
)
from tests.builders import OBSERVED_AT

ASKER = Asker("cli", OBSERVED_AT)
A, B = Wording("a", "a"), Wording("b", "b")
CLEANED = Wording("cleaned", "secret", {"token": 1})


def remembered(*before: Event, wording: Wording = A, kind: str = "note") -> list[Event]:
    return memories.remember(memory_of(before), "m", "global", kind, wording, ASKER)


def corrected(*before: Event, wording: Wording = B) -> list[Event]:
    return memories.correct(memory_of(before), "m", wording, ASKER)


def forgotten(*before: Event) -> list[Event]:
    return memories.forget(memory_of(before), None, ASKER)


def test_a_text_is_remembered_once() -> None:
    first = remembered()

    assert first == [MemoryRemembered("global", "note", "a", "cli", OBSERVED_AT)]
    assert remembered(*first) == []


def test_another_text_under_the_same_key_is_a_conflict_that_names_the_memory() -> None:
    with pytest.raises(MemoryConflict, match=r"memory m\."):
        remembered(*remembered(), wording=B)


def test_a_call_that_is_repeated_after_a_correction_is_no_conflict_and_changes_nothing() -> None:
    events = [*remembered(), *corrected(*remembered())]

    assert remembered(*events) == []
    assert remembered(*events, wording=B) == []
    with pytest.raises(MemoryConflict):
        remembered(*events, wording=Wording("c", "c"))


def test_what_was_forgotten_is_remembered_anew() -> None:
    events = [*remembered(), MemoryForgotten(None, "cli", OBSERVED_AT)]

    again = remembered(*events, kind="decision")

    assert again == [MemoryRemembered("global", "decision", "a", "cli", OBSERVED_AT)]
    assert not memory_of([*events, *again]).forgotten
    with pytest.raises(MemoryConflict):
        remembered(*events, wording=B)


def test_texts_are_compared_as_they_were_given_and_not_as_they_are_stored() -> None:
    first = remembered(wording=CLEANED)

    assert first == [
        MemoryRemembered("global", "note", "cleaned", "cli", OBSERVED_AT, {"token": 1}, original="secret")
    ]
    assert remembered(*first, wording=Wording("cleaned otherwise", "secret")) == []
    with pytest.raises(MemoryConflict):
        remembered(*first, wording=Wording("cleaned", "another secret"))


def test_a_correction_takes_the_texts_place_and_the_same_text_means_nothing() -> None:
    events = remembered()

    assert corrected(*events) == [MemoryCorrected("b", "cli", OBSERVED_AT)]
    assert corrected(*events, wording=A) == []
    assert memory_of([*events, *corrected(*events)]).text == "b"


def test_what_is_not_there_or_forgotten_cannot_be_corrected() -> None:
    with pytest.raises(UnknownMemory, match="m"):
        corrected()
    with pytest.raises(MemoryIsForgotten):
        corrected(*remembered(), MemoryForgotten(None, "cli", OBSERVED_AT))


def test_forgetting_twice_means_nothing() -> None:
    events = [*remembered(), *forgotten(*remembered())]

    assert events[1:] == [MemoryForgotten(None, "cli", OBSERVED_AT)]
    assert forgotten(*events) == []
    assert forgotten() == []


def test_a_memory_that_was_corrected_says_something_else_than_it_began_with() -> None:
    events = [*remembered(), *corrected(*remembered())]

    assert memories.says_otherwise(memory_of(events), "a")
    assert not memories.says_otherwise(memory_of(events), "b")
    assert not memories.says_otherwise(memory_of([*events, *forgotten(*events)]), "a")
    assert not memories.says_otherwise(Memory(), "a")


def token(*events: Event, present: tuple[str, ...] = ("a", "b"), **others: Memory) -> str:
    return memories.token({"m": memory_of(events), **others}, present, b"k" * 32)


def test_a_token_changes_with_the_list_with_every_text_and_with_an_erasure_but_not_by_forgetting() -> None:
    events = remembered()
    after = [*events, *forgotten(*events)]

    assert token(*events) == token(*after)
    others = {
        token(*events),
        token(*events, *corrected(*events)),
        token(*after, *remembered(*after)),
        token(*events, present=()),
        token(*events, n=memory_of(events)),
    }
    assert len(others) == 5


def test_a_token_does_not_depend_on_the_order_of_the_list() -> None:
    one, two = memory_of(remembered()), memory_of(remembered(wording=B))

    assert memories.token({"x": one, "y": two}, ["a"], b"k") == memories.token(
        {"y": two, "x": one}, ["a"], b"k"
    )


def test_ids_differ_by_scope_key_text_kind_ordinal_and_store() -> None:
    ids = [
        memories.memory_id("global", "k", b"1"),
        memories.memory_id("other", "k", b"1"),
        memories.memory_id("global", "k", b"2"),
        memories.text_id("global", "note", "k", 0, b"1"),
        memories.text_id("global", "fact", "k", 0, b"1"),
        memories.text_id("global", "note", "k", 1, b"1"),
    ]

    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("kind", ["", "Note", "a b", "é", "a" * 41, "note\n"])
def test_what_is_no_kind_is_refused(kind: str) -> None:
    with pytest.raises(BadRequest, match="kind"):
        memories.require_kind(kind)


@pytest.mark.parametrize(
    "refused",
    [
        lambda: memories.require_text(" \n"),
        lambda: memories.require_text("a" * (TEXT_CHARS_MAX + 1)),
        lambda: memories.require_key(" "),
        lambda: memories.require_key("k" * (KEY_CHARS_MAX + 1)),
        lambda: memories.require_ids([]),
        lambda: memories.require_ids(["m"] * 1_001),
    ],
)
def test_what_is_blank_or_too_much_is_refused(refused: Callable[[], None]) -> None:
    with pytest.raises(BadRequest):
        refused()


def test_the_longest_of_everything_is_taken() -> None:
    memories.require_kind("a" * 40)
    memories.require_text("a" * TEXT_CHARS_MAX)
    memories.require_key("k" * KEY_CHARS_MAX)


@given(
    st.lists(st.tuples(st.sampled_from(["remember", "correct", "forget"]), st.sampled_from([A, B, CLEANED])))
)
def test_whatever_was_asked_before_asking_the_same_again_appends_nothing(
    asked: list[tuple[str, Wording]],
) -> None:
    events: list[Event] = []
    for what, wording in asked:
        new = decided(what, wording, events)
        events += new
        assert not new or decided(what, wording, events) == []
    memory = memory_of(events)
    assert memory.version == len(events)
    assert memory.forgotten == bool(events and isinstance(events[-1], MemoryForgotten))


def decided(what: str, wording: Wording, events: list[Event]) -> list[Event]:
    """Return what comes of asking, nothing where it is refused."""
    try:
        if what == "remember":
            return remembered(*events, wording=wording)
        return corrected(*events, wording=wording) if what == "correct" else forgotten(*events)
    except (MemoryConflict, UnknownMemory, MemoryIsForgotten):
        return []
