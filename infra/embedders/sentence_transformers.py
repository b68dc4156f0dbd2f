"""Any model that sentence-transformers can load, from a folder or a hub; needs the `[torch]` extra."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

from chronofile.infra.embedders.errors import MissingExtra, UnusableModel
from chronofile.infra.embedders.texts import encodable
from chronofile.infra.embedders.vectors import unit_rows
from chronofile.infra.embedders.weights import file_sha256

if TYPE_CHECKING:
    from chronofile.domain.ports import Vectors

TEXT_CHARS_MAX = 65_536  # Models of this kind read up to 8,192 tokens.
BATCH_TEXTS = 32
OTHER_RUNTIMES = frozenset(
    {"onnx", "openvino"}
)  # Folders with the same model for runtimes that are not used.


@dataclass(frozen=True, slots=True)
class _Loaded:
    model: Any
    dimension: int
    weights_sha256: str


class SentenceTransformers:
    """An Embedder over a sentence-transformers model; it is loaded when first needed.

    `name` is a folder (absolute, relative with a `/` in front or `~`, or any that exists) or a hub's name. The
    device is `auto` (an accelerator where there is one) or one of torch's names, such as `cpu`.
    """

    def __init__(self, name: str, *, device: str = "auto") -> None:
        self._name = name
        self._device = None if device == "auto" else device
        self._lock = Lock()
        self._loaded_once: _Loaded | None = None

    @property
    def identity(self) -> str:
        """The model's own name, dimension and weights hash; a folder that moves keeps its identity."""
        loaded = self._loaded()
        name = Path(self._name).name if is_folder(self._name) else self._name
        return f"sentence-transformers:{name}@{loaded.dimension}#{loaded.weights_sha256[:16]}"

    @property
    def dimension(self) -> int:
        return self._loaded().dimension

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Return one unit row per text, in order: float32, shape (len(texts), dimension).

        Raises MissingExtra, UnusableModel (at the first call) or InvalidVectors.
        """
        import numpy as np

        loaded = self._loaded()
        if not texts:
            return np.empty((0, loaded.dimension), dtype=np.float32)
        rows = loaded.model.encode(
            encodable(texts, TEXT_CHARS_MAX),
            batch_size=BATCH_TEXTS,
            convert_to_numpy=True,
            show_progress_bar=False,
        )
        return unit_rows(rows, len(texts), loaded.dimension)

    def _loaded(self) -> _Loaded:
        with self._lock:
            if self._loaded_once is None:
                self._loaded_once = _load(self._name, self._device)
            return self._loaded_once


def is_folder(name: str) -> bool:
    """Whether the name means a place on this machine and not a hub's model."""
    return name.startswith(("/", "./", "../", "~")) or Path(name).is_dir()


def weights_sha256(folder: Path) -> str:
    """Return the hash of a model folder's weights: of the one file, or of the list of their names and hashes.

    Raises UnusableModel where there are none.
    """
    files = sorted(path for path in folder.rglob("*") if _is_weights(path, folder))
    if not files:
        raise UnusableModel(str(folder), "It holds no *.safetensors and no pytorch_model*.bin.")
    if len(files) == 1:
        return file_sha256(files[0])
    lines = [f"{file_sha256(path)}  {path.relative_to(folder).as_posix()}\n" for path in files]
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def _is_weights(path: Path, folder: Path) -> bool:
    if OTHER_RUNTIMES.intersection(path.relative_to(folder).parts):
        return False
    if path.suffix == ".safetensors":
        return True
    # Where both are there, sentence-transformers reads the safetensors.
    return path.match("pytorch_model*.bin") and not any(path.parent.glob("*.safetensors"))


def _load(name: str, device: str | None) -> _Loaded:
    if find_spec("sentence_transformers") is None:
        raise MissingExtra("sentence-transformers", "torch")
    folder = _checked_folder(name) if is_folder(name) else None

    library = import_module("sentence_transformers")
    if not sys.stderr.isatty():
        import_module("transformers.utils.logging").disable_progress_bar()
    try:
        model = library.SentenceTransformer(str(folder or name), device=device)
    except (OSError, ValueError, KeyError) as error:
        raise UnusableModel(name, str(error)) from error
    # Later 5.x versions name it without "sentence".
    measured = getattr(model, "get_embedding_dimension", None) or model.get_sentence_embedding_dimension
    dimension = measured()
    if not dimension:
        raise UnusableModel(name, "It does not say how long its vectors are.")
    return _Loaded(model, int(dimension), weights_sha256(folder or _hub_snapshot(name)))


def _checked_folder(name: str) -> Path:
    folder = Path(name).expanduser()
    if not folder.is_dir():
        raise UnusableModel(name, "There is no such folder.")
    if not any((folder / known).is_file() for known in ("modules.json", "config.json")):
        raise UnusableModel(name, "The folder holds no modules.json and no config.json.")
    return folder


def _hub_snapshot(name: str) -> Path:
    # The model has just been loaded, so its snapshot is in the hub's cache and no network is needed.
    from huggingface_hub import snapshot_download

    return Path(snapshot_download(name, local_files_only=True))
