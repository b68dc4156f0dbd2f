"""Contents that an append will bring, collected while it is decided."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

KeyOf = Callable[[bytes], str]


@dataclass(frozen=True, slots=True)
class Gathered:
    """Gives each content its key and keeps it until the append."""

    key_of: KeyOf
    contents: dict[str, bytes] = field(default_factory=dict)

    def add(self, content: bytes) -> str:
        key = self.key_of(content)
        self.contents[key] = content
        return key

    def text(self, text: str) -> str:
        """Add a text; a path's stray bytes and lone surrogates come back as they were."""
        return self.add(text.encode("utf-8", "surrogatepass"))
