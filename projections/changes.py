"""Changes: what a page of events means to whoever is built from the passages."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from chronofile.domain.envelope import Page
from chronofile.projections.bulk import among
from chronofile.projections.passages import began_in, blocks_of, over_in, passage, rederived, within

BEGAN_READ_MAX = 5_000
"""Passages that are read and derived from together: an undo shows any number of them again at one position."""


@dataclass(frozen=True, slots=True)
class Changes:
    """The numbers of passages that began, and (no, recorded_to) of those that ended.

    `sources` are those of which something was erased on the page: what is held in their `blocks` is to be
    forgotten first, and `began` and `ended` tell all that there is of them. `is_behind` says that the passages
    have been derived anew for an erasure that is still to come, so that a number may be held of what is gone.
    """

    began: Sequence[int]
    ended: Sequence[tuple[int, int]]
    sources: Sequence[str]
    blocks: Sequence[int]
    is_behind: bool

    def rows(self, conn: sa.Connection) -> Iterator[Sequence[sa.Row[Any]]]:
        """Yield the passages that began, in the order of their numbers, some at a time."""
        for start in range(0, len(self.began), BEGAN_READ_MAX):
            some = among(passage.c.no, self.began[start : start + BEGAN_READ_MAX])
            yield conn.execute(sa.select(passage).where(some).order_by(passage.c.no)).all()

    def stale(self, conn: sa.Connection, column: sa.Column[Any]) -> list[int]:
        """Return which of the passages that a table holds are to be forgotten first; `column` is their number."""
        found: set[int] = set()
        if self.blocks:
            inside = within(blocks_of(self.blocks), column)
            found |= set(conn.scalars(sa.select(column).where(inside)))
        if self.is_behind:
            found |= set(conn.scalars(sa.select(column).where(among(column, self.began))))
        return sorted(found)


def changes_of(conn: sa.Connection, page: Page) -> Changes:
    """Return what a page changed of the passages, which are there at least up to its end."""
    ahead = conn.execute(sa.select(rederived).where(rederived.c.position > page.after)).all()
    here = [row for row in ahead if row.position <= page.position]
    sources = sorted({row.source for row in here})
    began, over = began_in(page.after, page.position), over_in(page.after, page.position)
    if sources:
        of_them = among(passage.c.source, sources)
        began = sa.or_(began, sa.and_(of_them, began_in(0, page.position)))
        over = sa.or_(over, sa.and_(of_them, over_in(0, page.position)))
    ended = sa.select(passage.c.no, passage.c.recorded_to).where(over).order_by(passage.c.no)
    return Changes(
        began=sorted(conn.scalars(sa.select(passage.c.no).where(began))),
        ended=[(row.no, row.recorded_to) for row in conn.execute(ended)],
        sources=sources,
        blocks=sorted({row.block for row in here}),
        is_behind=len(here) < len(ahead),
    )
