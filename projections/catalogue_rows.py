"""The rows of the catalogue: what each event does to them, one after the other."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from chronofile.domain import streams
from chronofile.domain.envelope import Recorded
from chronofile.domain.events import (
    BatchFinished,
    BatchStarted,
    CaptureRejected,
    DirectoryMapped,
    MemoryCorrected,
    MemoryForgotten,
    MemoryRemembered,
    RevisionCaptured,
    ScopeCreated,
    SourceMoved,
    SourceRegistered,
    SourceRemoved,
    SourceRescoped,
)
from chronofile.domain.identity import storable
from chronofile.projections.histories import MEMORY, Reversals, Texts
from chronofile.projections.projection import fingerprint

CAPTURED, REJECTED, REMOVED = "captured", "rejected", "removed"
NO_READER = "documents-extra"
REVERTED, FORGOTTEN, ERASED = "reverted", "forgotten", "erased"

Row = dict[str, Any]


def contents_of(recorded: Recorded) -> list[str]:
    """Return the contents that an event names and the catalogue shows, or measures."""
    match recorded.event:
        case RevisionCaptured(file=path, branch=branch):
            return [path, branch] if branch else [path]
        case SourceRegistered(uri=key) | CaptureRejected(file=key):
            return [key]
        case DirectoryMapped(directory=key) | MemoryRemembered(text=key) | MemoryCorrected(text=key):
            return [key]
        case SourceMoved(uri=uri, file=path):
            return [uri, path]
        case _:
            return []


@dataclass(slots=True)
class Rows:
    """Rows by what names them. `reverted_as_of` is a position when batches count as they stood then, not as they came."""

    texts: Texts
    reversals: Reversals
    sources: dict[str, Row] = field(default_factory=dict)
    batches: dict[str, Row] = field(default_factory=dict)
    files: dict[tuple[str, str], Row] = field(default_factory=dict)
    scopes: dict[str, Row] = field(default_factory=dict)
    directories: dict[str, Row] = field(default_factory=dict)
    reverted_as_of: int | None = None

    def write(self, recorded: Recorded) -> None:
        identifier, position = streams.id_of(recorded.stream), recorded.position
        match recorded.event:
            case SourceRegistered() as event:
                uri = self.texts.text(event.uri, position, identifier)
                self.sources[identifier] = _registered(identifier, event, uri)
                self._note_scope(event.scope)
            case RevisionCaptured() as event:
                self._revise(self.sources[identifier], recorded, event)
                self._note_file(identifier, event.file, position)
            case CaptureRejected() as event:
                self._reject(self.sources[identifier], event)
                self._note_file(identifier, event.file, position)
            case SourceMoved() as event:
                uri = self.texts.text(event.uri, position, identifier)
                self.sources[identifier] |= {"uri_key": event.uri, "uri": uri}
                self._note_file(identifier, event.file, position)
            case SourceRemoved() as event if not self._is_reverted(event.batch, position):
                _hide(self.sources[identifier], REMOVED)
                self.sources[identifier]["rejection"] = None
            case SourceRescoped() as event:
                self.sources[identifier]["scope"] = event.scope
                self._note_scope(event.scope)
            case MemoryRemembered() | MemoryCorrected() as event:
                self._remember(identifier, recorded, event)
            case MemoryForgotten():
                _hide(self.sources[identifier], FORGOTTEN)
            case _:
                self._write_beside(recorded)

    def _write_beside(self, recorded: Recorded) -> None:
        """Write what an event says of scopes and batches."""
        identifier = streams.id_of(recorded.stream)
        match recorded.event:
            case ScopeCreated():
                self._note_scope(identifier)
            case DirectoryMapped() as event:
                if path := self.texts.text(event.directory, recorded.position, None):
                    row = {"path_hash": fingerprint(path), "path": path, "content": event.directory}
                    self.directories[path] = row | {"scope": identifier}
            case BatchStarted() as event:
                self.batches[identifier] = _started(identifier, recorded, event)
            case BatchFinished(revisions=revisions, rejected=rejected) if identifier in self.batches:
                finished = {"finished_at": recorded.recorded_at, "revisions": revisions, "rejected": rejected}
                self.batches[identifier] |= finished
            case _:
                pass

    def _revise(self, row: Row, recorded: Recorded, event: RevisionCaptured) -> None:
        hidden = self._is_reverted(event.batch, recorded.position) or (row["hidden"] and event.start > 0)
        row["hidden"] = hidden
        row["uri"] = row["uri"] or self.texts.text(row["uri_key"], recorded.position, row["id"])
        if not hidden:
            branch = self.texts.text(event.branch, recorded.position, row["id"]) if event.branch else None
            row |= _captured(recorded, event) | {"git_branch": branch or None}
        elif not row["revision"]:
            row |= {"format": event.format, "state": REVERTED, "rejection": None}

    def _reject(self, row: Row, event: CaptureRejected) -> None:
        if event.reason == NO_READER and (row["revision"] or row["rejection"]):
            # It says nothing of the document, but of who looked at it.
            return
        row["rejection"] = event.reason
        if not row["revision"] and row["state"] == CAPTURED:
            row["state"] = REJECTED

    def _remember(
        self, identifier: str, recorded: Recorded, event: MemoryRemembered | MemoryCorrected
    ) -> None:
        if isinstance(event, MemoryRemembered):
            if identifier not in self.sources:
                self.sources[identifier] = _memory(identifier, event)
            self._note_scope(event.scope)
        row = self.sources[identifier]
        text = self.texts.get(event.text, recorded.position, identifier)
        row |= {
            "revision": row["revision"] + 1,
            "bytes": 0 if text is None else len(text),
            "state": CAPTURED,
            "captured_at": recorded.recorded_at,
        }

    def _is_reverted(self, batch: str, position: int) -> bool:
        at = position if self.reverted_as_of is None else self.reverted_as_of
        return self.reversals.is_reverted(batch, at)

    def _note_scope(self, name: str) -> None:
        self.scopes[name] = {"name_hash": fingerprint(name), "name": name}

    def _note_file(self, identifier: str, key: str, position: int) -> None:
        if path := self.texts.text(key, position, identifier):
            self.files[identifier, path] = {
                "source": identifier,
                "path_hash": fingerprint(path),
                "path": path,
            }


def _hide(row: Row, state: str) -> None:
    if row["state"] != ERASED:
        row["state"] = state
    row["hidden"] = False


def _registered(identifier: str, event: SourceRegistered, uri: str) -> Row:
    return _row(
        identifier,
        kind=event.kind,
        scope=event.scope,
        uri_key=event.uri,
        uri=uri,
        session=event.session,
        batch=event.batch,
    )


def _memory(identifier: str, event: MemoryRemembered) -> Row:
    return _row(identifier, kind=MEMORY, scope=event.scope, uri=f"memory:{identifier}", format=MEMORY)


def _row(identifier: str, **fields: Any) -> Row:
    nothing: Mapping[str, Any] = {
        "uri_key": "",
        "session": None,
        "format": None,
        "revision": 0,
        "bytes": 0,
        "state": CAPTURED,
        "hidden": False,
        "rejection": None,
        "batch": None,
        "captured_at": None,
        "git_commit": None,
        "git_branch": None,
        "git_dirty": None,
    }
    return {"id": identifier, **nothing, **fields}


def _captured(recorded: Recorded, event: RevisionCaptured) -> Row:
    return {
        "format": event.format,
        "revision": event.revision,
        "bytes": event.end,
        "state": CAPTURED,
        "rejection": None,
        "batch": event.batch,
        "captured_at": recorded.recorded_at,
        "git_commit": event.commit,
        "git_dirty": event.dirty,
    }


def _started(identifier: str, recorded: Recorded, event: BatchStarted) -> Row:
    return {
        "id": identifier,
        "tool": storable(event.tool),
        "of": event.of,
        "reverted_by": None,
        "started_at": recorded.recorded_at,
        "finished_at": None,
        "revisions": None,
        "rejected": None,
    }
