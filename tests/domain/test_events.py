"""Events: what was ever written down is still read, and says what it said."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import FrozenInstanceError, fields
from typing import Any, get_args, get_type_hints

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronofile.domain.codec import UnknownEvent, dumps, event_of, name_of, payload, written
from chronofile.domain.events import (
    EVENT_TYPES,
    BatchFinished,
    BatchRestored,
    BatchReverted,
    BatchStarted,
    CaptureRejected,
    ContentErased,
    DirectoryMapped,
    Event,
    MemoryCorrected,
    MemoryForgotten,
    MemoryRemembered,
    RevisionCaptured,
    ScopeCreated,
    SearchServed,
    SourceMoved,
    SourceRegistered,
    SourceRemoved,
    SourceRescoped,
)
from chronofile.domain.upcasts import UPCASTS, State, Upcasts, upcast, version_of

AT = "2026-05-08T12:00:00.000000+00:00"
KEY, URI, FILE, BYTES, PROBE = (digit * 40 for digit in "abcde")

# What released versions have written, as they wrote it: (name, version, JSON, the event it is today). A
# sample is never edited; a new version of an event adds one.
SAMPLES: list[tuple[str, int, str, Event]] = [
    (
        "SourceRegistered",
        1,
        (
            '{"batch":"0b1","key":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","kind":"transcript","ordinal":1,'
            '"scope":"project:api","session":"5e55","uri":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"}'
        ),
        SourceRegistered("transcript", "project:api", KEY, URI, 1, "5e55", "0b1"),
    ),
    (
        "RevisionCaptured",
        1,
        (
            '{"batch":"0b1","branch":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",'
            '"commit":"0123456789abcdef0123456789abcdef01234567",'
            '"content":"dddddddddddddddddddddddddddddddddddddddd","dirty":true,"encoding":"utf-8","end":4096,'
            '"event_time":"2026-05-08T14:00:00+02:00","file":"cccccccccccccccccccccccccccccccccccccccc",'
            '"format":"text","observed_at":"2026-05-08T12:00:00.000000+00:00","original":null,'
            '"probe":"eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee","redactions":{"aws-key":2},"revision":3,"start":1024}'
        ),
        RevisionCaptured(
            revision=3, content=BYTES, start=1024, end=4096, format="text", encoding="utf-8", file=FILE,
            probe=PROBE, batch="0b1", observed_at=AT, event_time="2026-05-08T14:00:00+02:00",
            redactions={"aws-key": 2}, commit="0123456789abcdef0123456789abcdef01234567", branch=KEY, dirty=True,
        ),
    ),
    (
        "RevisionCaptured",
        1,
        (
            '{"batch":"0b1","branch":null,"commit":null,"content":"dddddddddddddddddddddddddddddddddddddddd",'
            '"dirty":null,"encoding":"utf-8","end":4096,"event_time":null,'
            '"file":"cccccccccccccccccccccccccccccccccccccccc","format":"claude-code",'
            '"observed_at":"2026-05-08T12:00:00.000000+00:00",'
            '"original":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",'
            '"probe":"eeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeeee","redactions":{"jwt":1},"revision":1,"start":0}'
        ),
        RevisionCaptured(
            revision=1, content=BYTES, start=0, end=4096, format="claude-code", encoding="utf-8", file=FILE,
            probe=PROBE, batch="0b1", observed_at=AT, event_time=None, redactions={"jwt": 1}, original=KEY,
        ),
    ),
    (
        "SourceMoved",
        1,
        (
            '{"batch":"0b1","file":"cccccccccccccccccccccccccccccccccccccccc",'
            '"key":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","observed_at":"2026-05-08T12:00:00.000000+00:00",'
            '"uri":"bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"}'
        ),
        SourceMoved(URI, KEY, FILE, "0b1", AT),
    ),
    ("SourceRescoped", 1, '{"scope":"project:api"}', SourceRescoped("project:api")),
    (
        "SourceRemoved",
        1,
        '{"batch":"0b1","observed_at":"2026-05-08T12:00:00.000000+00:00"}',
        SourceRemoved("0b1", AT),
    ),
    (
        "CaptureRejected",
        1,
        (
            '{"batch":"0b1","file":"cccccccccccccccccccccccccccccccccccccccc",'
            '"observed_at":"2026-05-08T12:00:00.000000+00:00","reason":"too-large",'
            '"state":"dddddddddddddddddddddddddddddddddddddddd"}'
        ),
        CaptureRejected("too-large", BYTES, FILE, "0b1", AT),
    ),
    (
        "BatchStarted",
        1,
        '{"observed_at":"2026-05-08T12:00:00.000000+00:00","of":null,"tool":"ingest"}',
        BatchStarted("ingest", AT),
    ),
    (
        "BatchFinished",
        1,
        '{"observed_at":"2026-05-08T12:00:00.000000+00:00","rejected":1,"revisions":7}',
        BatchFinished(7, 1, AT),
    ),
    (
        "BatchStarted",
        1,
        '{"observed_at":"2026-05-08T12:00:00.000000+00:00","of":"0b1","tool":"undo"}',
        BatchStarted("undo", AT, of="0b1"),
    ),
    (
        "BatchReverted",
        1,
        '{"by":"0b2","observed_at":"2026-05-08T12:00:00.000000+00:00"}',
        BatchReverted("0b2", AT),
    ),
    (
        "BatchRestored",
        1,
        '{"by":"0b3","observed_at":"2026-05-08T12:00:00.000000+00:00"}',
        BatchRestored("0b3", AT),
    ),
    (
        "ContentErased",
        1,
        (
            '{"actor":"cli","closed":["5e"],"contents":["dddddddddddddddddddddddddddddddddddddddd"],'
            '"observed_at":"2026-05-08T12:00:00.000000+00:00",'
            '"originals":["aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"],"reason":null,'
            '"receipt":"cccccccccccccccccccccccccccccccccccccccc","spans":["5f:30:b1:b2"],'
            '"streams":["source-5e","memory-3e"]}'
        ),
        ContentErased(
            contents=(BYTES,), originals=(KEY,), streams=("source-5e", "memory-3e"), closed=("5e",),
            spans=("5f:30:b1:b2",), actor="cli", reason=None, receipt=FILE, observed_at=AT,
        ),
    ),
    (
        "MemoryRemembered",
        1,
        (
            '{"actor":"mcp","kind":"decision","observed_at":"2026-05-08T12:00:00.000000+00:00",'
            '"original":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","redactions":{"jwt":1},"scope":"project:api",'
            '"text":"dddddddddddddddddddddddddddddddddddddddd"}'
        ),
        MemoryRemembered("project:api", "decision", BYTES, "mcp", AT, {"jwt": 1}, KEY),
    ),
    (
        "MemoryCorrected",
        1,
        (
            '{"actor":"cli","observed_at":"2026-05-08T12:00:00.000000+00:00","original":null,"redactions":{},'
            '"text":"dddddddddddddddddddddddddddddddddddddddd"}'
        ),
        MemoryCorrected(BYTES, "cli", AT),
    ),
    (
        "MemoryForgotten",
        1,
        (
            '{"actor":"python","observed_at":"2026-05-08T12:00:00.000000+00:00",'
            '"reason":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}'
        ),
        MemoryForgotten(KEY, "python", AT),
    ),
    ("ScopeCreated", 1, '{"observed_at":"2026-05-08T12:00:00.000000+00:00"}', ScopeCreated(AT)),
    (
        "DirectoryMapped",
        1,
        (
            '{"directory":"cccccccccccccccccccccccccccccccccccccccc",'
            '"observed_at":"2026-05-08T12:00:00.000000+00:00"}'
        ),
        DirectoryMapped(FILE, AT),
    ),
    (
        "SearchServed",
        1,
        (
            '{"as_of":12,"caller":"mcp","matched":true,"mode":"standard",'
            '"observed_at":"2026-05-08T12:00:00.000000+00:00","passages":["p1","p2"],"position":99,'
            '"question":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa","scopes":["global","project:api"],"took_ms":31}'
        ),
        SearchServed(
            question=KEY, caller="mcp", scopes=("global", "project:api"), mode="standard", position=99, as_of=12,
            matched=True, passages=("p1", "p2"), took_ms=31, observed_at=AT,
        ),
    ),
]  # fmt: skip

identifiers = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
VALUES: Mapping[Any, st.SearchStrategy[Any]] = {
    str: identifiers,
    int: st.integers(-(2**63), 2**63 - 1),
    bool: st.booleans(),
    str | None: st.none() | identifiers,
    bool | None: st.none() | st.booleans(),
    int | None: st.none() | st.integers(0, 2**63 - 1),
    tuple[str, ...]: st.lists(identifiers, max_size=4).map(tuple),
    Mapping[str, int]: st.dictionaries(identifiers, st.integers(0, 1_000), max_size=3),
}


def any_of(event_type: type[Event]) -> st.SearchStrategy[Event]:
    """Return a strategy for every event of a type; a type of field that it does not know is an error here."""
    hints = get_type_hints(event_type)
    return st.builds(event_type, **{field.name: VALUES[hints[field.name]] for field in fields(event_type)})


@pytest.mark.parametrize(("name", "version", "stored", "event"), SAMPLES, ids=lambda value: str(value)[:20])
def test_what_a_released_version_wrote_is_read_today(
    name: str, version: int, stored: str, event: Event
) -> None:
    assert event_of(name, version, json.loads(stored)) == event


@pytest.mark.parametrize(("name", "version", "stored", "event"), SAMPLES, ids=lambda value: str(value)[:20])
def test_todays_version_writes_what_the_sample_says(
    name: str, version: int, stored: str, event: Event
) -> None:
    if version == version_of(name):
        assert (name_of(event), written(event)) == (name, stored)


def test_every_version_of_every_event_has_a_sample() -> None:
    versions = {(name, version) for name in EVENT_TYPES for version in range(1, version_of(name) + 1)}

    assert {(name, version) for name, version, _, _ in SAMPLES} == versions


def test_every_event_has_a_name_and_is_frozen() -> None:
    assert set(EVENT_TYPES.values()) == set(get_args(Event))
    for _, _, _, event in SAMPLES:
        with pytest.raises(FrozenInstanceError):
            setattr(event, fields(event)[0].name, "another")


def test_upcasts_exist_only_for_events_that_exist() -> None:
    assert set(UPCASTS) <= set(EVENT_TYPES)


@given(event=st.one_of(*map(any_of, EVENT_TYPES.values())))
def test_an_event_survives_being_written_down(event: Event) -> None:
    name, text = name_of(event), written(event)

    assert event_of(name, version_of(name), json.loads(text)) == event
    assert dumps(json.loads(text)) == text == dumps(payload(event))


@given(event=st.one_of(*map(any_of, EVENT_TYPES.values())))
def test_an_event_is_written_down_on_one_line_of_utf_8(event: Event) -> None:
    assert "\n" not in written(event).encode().decode()


def _told_its_tool(state: State) -> State:
    return state | {"tool": "ingest"}


def _renamed(state: State) -> State:
    return {"tool": state["tool"], "observed_at": state["seen"]}


CHAIN: Upcasts = {"BatchStarted": (_told_its_tool, _renamed)}


@pytest.mark.parametrize(
    ("version", "stored"),
    [
        (1, {"seen": AT}),
        (2, {"seen": AT, "tool": "ingest"}),
        (3, {"observed_at": AT, "tool": "ingest"}),
    ],
)
def test_each_version_of_a_chain_of_upcasts_becomes_todays_event(version: int, stored: State) -> None:
    before = dict(stored)

    assert version_of("BatchStarted", CHAIN) == 3
    assert event_of("BatchStarted", version, stored, CHAIN) == BatchStarted("ingest", AT)
    assert upcast("BatchFinished", 1, stored, CHAIN) == stored == before


@pytest.mark.parametrize(
    ("name", "version"), [("DreamRemembered", 1), ("BatchStarted", 2), ("SourceRemoved", 99)]
)
def test_an_event_from_the_future_is_refused_with_its_name(name: str, version: int) -> None:
    with pytest.raises(UnknownEvent, match=re.escape(f"({name} version {version})")):
        event_of(name, version, {"observed_at": AT, "tool": "ingest"})
