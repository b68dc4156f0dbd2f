"""What comes out of an archive: conversations, each as records, and what was left in it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from chronofile.domain.rejection import OmissionReason, RejectionReason
from chronofile.ingest.archives.elements import elements
from chronofile.ingest.marked import ReadBytes


@dataclass(frozen=True, slots=True)
class Conversation:
    """A conversation of a format: its records, one a line, and the name of the file or entry that holds it.

    `changed` (ISO-8601) is when that was last changed, where an archive says so: it decides which of two states is the
    later one where the conversation itself does not tell.
    """

    format: str
    name: str
    content: bytes
    changed: str | None = None


@dataclass(frozen=True, slots=True)
class LeftOut:
    """A part that was to be captured and could not be; `detail` says which and why."""

    reason: RejectionReason
    detail: str


@dataclass(frozen=True, slots=True)
class PassedOver:
    """So many parts that are no conversations."""

    reason: OmissionReason
    count: int = 1


Unpacked = Conversation | LeftOut | PassedOver


def listed(format_name: str, name: str, read: ReadBytes, changed: str | None = None) -> Iterator[Unpacked]:
    """Yield the conversations that a JSON text of a format lists, each a record by itself."""
    for number, element in enumerate(elements(read), start=1):
        if element.content is not None:
            yield Conversation(format_name, name, element.content + b"\n", changed)
        elif element.is_cut_off:
            yield LeftOut("damaged", f"{name} ends within conversation {number}.")
        else:
            yield LeftOut("too-large", f"Conversation {number} of {name} has {element.size:,} bytes.")
