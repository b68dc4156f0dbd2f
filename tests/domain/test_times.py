"""Times: an event time keeps its source's own words, and all of them can be compared."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronofile.domain.times import UnreadableTime, iso, own_clock, parse, parse_bound

offsets = st.integers(-14 * 60, 14 * 60).map(lambda minutes: timezone(timedelta(minutes=minutes)))
moments = st.datetimes(datetime(1970, 1, 2), datetime(9000, 1, 1), timezones=offsets)


@pytest.fixture(autouse=True, params=["UTC", "Europe/Zurich", "America/New_York"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Each test in three time zones: only what a person types depends on it."""
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield request.param
    monkeypatch.undo()
    time.tzset()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2026-05-08T14:30:00+02:00", datetime(2026, 5, 8, 12, 30, tzinfo=UTC)),
        ("2026-05-08T14:30:00Z", datetime(2026, 5, 8, 14, 30, tzinfo=UTC)),
        (" 2026-05-08 14:30 ", datetime(2026, 5, 8, 14, 30, tzinfo=UTC)),
        ("2026-05-08", datetime(2026, 5, 8, tzinfo=UTC)),
        ("0001-01-01T00:00:00+14:00", None),
        ("9999-12-31T23:00:00-14:00", None),
        ("yesterday", None),
        ("2026-02-30", None),
        ("", None),
        (None, None),
    ],
)
def test_an_event_time_is_compared_in_utc_and_a_local_one_counts_as_utc(
    text: str | None, expected: datetime | None
) -> None:
    assert parse(text) == expected


def test_an_event_time_as_its_own_clock_showed_it_keeps_its_offset_or_has_none() -> None:
    assert own_clock("2026-05-08T14:30:00+02:00") == datetime(
        2026, 5, 8, 14, 30, tzinfo=timezone(timedelta(hours=2))
    )
    assert own_clock("2026-05-08T14:30") == datetime(2026, 5, 8, 14, 30)
    assert own_clock("never") is own_clock("") is own_clock(None) is None


def test_a_bare_date_begins_with_its_first_moment_and_ends_with_its_last(zone: str) -> None:
    first, last = parse_bound("2026-05-08", end=False), parse_bound("2026-05-08", end=True)

    offset = {"UTC": 0, "Europe/Zurich": 2, "America/New_York": -4}[zone]
    assert first == datetime(2026, 5, 8, tzinfo=UTC) - timedelta(hours=offset)
    assert last - first == timedelta(days=1, microseconds=-1)


def test_a_day_on_which_the_clock_is_changed_ends_when_it_ends(zone: str) -> None:
    first, last = parse_bound("2026-03-29", end=False), parse_bound("2026-03-29", end=True)

    assert last - first == timedelta(hours=23 if zone == "Europe/Zurich" else 24, microseconds=-1)


def test_a_time_that_is_typed_is_local_unless_it_has_an_offset(zone: str) -> None:
    offset = {"UTC": 0, "Europe/Zurich": 2, "America/New_York": -4}[zone]

    for end in (True, False):
        assert parse_bound("2026-05-08T12:00+02:00", end=end) == datetime(2026, 5, 8, 10, tzinfo=UTC)
        local = parse_bound("2026-05-08T00:00", end=end)
        assert local == datetime(2026, 5, 8, tzinfo=UTC) - timedelta(hours=offset)


@pytest.mark.parametrize("text", ["20260508", "2026-W19-5"])
def test_other_spellings_of_a_date_end_with_the_day_too(text: str) -> None:
    assert parse_bound(text, end=True) == parse_bound("2026-05-08", end=True)


@pytest.mark.parametrize("text", ["yesterday", "", "2026-13-01", "12"])
def test_a_time_that_cannot_be_read_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(UnreadableTime, match="such as 2026-05-08"):
        parse_bound(text, end=True)


def test_a_time_that_is_outside_the_calendar_in_utc_is_the_calendars_edge() -> None:
    first, last = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)

    assert parse_bound("0001-01-01T00:00+14:00", end=False) == first
    assert parse_bound("9999-12-31T23:00-14:00", end=True) == last
    assert parse_bound("0001-01-01", end=False) - first < timedelta(days=1)
    assert last - parse_bound("9999-12-31", end=True) < timedelta(days=1)


@given(moment=moments)
def test_a_stored_moment_comes_back_and_sorts_as_text(moment: datetime) -> None:
    stored = iso(moment)

    assert datetime.fromisoformat(stored) == moment
    assert len(stored) == len("2026-05-08T12:00:00.000000+00:00")
    assert stored.endswith("+00:00")
    assert iso(moment + timedelta(microseconds=1)) > stored
