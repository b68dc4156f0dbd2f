"""Failures of a command: its exit status, and how it complains."""

from __future__ import annotations

import sys

from chronofile.domain.errors import BadRequest
from chronofile.domain.times import UnreadableTime

DONE, FAILED, WRONG_USAGE = 0, 1, 2


def status_of(error: Exception) -> int:
    """Return the exit status of an error: what was typed is wrong, or it could not be fulfilled."""
    return WRONG_USAGE if isinstance(error, BadRequest | UnreadableTime) else FAILED


def complain(sentence: str) -> None:
    """Say on standard error what is the matter."""
    sys.stderr.write(f"chronofile: {sentence}\n")


def interrupted() -> int:
    """Say that somebody stopped the command, and return its exit status."""
    complain("Stopped.")
    return FAILED
