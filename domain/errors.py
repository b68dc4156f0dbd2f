"""Errors that a caller can do something about; each first line is the message that a person reads."""

from __future__ import annotations


class ChronofileError(Exception):
    """Chronofile could not do what was asked."""

    def __init__(self, detail: str = "") -> None:
        sentence = (type(self).__doc__ or "").split("\n", 1)[0]
        super().__init__(f"{sentence} {detail}".strip())
        self.detail = detail


class WrongExpectedVersion(ChronofileError):
    """Somebody else appended to the stream first: read it again and decide anew."""

    def __init__(self, streams: tuple[str, ...]) -> None:
        super().__init__(", ".join(streams[:5]))
        self.streams = streams


class LogBusy(ChronofileError):
    """Another process held the log's lock for too long; nothing was written, try again."""


class DatabaseUnavailable(ChronofileError):
    """The database does not answer; nothing was lost, try again when it does."""


class UnknownScope(ChronofileError):
    """There is no such scope; `chronofile topics` lists those there are."""


class UnknownSource(ChronofileError):
    """There is no such source; `chronofile sources` lists those there are."""


class UnknownPassage(ChronofileError):
    """There is no passage with this id; take one from the hits of a search."""


class BadRequest(ChronofileError):
    """The request cannot be understood:"""


class ProjectionStopped(ChronofileError):
    """A projection cannot apply an event and waits there; `chronofile status` shows which and where."""

    def __init__(self, projection: str, position: int, error: str) -> None:
        super().__init__(f"({projection} at position {position}: {error})")
        self.projection, self.position, self.error = projection, position, error
