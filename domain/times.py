"""Times: when it happened, when we saw it, when it was recorded.

An event time keeps its source's own words: with its offset where that is known, without one where the
source gave local time. To compare two of them, a local time counts as UTC, so that the same log gives the
same rows in every time zone.
"""

from __future__ import annotations

from datetime import UTC, datetime, time, timedelta

from chronofile.domain.errors import ChronofileError

FIRST, LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)


class UnreadableTime(ChronofileError):
    """A time must be ISO-8601, such as 2026-05-08 or 2026-05-08T14:30:00+02:00; this one cannot be read:"""


def parse(text: str | None) -> datetime | None:
    """Return an event time to compare by, aware and in UTC; None where there is none or it is unreadable."""
    if not text:
        return None
    try:
        found = datetime.fromisoformat(text.strip())
        return (found.replace(tzinfo=UTC) if found.tzinfo is None else found).astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def own_clock(text: str | None) -> datetime | None:
    """Return an event time as its source's own clock showed it; None where there is none or it is unreadable."""
    try:
        return datetime.fromisoformat(text.strip()) if text else None
    except ValueError:
        return None


def parse_bound(text: str, *, end: bool) -> datetime:
    """Return a point in time that a person typed. A bare date is its first moment, or its last with `end`.

    A time without an offset is local time, as the person at the terminal means it. What is outside the
    calendar once it is in UTC is the calendar's edge. Raises UnreadableTime.
    """
    try:
        found = datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise UnreadableTime(repr(text)) from error
    if len(text.strip()) <= len("2026-05-08") and found.time() == time.min and end:
        found += timedelta(days=1, microseconds=-1)
    try:
        return found.astimezone(UTC)
    except (ValueError, OverflowError):
        return FIRST if found.year == 1 else LAST


def iso(moment: datetime) -> str:
    """Return the moment as stored: ISO-8601 in UTC with microseconds."""
    return moment.astimezone(UTC).isoformat(timespec="microseconds")
