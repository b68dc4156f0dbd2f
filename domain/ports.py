"""What the inner layers need from outside, as protocols; `infra/wiring.py` hands over the real things."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

from chronofile.domain.documents import Extracted
from chronofile.domain.envelope import Addition, Recorded

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray

    Vectors = NDArray[float32]


class Embedder(Protocol):
    """Texts in, unit vectors out."""

    @property
    def identity(self) -> str:
        """Name, dimension and weights hash, as one string: vectors of two identities are never compared."""
        ...

    @property
    def dimension(self) -> int: ...

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one L2-normalised float32 row for each text, in order: shape (len(texts), dimension)."""
        ...


class Extractor(Protocol):
    """Documents in, texts out; the same document always gives the same text."""

    def extract(self, content: bytes, format_name: str) -> Extracted:
        """Return the text of a document, given its bytes and which document it is. Raises NotExtracted."""
        ...


LanguageOf = Callable[[str], str | None]
"""Returns the natural language that a text is in, as ISO 639-1 has it; None where that cannot be told."""


class StaticVectors(Protocol):
    """Token vectors that need no model run: a text is the mean of its tokens' vectors."""

    @property
    def identity(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    def tokens(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the token ids of each text, without special tokens, cut at a fixed number."""
        ...

    def pool(self, tokens: Sequence[Sequence[int]]) -> Vectors:
        """Return one L2-normalised float32 row for each list of token ids (zeros for an empty one)."""
        ...

    def rows(self, tokens: Sequence[int]) -> Vectors:
        """Return the L2-normalised vector of each token: shape (len(tokens), dimension)."""
        ...


class Log(Protocol):
    """The log and the write side's own tables, as a capture sees them."""

    def append(
        self,
        additions: Sequence[Addition],
        *,
        contents: Mapping[str, bytes] | None = None,
        alongside: Callable[[Any], None] | None = None,
        token: str | None = None,
    ) -> list[int]:
        """Append to several streams, with contents and what `alongside` writes, in one transaction.

        Raises WrongExpectedVersion where somebody else was first, and LogBusy.
        """
        ...

    def read_many(self, streams: Sequence[str]) -> Mapping[str, Sequence[Recorded]]: ...

    def position(self) -> int: ...

    def cursor(self) -> AbstractContextManager[Any]:
        """Return a cursor of dict rows, each statement a transaction of its own."""
        ...
