"""The recipe: what of a passage, besides its text, goes into its vector."""

from __future__ import annotations

from datetime import datetime

from chronofile.projections.words import MONTHS

RECIPE = "speaker-day-1"
"""The recipe's name, part of an embedder's identity: vectors of two recipes are not compared."""


def embedding_text(
    text: str, *, speaker: str | None = None, at: datetime | None = None, title: str | None = None
) -> str:
    """Return the text whose vector stands for a passage: `Ann (8 May 2023): text`, with what is known of it.

    The day is written as people write it, after the speaker. `title` is a file's path or a heading; it
    stands where the speaker would, and before one that is there too.
    """
    day = f"({at.day} {MONTHS[at.month - 1]} {at.year})" if at else None
    head = " ".join(part for part in (title, speaker, day) if part)
    return f"{head}: {text}" if head else text
