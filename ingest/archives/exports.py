"""Exports: the files of an unpacked export that stand beside its conversations and hold none of their own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from types import MappingProxyType

from chronofile.domain.formats import recognise
from chronofile.domain.rejection import NotRead
from chronofile.ingest.archives.unpacked import PassedOver, Unpacked
from chronofile.ingest.reading import sniff

CONVERSATIONS = "conversations*.json"
"""What the file is called, or the files, in which an export lists its conversations."""
FILES_MAX = 8
"""How many files of that name are looked into."""
BESIDE: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "chatgpt": frozenset(
            {
                "chat.html",
                "conversation_asset_file_names.json",
                "export_manifest.json",
                "library_files.json",
                "message_feedback.json",
                "model_comparisons.json",
                "shared_conversations.json",
                "shopping.json",
                "sora.json",
                "user.json",
                "user_settings.json",
            }
        ),
        "claude-ai": frozenset({"login_history.json", "users.json"}),
    }
)
"""By format: files about an account, lists of what is elsewhere, and the same conversations once more as a page."""


def beside(path: Path) -> Iterator[Unpacked] | None:
    """Return what an unpacked export keeps beside its conversations as passed over; None for any other file."""
    forms = {form for form, names in BESIDE.items() if path.name in names}
    return iter([PassedOver("part-of-conversation")]) if forms and _lists(path.parent, forms) else None


def _lists(folder: Path, forms: set[str]) -> bool:
    """Tell whether a folder holds an export of one of the formats."""
    return any(_format(file) in forms for file in islice(folder.glob(CONVERSATIONS), FILES_MAX))


def _format(path: Path) -> str | None:
    """Return the format of a file that lists conversations."""
    try:
        found = recognise(sniff(path).head)
    except NotRead:
        return None
    return found[0].name if found is not None and found[1] == "conversations" else None
