"""Static token vectors: a text is the mean of its tokens' rows in a fixed table, thousands of texts a second."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from chronofile.infra.embedders.texts import token_ids
from chronofile.infra.embedders.weights import installed_file, verified

if TYPE_CHECKING:
    from numpy import float16, float32
    from numpy.typing import NDArray

    from chronofile.domain.ports import Vectors

DIMENSION = 256
VOCABULARY_SIZE = 32_000
TABLE_SHA256 = "64b47a2dc493cb8e85944076601189739852d7b64e0e1eedcb1937a251cd9fd5"
TOKENIZER_SHA256 = "93248f2a9ec36c7b35f700a033d5f36228aae48db61aee31007fa49062cdeb68"
IDENTITY = f"static-l2@{DIMENSION}#{TABLE_SHA256[:16]}"

TOKENS_MAX = 512
POOLED_TEXTS = 2_000
TEXT_CHARS_MAX = TOKENS_MAX * 17  # The longest token has 16 characters, so this cuts none of the first 512.


@dataclass(frozen=True, slots=True)
class _Loaded:
    tokenizer: Any
    table: NDArray[float16]
    norms: NDArray[float32]


class L2Supercat:
    """The StaticVectors of the `l2_supercat_256` table that the wordllama wheel carries (32,000 x 256, MIT).

    The table stays as float16, 16 MB instead of 32, and rows become float32 as they are read. Pooling is the
    plain mean that wordllama computes. Loads at the first use (.2 s). Safe to call from several threads.
    """

    def __init__(self, *, table: Path | None = None) -> None:
        """Take another place of the table; its hash must be the same."""
        self._table = table
        self._lock = Lock()
        self._loaded_once: _Loaded | None = None

    @property
    def identity(self) -> str:
        return IDENTITY

    @property
    def dimension(self) -> int:
        return DIMENSION

    def tokens(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of each text's first 512 tokens, in [0, 32000), without special tokens."""
        return token_ids(self._loaded().tokenizer, texts, TEXT_CHARS_MAX, special=False)

    def pool(self, tokens: Sequence[Sequence[int]]) -> Vectors:
        """Return one unit float32 row for each list of token ids, zeros for an empty one: (len(tokens), 256)."""
        import numpy as np

        table = self._loaded().table
        pooled = np.zeros((len(tokens), DIMENSION), dtype=np.float32)
        for start in range(0, len(tokens), POOLED_TEXTS):
            part = [np.asarray(ids, dtype=np.int64) for ids in tokens[start : start + POOLED_TEXTS]]
            # Few distinct tokens make many texts: each becomes float32 once.
            distinct, places = np.unique(np.concatenate(part), return_inverse=True)
            rows = table.take(distinct, axis=0).astype(np.float32)
            ends = np.cumsum([len(ids) for ids in part])
            for row, (ids, end) in enumerate(zip(part, ends, strict=True), start=start):
                if len(ids):
                    # One text at a time stays in the cache, which np.add.reduceat over all of them does not.
                    rows.take(places[end - len(ids) : end], axis=0).sum(axis=0, out=pooled[row])
        norms = np.linalg.norm(pooled, axis=1, keepdims=True)
        np.divide(pooled, norms, out=pooled, where=norms > 0)
        return pooled

    def rows(self, tokens: Sequence[int]) -> Vectors:
        """Return the unit vector of each token: float32, shape (len(tokens), 256)."""
        import numpy as np

        loaded = self._loaded()
        ids = np.asarray(tokens, dtype=np.int64)
        rows: Vectors = loaded.table[ids].astype(np.float32)
        rows /= loaded.norms[ids]
        return rows

    def _loaded(self) -> _Loaded:
        with self._lock:
            if self._loaded_once is None:
                self._loaded_once = _load(self._table)
            return self._loaded_once


def _load(table_path: Path | None) -> _Loaded:
    import numpy as np
    from safetensors import safe_open
    from tokenizers import Tokenizer

    path = table_path or _wordllama_file("weights/l2_supercat_256.safetensors")
    with safe_open(str(verified(path, TABLE_SHA256)), framework="numpy") as file:
        table: NDArray[float16] = file.get_tensor("embedding.weight")
    assert table.shape == (VOCABULARY_SIZE, DIMENSION)
    norms = np.empty((VOCABULARY_SIZE, 1), dtype=np.float32)
    for start in range(0, VOCABULARY_SIZE, 1_000):  # In parts: the whole as float32 would take 32 MB more.
        part = table[start : start + 1_000].astype(np.float32)
        norms[start : start + 1_000] = np.linalg.norm(part, axis=1, keepdims=True)

    tokenizer_path = _wordllama_file("tokenizers/l2_supercat_tokenizer_config.json")
    tokenizer = Tokenizer.from_file(str(verified(tokenizer_path, TOKENIZER_SHA256)))
    tokenizer.no_padding()
    tokenizer.enable_truncation(TOKENS_MAX)
    return _Loaded(tokenizer, table, norms)


def _wordllama_file(relative: str) -> Path:
    return installed_file("wordllama", "wordllama", relative)
