"""Moments: times as exports write them, counted from 1970 or spelled."""

from __future__ import annotations

from datetime import datetime

from chronofile.domain.formats.records import epoch_time


def moment(value: object) -> str | None:
    """Return a time as ISO-8601: one that is spelled so as it stands, a counted one in UTC; else None."""
    if isinstance(value, str) and _is_spelled(value):
        return value
    return epoch_time(value)


def _is_spelled(value: str) -> bool:
    # Digits alone are a count, although ISO-8601 has dates without dashes.
    if "-" not in value[1:]:
        return False
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return False
    return True
