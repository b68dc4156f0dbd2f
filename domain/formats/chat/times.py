"""Times as chats write them: dates whose order of day and month only the whole file can tell."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise
from typing import Literal

Order = Literal["day", "month", "year"]
"""What stands first in a date."""

_DATED = re.compile(
    r"(?P<a>\d{1,4})(?P<by>[./-])(?P<b>\d{1,2})[./-](?P<c>\d{2,4}),?\s+"
    r"(?P<hour>\d{1,2})[:.](?P<minute>\d{2})(?:[:.](?P<second>\d{2}))?[\s\u202f\u00a0]*(?P<half>[AaPp])?.*"
)


def times_of(stamps: Sequence[str | None]) -> list[str | None]:
    """Return the times of a chat as ISO-8601, without a zone where none stands there; None where one is unsure.

    The order of day and month is the one in which all dates of the chat exist; where both are possible, the one in which
    they do not go back; else nobody knows, and there is no time.
    """
    order = _order([found for stamp in stamps if stamp and (found := _DATED.fullmatch(stamp))])
    return [None if stamp is None else _iso(stamp) or _moment(stamp, order) for stamp in stamps]


def _order(dates: Sequence[re.Match[str]]) -> Order | None:
    if all(len(date["a"]) == 4 for date in dates):
        return "year"
    if any(date["by"] == "." for date in dates):
        return "day"
    orders: tuple[Order, ...] = ("day", "month")
    read = {order: [_read(date, order) for date in dates] for order in orders}
    possible: list[Order] = [order for order in orders if None not in read[order]]
    if len(possible) == 2 and read["day"] != read["month"]:
        possible = [order for order in possible if _goes_on([one for one in read[order] if one])]
    is_sure = len(possible) == 1 or read["day"] == read["month"]
    return possible[0] if possible and is_sure else None


def _goes_on(times: Sequence[datetime]) -> bool:
    return all(one <= other for one, other in pairwise(times))


def _iso(stamp: str) -> str | None:
    text = stamp.strip().replace(" UTC", "Z")
    if not re.match(r"\d{4}-", text):
        return None
    try:
        datetime.fromisoformat(text)
    except ValueError:
        return None
    return text


def _moment(stamp: str, order: Order | None) -> str | None:
    found = _DATED.fullmatch(stamp)
    moment = _read(found, order) if found and order else None
    return moment.isoformat() if moment else None


def _read(date: re.Match[str], order: Order) -> datetime | None:
    first, second, third = int(date["a"]), int(date["b"]), int(date["c"])
    year, month, day = (
        (first, second, third)
        if order == "year" or len(date["a"]) == 4
        else (third, second, first)
        if order == "day"
        else (third, first, second)
    )
    hour = int(date["hour"])
    if date["half"]:
        hour = hour % 12 + (12 if date["half"] in "pP" else 0)
    try:
        return datetime(  # noqa: DTZ001 - Nobody knows the zone; what stands there is local time.
            year + 2000 if year < 100 else year,
            month,
            day,
            hour,
            int(date["minute"]),
            int(date["second"] or 0),
        )
    except ValueError:
        return None
