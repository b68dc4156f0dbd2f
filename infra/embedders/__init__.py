"""The embedders, chosen by `provider:name`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from chronofile.infra.embedders.errors import UnknownEmbedder

if TYPE_CHECKING:
    from chronofile.domain.ports import Embedder

DEFAULT = "minilm"
KNOWN = (DEFAULT, "sentence-transformers:FOLDER_OR_NAME")


def embedder(name: str, *, threads: int | None = None, device: str = "auto") -> Embedder:
    """Return the embedder that `name` means; it loads its model when first used.

    `threads` is for the built-in model (default: one for each core), `device` for sentence-transformers.
    Raises UnknownEmbedder, which lists the known ones.
    """
    provider, _, model = name.partition(":")
    if name == DEFAULT:
        from chronofile.infra.embedders.minilm import MiniLM

        return MiniLM(threads=threads)
    if provider == "sentence-transformers" and model:
        from chronofile.infra.embedders.sentence_transformers import SentenceTransformers

        return SentenceTransformers(model, device=device)
    raise UnknownEmbedder(name, KNOWN)
