"""The model that languages are told by: unpacked from its package, or mapped from a file that it was unpacked to."""

from __future__ import annotations

import io
import lzma
import mmap
import os
import shutil
import struct
import tempfile
import zipfile
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import structlog

_PACKAGE = "py3langid"
_CHUNK_BYTES = 1 << 20
_ENTRY_BYTES = 30
"""What stands before an entry's name in a zip archive; the lengths of the name and of what follows are its last four."""
_HEADER_BYTES_MAX = 4_096


def unpacked() -> Any:
    """Return the model, unpacked into memory."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


def mapped(folder: Path) -> Any | None:
    """Return the model mapped from a file in the folder, which is written where it is not there or damaged.

    None where it can be neither read nor written. Processes that map the same file share its memory.
    """
    path = folder / f"{_PACKAGE}-{version(_PACKAGE)}.npz"
    try:
        return _mapped(path)
    except FileNotFoundError:
        pass
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        structlog.get_logger().warning(
            "the unpacked language model is written anew", error=type(error).__name__
        )
    try:
        _write(path)
        return _mapped(path)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile, lzma.LZMAError):
        return None


def _write(path: Path) -> None:
    """Unpack the model to a path, where it appears whole; another process may do the same."""
    from py3langid.langid import MODEL_DIR, MODEL_FILE

    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # It is readable by its owner alone, as all that the home holds.
    descriptor, name = tempfile.mkstemp(prefix=f"{path.name}.", suffix=".new", dir=path.parent)
    try:
        with lzma.open(MODEL_DIR / MODEL_FILE) as packed, os.fdopen(descriptor, "wb") as file:
            shutil.copyfileobj(packed, file, _CHUNK_BYTES)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink()
        raise


def _mapped(path: Path) -> Any:
    """Raises what reading the file raises, and ValueError where it does not hold what was written."""
    from py3langid.langid import LanguageIdentifier

    with path.open("rb") as file:
        content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        with zipfile.ZipFile(file) as archive:
            if (damaged := archive.testzip()) is not None:
                raise ValueError(damaged)
            arrays = {entry.filename: _array(content, entry) for entry in archive.infolist()}
    return LanguageIdentifier(
        arrays["ptc.npy"],
        arrays["pc.npy"],
        arrays["classes.npy"].tolist(),
        arrays["nextmove.npy"].data,
        arrays["out_feat.npy"].tolist(),
        norm_probs=True,
        tk_row=arrays["nextmove_row.npy"].tolist(),
    )


def _array(content: mmap.mmap, entry: zipfile.ZipInfo) -> np.ndarray[Any, Any]:
    """Return an array as it lies in the archive, of which nothing is copied. Raises ValueError."""
    name_bytes, extra_bytes = struct.unpack_from("<HH", content, entry.header_offset + _ENTRY_BYTES - 4)
    start = entry.header_offset + _ENTRY_BYTES + name_bytes + extra_bytes
    if entry.compress_type != zipfile.ZIP_STORED:
        raise ValueError(entry.filename)
    header = io.BytesIO(content[start : start + _HEADER_BYTES_MAX])
    np.lib.format.read_magic(header)
    shape, _, kind = np.lib.format.read_array_header_1_0(header)
    return np.frombuffer(content, kind, int(np.prod(shape)), start + header.tell()).reshape(shape)
