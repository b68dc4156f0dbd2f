"""Sidechains: the conversations with sub-agents inside a main session's file, told apart by their roots."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from chronofile.domain.formats.records import Record, text_field
from chronofile.domain.turns import State

LINKS_MAX = 512
"""Sidechain records whose root is remembered; the one that nothing followed for longest is dropped first."""
_ROOT_CHARS = 8


@dataclass(slots=True)
class Chains:
    """Which sidechain each of the last records belongs to.

    `is_aside` tells whether the source's first record is a sidechain's, so that the source is a
    sub-agent's own file and has no sidechains inside; None before any record.
    """

    is_aside: bool | None = None
    roots: dict[str, str] = field(default_factory=dict)

    @classmethod
    def resume(cls, state: State | None) -> Chains:
        return cls() if state is None else cls(state["is_aside"], dict(state["roots"]))

    def state(self) -> dict[str, Any]:
        # A list, since what is stored does not keep the order of a mapping.
        return {"is_aside": self.is_aside, "roots": [list(entry) for entry in self.roots.items()]}

    def session(self, record: Record) -> str | None:
        """Return the session of a sidechain's record inside a main file, None where it is the source's own.

        It is `<session>/agent-<id>` where the record names its agent, else `<session>/sidechain-<root>`,
        the root being the first 8 characters of the id of the chain's first record.
        """
        is_sidechain = record.get("isSidechain")
        if not isinstance(is_sidechain, bool):
            return None
        if self.is_aside is None:
            self.is_aside = is_sidechain
        if self.is_aside or not is_sidechain:
            return None
        session = text_field(record, "sessionId")
        agent = text_field(record, "agentId")
        own = f"agent-{agent}" if agent else f"sidechain-{self._root(record)}"
        return f"{session}/{own}" if session else own

    def _root(self, record: Record) -> str:
        parent, uuid = text_field(record, "parentUuid"), text_field(record, "uuid")
        root = self.roots.pop(parent, None) if parent else None
        if parent and root:
            # Taken out and put in again, a parent counts as used just now.
            self.roots[parent] = root
        root = root or self.roots.get(uuid or "") or (uuid or parent or "unknown")[:_ROOT_CHARS]
        if uuid:
            self.roots.setdefault(uuid, root)
        while len(self.roots) > LINKS_MAX:
            del self.roots[next(iter(self.roots))]
        return root
