"""Kinds of files: what a file is by its name and its format, and how its text is cut."""

from __future__ import annotations

from pathlib import PurePosixPath

from identify import identify

from chronofile.domain.documents import DOCUMENTS, WRITTEN
from chronofile.domain.passages import kind_of
from chronofile.domain.sections import TextKind

CHAT, TEXT = "chat", "text"

_NO_KINDS = frozenset(
    {"binary", "executable", "file", "header", "non-executable", "plain-text", "symlink", "text"}
)
"""What a file's name also tells, and is no kind: a header of C is C."""
_NOTEBOOK = {"jupyter": "ipynb"}
_NARROWER = ("ipynb", "rst", "cmake", "c")
"""Where a name tells of several kinds, one of these wins."""


def file_kind(name: str, format_name: str | None, *, was_document: bool = False) -> str:
    """Return what a file is: a document's format, else the kind that its name tells, `text` where that tells none.

    What is called a document and is a text is none, unless it `was_document`: only the text is kept of one with a secret.
    """
    if format_name in DOCUMENTS:
        return str(format_name)
    suffix = PurePosixPath(name).suffix.lower().removeprefix(".")
    if suffix in DOCUMENTS - WRITTEN:
        return suffix if was_document else TEXT
    kinds = {_NOTEBOOK.get(kind, kind) for kind in identify.tags_from_filename(name)} - _NO_KINDS
    chosen = next((kind for kind in _NARROWER if kind in kinds), None)
    return chosen or min(kinds, default=TEXT)


def text_kind(name: str, format_name: str | None) -> TextKind:
    """Return how a file's text is cut. What is extracted from a document has the headings of Markdown."""
    return "markdown" if format_name in DOCUMENTS else kind_of(name)
