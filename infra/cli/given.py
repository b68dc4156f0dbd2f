"""Given: words on the command line that have to say something; one from a script may come from an unset variable."""

from __future__ import annotations

from chronofile.domain.errors import BadRequest


def require_words(name: str, *values: str | None) -> None:
    """Raise BadRequest where one of the values is there and says nothing."""
    if any(value is not None and not value.strip() for value in values):
        raise BadRequest(f"{name} is empty.")
