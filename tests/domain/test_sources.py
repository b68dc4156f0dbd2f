"""Sources: seeing bytes means an event exactly when they were not captured already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronofile.domain.events import (
    BatchStarted,
    CaptureRejected,
    Event,
    RevisionCaptured,
    SourceMoved,
    SourceRegistered,
    SourceRemoved,
    SourceRescoped,
)
from chronofile.domain.sources import (
    Occasion,
    Registration,
    Seen,
    Source,
    capture,
    evolve,
    reject,
    remove,
    shown,
    source_of,
)
from tests.builders import OBSERVED_AT, registered, revised

NOW = Occasion("batch", OBSERVED_AT)
FILE = Registration("file", "global", "key", "uri", 0, None)
WHOLE = Seen(
    original="c1", content="c1", start=0, end=100, format="text", encoding="utf-8", uri="uri", key="key", file="file",
    probe="p1", event_time="2026-05-08",
)  # fmt: skip
MOVED = replace(WHOLE, uri="uri-2", key="key-2", file="file-2")


def kinds(events: Sequence[Event]) -> list[str]:
    return [type(event).__name__ for event in events]


CAPTURED = capture(Source(), FILE, WHOLE, NOW)


def test_what_is_seen_first_is_registered_and_captured() -> None:
    assert capture(Source(), FILE, WHOLE, NOW) == [
        SourceRegistered("file", "global", "key", "uri", 0, None, "batch"),
        RevisionCaptured(
            revision=1, content="c1", start=0, end=100, format="text", encoding="utf-8", file="file",
            probe="p1", batch="batch", observed_at=OBSERVED_AT, event_time="2026-05-08",
        ),
    ]  # fmt: skip


def test_the_same_bytes_again_mean_nothing() -> None:
    assert capture(source_of(CAPTURED), FILE, WHOLE, NOW) == []


def test_other_bytes_are_the_next_revision() -> None:
    (event,) = capture(source_of(CAPTURED), FILE, replace(WHOLE, original="c2", content="c2", end=7), NOW)

    assert isinstance(event, RevisionCaptured)
    assert (event.revision, event.content, event.start, event.end) == (2, "c2", 0, 7)


def test_the_same_bytes_at_another_commit_mean_nothing() -> None:
    later = replace(WHOLE, commit="5e", branch="b1", dirty=False)

    assert capture(source_of(CAPTURED), FILE, later, NOW) == []
    (event,) = capture(source_of(CAPTURED), FILE, replace(later, original="c2", content="c2"), NOW)
    assert isinstance(event, RevisionCaptured)
    assert (event.commit, event.branch, event.dirty) == ("5e", "b1", False)


def test_bytes_that_come_back_are_a_revision_again() -> None:
    other = replace(WHOLE, original="c2", content="c2")
    source = evolve(source_of(CAPTURED), capture(source_of(CAPTURED), FILE, other, NOW))

    assert kinds(capture(source, FILE, WHOLE, NOW)) == ["RevisionCaptured"]


def test_a_range_continues_where_the_source_ends() -> None:
    more = replace(WHOLE, original="c2", content="c2", start=100, end=150, probe="p2")

    (event,) = capture(source_of(CAPTURED), FILE, more, NOW)
    grown = evolve(source_of(CAPTURED), [event])

    assert isinstance(event, RevisionCaptured)
    assert (event.revision, event.start, event.end) == (2, 100, 150)
    assert (grown.end, grown.probe, grown.original) == (150, "p2", None)
    assert capture(grown, FILE, replace(more, start=150), NOW) == []


def test_a_range_from_anywhere_else_is_a_mistake_of_the_caller() -> None:
    with pytest.raises(AssertionError):
        capture(
            source_of(CAPTURED), FILE, replace(WHOLE, original="c2", content="c2", start=99, end=150), NOW
        )


def test_the_same_bytes_elsewhere_are_a_move_and_other_bytes_a_move_and_a_revision() -> None:
    source = source_of(CAPTURED)
    move = SourceMoved("uri-2", "key-2", "file-2", "batch", OBSERVED_AT)

    assert capture(source, FILE, MOVED, NOW) == [move]
    assert kinds(capture(source, FILE, replace(MOVED, original="c2", content="c2"), NOW)) == [
        "SourceMoved",
        "RevisionCaptured",
    ]
    assert capture(evolve(source, [move]), FILE, MOVED, NOW) == []


def test_an_empty_file_is_captured_once() -> None:
    empty = replace(WHOLE, original="c0", content="c0", end=0)
    source = source_of(capture(Source(), FILE, empty, NOW))

    assert (source.revision, source.end) == (1, 0)
    assert capture(source, FILE, empty, NOW) == []


def test_a_removed_source_is_removed_once_and_captured_again_when_it_comes_back() -> None:
    source = evolve(source_of(CAPTURED), remove(source_of(CAPTURED), NOW))

    assert source.removed
    assert remove(source, NOW) == []
    again = capture(source, FILE, WHOLE, NOW)
    assert kinds(again) == ["RevisionCaptured"]
    assert not evolve(source, again).removed


def test_what_was_never_seen_cannot_be_removed() -> None:
    assert remove(Source(), NOW) == []


def test_a_rejection_is_over_once_and_told_again_when_it_comes_back() -> None:
    rejection = reject(Source(), FILE, ("locked", "s1"), "file", NOW)
    over = evolve(source_of(rejection), remove(source_of(rejection), NOW))
    back = reject(over, FILE, ("locked", "s1"), "file", NOW)

    assert (over.removed, remove(over, NOW)) == (True, [])
    assert kinds(back) == ["CaptureRejected"]
    assert kinds(remove(evolve(over, back), NOW)) == ["SourceRemoved"]


def test_a_removed_source_that_is_rejected_stays_removed() -> None:
    removed = evolve(source_of(CAPTURED), remove(source_of(CAPTURED), NOW))
    rejected = evolve(removed, reject(removed, FILE, ("unreadable", "s1"), "file", NOW))

    assert rejected.removed
    assert kinds(capture(rejected, FILE, WHOLE, NOW)) == ["RevisionCaptured"]


def test_what_is_shown_in_place_of_what_was_undone_is_held() -> None:
    events: list[Event] = [registered(), revised("c1", batch="b1"), revised("c2", revision=2, batch="b2")]
    source = source_of(events, reverted={"b2"})

    assert capture(source, FILE, replace(WHOLE, original="c1"), NOW, again=True) == []
    assert capture(source, FILE, replace(WHOLE, original="c2"), NOW) == []
    assert kinds(capture(source, FILE, replace(WHOLE, original="c2"), NOW, again=True)) == [
        "RevisionCaptured"
    ]
    assert kinds(capture(source, FILE, replace(WHOLE, original="c3"), NOW)) == ["RevisionCaptured"]


def test_what_was_undone_stays_away_after_later_revisions_until_it_is_asked_for() -> None:
    events: list[Event] = [registered(), revised("c1", batch="b1"), revised("c2", revision=2, batch="b2")]
    later = [*events, revised("c3", revision=3, batch="b3")]
    source = source_of(later, reverted={"b2"})
    back = source_of([*later, revised("c2", revision=4, batch="b4"), revised("c5", revision=5)], {"b2"})
    seen = replace(WHOLE, original="c2", content="c2")

    assert capture(source, FILE, seen, NOW) == []
    assert kinds(capture(source, FILE, seen, NOW, again=True)) == ["RevisionCaptured"]
    assert kinds(capture(back, FILE, seen, NOW)) == ["RevisionCaptured"]


def test_a_whole_that_goes_on_is_not_held_by_an_earlier_one_that_was_all() -> None:
    events: list[Event] = [registered(), revised("c1", batch="b1"), revised("c2", revision=2, batch="b2")]
    source = source_of(events, reverted={"b1"})
    seen = replace(WHOLE, original="c1", content="c1")

    assert kinds(capture(source, FILE, seen, NOW, goes_on=True)) == ["RevisionCaptured"]


def test_a_rejection_is_recorded_once_for_each_state_and_reason() -> None:
    first = reject(Source(), FILE, ("binary", "s1"), "file", NOW)
    source = source_of(first)

    assert first == [
        SourceRegistered("file", "global", "key", "uri", 0, None, "batch"),
        CaptureRejected("binary", "s1", "file", "batch", OBSERVED_AT),
    ]
    assert reject(source, FILE, ("binary", "s1"), "file", NOW) == []
    assert kinds(reject(source, FILE, ("binary", "s2"), "file", NOW)) == ["CaptureRejected"]
    assert kinds(reject(source, FILE, ("too-large", "s1"), "file", NOW)) == ["CaptureRejected"]


def test_what_was_rejected_and_can_be_read_now_is_captured() -> None:
    source = source_of(reject(Source(), FILE, ("binary", "s1"), "file", NOW))

    assert kinds(capture(source, FILE, WHOLE, NOW)) == ["RevisionCaptured"]


def test_a_source_stands_where_its_events_put_it() -> None:
    source = source_of(
        [
            registered("uri", kind="transcript", scope="project:api", session="s"),
            revised("c1", revision=1, format="turns", file="file-1"),
            SourceRescoped("project:web"),
            SourceMoved("uri-2", "key-2", "file-2", "b", OBSERVED_AT),
        ]
    )

    assert source == Source(
        version=4, kind="transcript", scope="project:web", uri="uri-2", file="file-2", session="s", revision=1,
        original="c1", end=100, probe="probe", format="turns", shown=revised("c1", format="turns", file="file-1"),
    )  # fmt: skip


def test_every_event_counts_also_one_that_changes_nothing() -> None:
    assert evolve(Source(), [BatchStarted("ingest", OBSERVED_AT)]) == Source(version=1)


@given(contents=st.lists(st.sampled_from(["c1", "c2", "gone"]), max_size=12))
def test_a_source_is_captured_once_for_each_change(contents: list[str]) -> None:
    events: list[Event] = []
    for content in contents:
        source = source_of(events)
        events += (
            remove(source, NOW)
            if content == "gone"
            else capture(source, FILE, replace(WHOLE, original=content, content=content), NOW)
        )

    told = [e.content if isinstance(e, RevisionCaptured) else "gone" for e in events[1:]]
    first = next((i for i, content in enumerate(contents) if content != "gone"), len(contents))
    seen = contents[first:]
    assert told == [c for i, c in enumerate(seen) if i == 0 or c != seen[i - 1]]
    assert source_of(events).version == len(events)
    assert isinstance(events[0], SourceRegistered) if events else not seen
    assert not any(isinstance(event, SourceRemoved) for event in events) or "gone" in contents


def ranged(start: int, end: int, batch: str) -> RevisionCaptured:
    return revised(content=f"{start}-{end}", start=start, end=end, batch=batch)


FIRST, SECOND, THIRD = ranged(0, 100, "b1"), ranged(100, 150, "b2"), ranged(150, 180, "b3")
WHOLE_AGAIN = ranged(0, 90, "b4")


@pytest.mark.parametrize(
    ("events", "reverted", "expected"),
    [
        ([FIRST, SECOND], (), [FIRST, SECOND]),
        ([FIRST, SECOND, THIRD], ("b2",), [FIRST]),
        ([FIRST, SECOND, THIRD], ("b1",), []),
        ([FIRST, SECOND, WHOLE_AGAIN], ("b4",), [FIRST, SECOND]),
        ([FIRST, SECOND, WHOLE_AGAIN], ("b1", "b2"), [WHOLE_AGAIN]),
        ([FIRST, WHOLE_AGAIN, replace(SECOND, start=90)], ("b4",), [FIRST]),
        ([FIRST, SourceRemoved("b2", OBSERVED_AT)], (), []),
        ([FIRST, SourceRemoved("b2", OBSERVED_AT)], ("b2",), [FIRST]),
        ([FIRST, SourceRemoved("b2", OBSERVED_AT), WHOLE_AGAIN], ("b4",), []),
    ],
)
def test_a_source_shows_what_was_not_undone_and_does_not_continue_it(
    events: list[Event], reverted: Sequence[str], expected: list[Event]
) -> None:
    assert shown(events, reverted) == expected


def test_what_was_undone_is_captured_again_only_when_it_is_asked_for() -> None:
    source = source_of(CAPTURED, {"batch"})

    assert source.hidden
    assert capture(source, FILE, WHOLE, NOW) == []
    assert kinds(capture(source, FILE, WHOLE, NOW, again=True)) == ["RevisionCaptured"]


def test_a_range_that_continues_what_was_undone_is_hidden_too() -> None:
    more = replace(WHOLE, original="c2", content="c2", start=100, end=150)
    source = source_of(CAPTURED, {"batch"})

    grown = evolve(source, capture(source, FILE, more, Occasion("later", OBSERVED_AT)))

    assert grown.hidden
    assert not evolve(grown, capture(grown, FILE, replace(more, start=0, end=9), NOW)).hidden


def test_the_event_names_the_bytes_in_the_file_only_where_something_was_taken_out_of_them() -> None:
    clean = capture(Source(), FILE, WHOLE, NOW)[-1]
    redacted = capture(Source(), FILE, replace(WHOLE, content="c9", redactions={"jwt": 1}), NOW)[-1]

    assert isinstance(clean, RevisionCaptured)
    assert clean.original is None
    assert isinstance(redacted, RevisionCaptured)
    assert (redacted.content, redacted.original, redacted.redactions) == ("c9", "c1", {"jwt": 1})
    assert capture(source_of([redacted]), FILE, replace(WHOLE, uri=""), NOW) == []
