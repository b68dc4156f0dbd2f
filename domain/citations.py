"""Citations: how an event points at a text without holding it.

A passage's id changes when a parser gets better; a citation still resolves, because it names the bytes.
"""

from __future__ import annotations

from dataclasses import dataclass

from chronofile.domain.events import ContentKey


@dataclass(frozen=True, slots=True)
class Citation:
    """The code points `[start, end)` of a turn's text, or of the decoded file where `turn` is None."""

    source: str
    revision: int
    turn: str | None
    start: int
    end: int
    content: ContentKey

    def slice(self, text: str) -> str:
        """Return the cited words of the turn's or file's whole text."""
        return text[self.start : self.end]
