"""Models: loaded when first used, each once a process, and never taken for another than a generation's own."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from chronofile.domain.errors import ChronofileError
from chronofile.infra.embedders import embedder

if TYPE_CHECKING:
    from chronofile.domain.ports import Embedder, StaticVectors


class EmbedderChanged(ChronofileError):
    """The embedder is not the one that the serving vectors were computed with, though its name is the same:"""


class LoadedModels:
    """The embedders by name, and the static vectors; `make` and `make_static` are where they come from."""

    def __init__(
        self,
        make: Callable[[str], Embedder] = embedder,
        make_static: Callable[[], StaticVectors] | None = None,
    ) -> None:
        self._make, self._make_static = make, make_static or _static_vectors
        self._embedders: dict[str, Embedder] = {}
        self._static: StaticVectors | None = None
        self._lock = threading.Lock()

    @property
    def static(self) -> StaticVectors:
        with self._lock:
            if self._static is None:
                self._static = self._make_static()
            return self._static

    def named(self, name: str) -> Embedder:
        """Return the embedder that a configuration names."""
        with self._lock:
            if name not in self._embedders:
                self._embedders[name] = self._make(name)
            return self._embedders[name]

    def of_generation(self, configuration: Mapping[str, Any]) -> Embedder:
        """Return the embedder that a generation of vectors was built with; raises EmbedderChanged."""
        found = self.named(str(configuration["model"]))
        if found.identity != configuration["embedder"]:
            raise EmbedderChanged(f"{found.identity} instead of {configuration['embedder']}.")
        return found


def _static_vectors() -> StaticVectors:
    from chronofile.infra.embedders.static import L2Supercat

    return L2Supercat()
