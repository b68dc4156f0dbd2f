"""Flushes: what made one capture of a watch, and what it came to."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from chronofile.domain.rejection import REJECTION_SENTENCES
from chronofile.domain.wording import counted
from chronofile.infra.reports import taken_out

if TYPE_CHECKING:
    from chronofile.ingest.capture import Captured

Reason = Literal["start", "changes", "clock", "returned", "lost", "retry"]
"""What made it: everything at the start, changes that were told, the clock, folders that came back, changes of
which nothing is known, or a failure before."""


@dataclass(frozen=True, slots=True)
class Flush:
    """One capture of a watch, which is one batch. `took_s` is until it was searchable."""

    reason: Reason
    captured: Captured
    took_s: float

    @property
    def is_news(self) -> bool:
        """Whether there is something to say of it."""
        return self.captured.batch is not None or self.reason == "start"

    def values(self) -> dict[str, Any]:
        """Return the flush as JSON values."""
        captured = self.captured
        secrets, erased_passages = taken_out(captured)
        return {
            "reason": self.reason,
            "batch": captured.batch,
            "sources": len(captured.sources),
            "revisions": captured.revisions,
            "unchanged": captured.unchanged,
            "moved": captured.moved,
            "removed": captured.removed,
            "rejected": [
                {
                    "path": str(found.path),
                    "reason": found.reason,
                    "detail": found.detail,
                    "sentence": REJECTION_SENTENCES[found.reason],
                }
                for found in captured.rejected
            ],
            "redactions": secrets,
            "erased_passages": erased_passages,
            "waiting_bytes": captured.waiting_bytes,
            "position": captured.position,
            "took_s": round(self.took_s, 3),
        }

    def sentence(self) -> str:
        """Return the flush as one line for people."""
        captured = self.captured
        parts = []
        if captured.revisions or self.reason == "start":
            sources = counted(len(captured.sources), "source")
            parts.append(f"{counted(captured.revisions, 'revision')} of {sources} captured")
        others = {
            "moved": captured.moved,
            "removed": captured.removed,
            "rejected": len(captured.rejected),
            "unchanged": captured.unchanged if self.reason == "start" else 0,
        }
        parts += [f"{count:,} {name}" for name, count in others.items() if count]
        secrets, erased_passages = taken_out(captured)
        if secrets:
            parts.append(f"{counted(secrets, 'secret')} redacted")
        if erased_passages:
            parts.append(f"{counted(erased_passages, 'erased passage')} left out")
        said = ", ".join(parts) or "Nothing but where things are was captured"
        return f"{said} in {self.took_s:.2f} s" + (f" (batch {captured.batch})" if captured.batch else "")
