"""Rejections and omissions: why something that was seen was not captured, each reason a literal with a sentence.

A rejection is about the thing itself: it was to be captured and could not be. An omission is about a
rule: the thing could be captured, and a rule that the user can change says that it is not wanted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

RejectionReason = Literal[
    "binary",
    "changed-while-read",
    "damaged",
    "document-broken",
    "document-costly",
    "documents-extra",
    "encrypted",
    "erased",
    "locked",
    "missing",
    "nested-archive",
    "no-conversation",
    "not-regular",
    "not-turns",
    "other-format",
    "path-too-long",
    "scope-name",
    "too-large",
    "unreadable",
    "unreadable-folder",
    "unsafe-name",
    "vanished",
    "zip-bomb",
]

OmissionReason = Literal[
    "archive-entry",
    "beside-conversations",
    "disk-away",
    "dotfile",
    "home",
    "ignored",
    "lock-file",
    "older-copy",
    "part-of-conversation",
    "symlink",
    "too-many-entries",
    "tool-folder",
]

REJECTION_SENTENCES: Mapping[RejectionReason, str] = {
    "binary": "The file holds bytes that are no text in any encoding that is recognised.",
    "changed-while-read": "The file was changed each time that it was read; it is captured once it rests.",
    "damaged": "It is cut off or broken, in part or as a whole; what cannot be read of it was not captured.",
    "document-broken": "It is a document that is broken: its text cannot be read, and nothing of it was captured.",
    "document-costly": "Reading its text takes more time, memory or room than a document may take; it was not captured.",
    "documents-extra": "It is a document; `pip install 'chronofile[documents]'` reads it.",
    "encrypted": "It is locked with a password; save it without one, or unpack it, and ingest that.",
    "erased": "It was erased and is not captured again; `chronofile ingest --again FILE` takes it back from a file that holds nothing else.",
    "locked": "Another program has it locked; it is read at a later run.",
    "missing": "There is nothing at the path that was given.",
    "nested-archive": "It is an archive within an archive; unpack the outer one and ingest the inner.",
    "no-conversation": "It is an archive or a database in which no conversation is recognised.",
    "not-regular": "It is a pipe, a socket, a device or a link, and not a file with bytes of its own.",
    "not-turns": "The file has lines that are no turns; they belong to no session and were not captured.",
    "other-format": "It holds no conversation of the format that was asked for.",
    "path-too-long": "The path is longer than the system can open.",
    "scope-name": "The file has lines whose scope no scope can be called; they were not captured.",
    "too-large": "The file is larger than the limit.",
    "unreadable": "The system does not let the file be read.",
    "unreadable-folder": "The system does not let the folder be listed; what is below it was not seen.",
    "unsafe-name": "Its name within the archive leads out of the archive; it was not read.",
    "vanished": "It was there a moment ago and is gone.",
    "zip-bomb": "It unpacks to far more than an export of its size holds; it was not read.",
}

OMISSION_SENTENCES: Mapping[OmissionReason, str] = {
    "archive-entry": "It is in an archive and holds no conversation: an attachment, an account, a setting.",
    "beside-conversations": "It lies among an agent's conversations and is none: a setting, a cache, a log.",
    "disk-away": "It was captured from a disk that is not there now; what was captured of it stays.",
    "dotfile": "Its name begins with a dot; only transcripts are taken from there.",
    "home": "It belongs to Chronofile's own home, which is never captured.",
    "ignored": "An ignore rule names it.",
    "lock-file": "It is a lock file that a package manager wrote.",
    "older-copy": "It is an older state of a conversation that is captured in a newer one.",
    "part-of-conversation": "It is a part of a conversation that is captured with the file that begins it.",
    "symlink": "It is a symbolic link, and links are followed only where they are named.",
    "too-many-entries": "Its name begins with a dot and it holds too much to be searched for transcripts.",
    "tool-folder": "It is a folder that a tool keeps for itself and can make again.",
}


@dataclass(frozen=True, slots=True)
class Rejected:
    """Something that was to be captured and could not be; `detail` adds what the system said, or sizes."""

    path: Path
    reason: RejectionReason
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Omitted:
    """Something that a rule leaves out; a folder stands for everything below it that is not found itself."""

    path: Path
    reason: OmissionReason


class NotRead(Exception):
    """The bytes of the file could not be had."""

    def __init__(self, path: Path, reason: RejectionReason, detail: str = "") -> None:
        super().__init__(f"{path}: {REJECTION_SENTENCES[reason]} {detail}".rstrip())
        self.path = path
        self.reason: RejectionReason = reason
        self.detail = detail

    @property
    def rejected(self) -> Rejected:
        """The same as a value, for those who collect."""
        return Rejected(self.path, self.reason, self.detail)
