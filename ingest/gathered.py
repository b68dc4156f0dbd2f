"""Contents that an append will bring, collected while it is decided."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from chronofile.domain.identity import encoded

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
        return self.add(encoded(text))


def text_key(key_of: KeyOf, text: str) -> str:
    """Return the key that a text has as a content, which it need not become."""
    return key_of(encoded(text))
