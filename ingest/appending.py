"""Appending: what was decided goes into the log, also when the database is away for a moment."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from chronofile.domain.envelope import Addition
from chronofile.domain.errors import DatabaseUnavailable
from chronofile.domain.ports import Log

PAUSES_S = (0.1, 0.3, 0.6, 1, 2, 3)
"""Between one try and the next; a server that was restarted is back within them."""


@dataclass(frozen=True, slots=True)
class Appending:
    """Appends to a log. Each append has a token of its own, which `new_id` makes."""

    log: Log
    new_id: Callable[[], str]
    pause: Callable[[float], None] = time.sleep

    def append(
        self,
        additions: Sequence[Addition],
        *,
        contents: Mapping[str, bytes] | None = None,
        alongside: Callable[[Any], None] | None = None,
    ) -> None:
        """Append as the log does; while the database is away, try again for some seconds.

        Where only the reply to the commit was lost, the token makes the next try recognise what is there, so
        that it is no conflict. Raises WrongExpectedVersion, LogBusy, and DatabaseUnavailable after the last try.
        """
        token = self.new_id()
        for pause_s in (*PAUSES_S, None):
            try:
                self.log.append(additions, contents=contents, alongside=alongside, token=token)
            except DatabaseUnavailable:
                if pause_s is None:
                    raise
                self.pause(pause_s)
            else:
                return
