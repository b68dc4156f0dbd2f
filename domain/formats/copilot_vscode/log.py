"""VS Code's log of a chat: its first state and, a line each, what was set, added, cut off or deleted in it."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from chronofile.domain.formats.records import Record, compact_json, text_field

OPEN_MAX = 3
"""Requests at the end of a chat that may still change."""
BEGIN, SET, PUSH, DELETE = range(4)

_FIELDS = ("customTitle", "requesterUsername", "responderUsername", "sessionId", "version")
_KEPT = (
    "isCanceled", "isHidden", "message", "modelState", "requestId", "response", "responseId", "result",
    "shouldBeRemovedOnSend", "timestamp", "variableData",
)  # fmt: skip
_RESULT = ("errorDetails", "metadata")
_METADATA = ("toolCallRounds", "toolCallResults")


def is_operation(record: Record) -> bool:
    """Tell whether a record is one of a log's."""
    kind = record.get("kind")
    return isinstance(kind, int) and not isinstance(kind, bool) and ("v" in record or "k" in record)


def is_appending(record: Record) -> bool:
    """Tell whether a change adds something to a request and takes nothing away from it."""
    path = record.get("k")
    return record.get("kind") == PUSH and record.get("i") is None and isinstance(path, list) and len(path) > 2


@dataclass(slots=True)
class Log:
    """A chat as its log says it is: its own `fields`, and its requests, of which the last are open.

    A request that is not open any more is None. `names` are the requests' names in order.
    """

    fields: dict[str, Any] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    open: dict[int, dict[str, Any]] = field(default_factory=dict)
    is_begun: bool = False
    _changed: dict[str, dict[str, Any]] = field(default_factory=dict)
    _gone: dict[str, None] = field(default_factory=dict)

    @classmethod
    def resume(cls, packed: Mapping[str, Any]) -> Log:
        opened = {int(number): json.loads(request) for number, request in packed["open"].items()}
        return cls(dict(packed["fields"]), list(packed["names"]), opened, packed["begun"])

    def packed(self) -> dict[str, Any]:
        # As texts, since what is stored does not keep the order of a mapping, in which arguments are shown.
        opened = {str(number): compact_json(request) for number, request in self.open.items()}
        return {"fields": self.fields, "names": self.names, "open": opened, "begun": self.is_begun}

    def changed(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the requests that changed since this was asked last, by their names."""
        changed, self._changed = self._changed, {}
        yield from changed.items()

    def taken_out(self) -> Iterator[str]:
        """Yield the names of the requests that are not there any more since this was asked last."""
        gone, self._gone = self._gone, {}
        here = set(self.names) if gone else set()
        yield from (name for name in gone if name not in here)

    def take(self, record: Record) -> Counter[str]:
        """Apply one change; return what of it could not be, by its kind."""
        missed = Counter[str]()
        kind, value = record.get("kind"), record.get("v")
        if kind == BEGIN and isinstance(value, dict):
            self._begin(value, missed)
            return missed
        path = record.get("k")
        if kind not in (SET, PUSH, DELETE):
            missed[f"change {kind}"] += 1
        elif not self.is_begun or not isinstance(path, list) or not path:
            missed["change without a place"] += 1
        elif path[0] != "requests":
            self._set_field(path, value if kind == SET else None)
        elif len(path) == 1:
            start = record.get("i") if kind == PUSH else 0
            self._extend(value if kind != DELETE else None, start, missed)
        elif not self._change(record, path, missed):
            missed["change without a place"] += 1
        self._seal()
        return missed

    def _begin(self, value: Record, missed: Counter[str]) -> None:
        self.fields = {name: value[name] for name in _FIELDS if name in value}
        self.is_begun = True
        self._extend(value.get("requests"), 0, missed)
        self._seal()

    def _set_field(self, path: list[Any], value: object) -> None:
        if len(path) == 1 and path[0] in _FIELDS:
            self.fields[path[0]] = value

    def _extend(self, values: object, start: object, missed: Counter[str]) -> None:
        """Cut the requests off at `start`, if it is given, and add others."""
        if isinstance(start, int) and not isinstance(start, bool) and 0 <= start < len(self.names):
            for number in range(start, len(self.names)):
                self._gone[self.names[number]] = None
                self._changed.pop(self.names[number], None)
                self.open.pop(number, None)
            del self.names[start:]
        taken = set(self.names)
        for request in values if isinstance(values, list) else []:
            if not isinstance(request, dict):
                missed["request"] += 1
                continue
            number = len(self.names)
            name = text_field(request, "requestId") or f"request-{number + 1}"
            name = name if name not in taken else f"{name}#{number + 1}"
            taken.add(name)
            self.names.append(name)
            self.open[number] = self._changed[name] = _kept(request)

    def _change(self, record: Record, path: list[Any], missed: Counter[str]) -> bool:
        """Change something in a request; tell whether there is such a place."""
        number, value = path[1], record.get("v")
        if isinstance(number, bool) or not isinstance(number, int):
            return False
        if len(path) == 2:
            if record.get("kind") != SET or not isinstance(value, dict):
                return False
            if number == len(self.names):
                self._extend([value], None, missed)
                return True
            return self._replace(number, value)
        if path[2] not in _KEPT:
            return 0 <= number < len(self.names)  # It is nothing that is read.
        request = self.open.get(number)
        return request is not None and _apply(request, path[2:], record) and self._replace(number, request)

    def _replace(self, number: int, request: Record) -> bool:
        if number not in self.open:
            return False
        self.open[number] = self._changed[self.names[number]] = _kept(request)
        return True

    def _seal(self) -> None:
        for number in sorted(self.open)[:-OPEN_MAX]:
            del self.open[number]


def _apply(root: dict[str, Any], path: list[Any], record: Record) -> bool:
    """Change a request at a place within it; tell whether there is such a place."""
    place: Any = root
    for step in path[:-1]:
        place = _step(place, step)
    if not path:
        return False
    last, kind, value = path[-1], record.get("kind"), record.get("v")
    if kind == PUSH:
        values = _step(place, last)
        values = values if isinstance(values, list) else []
        start = record.get("i")
        if isinstance(start, int) and not isinstance(start, bool) and start >= 0:
            values = values[:start]
        value = [*values, *(value if isinstance(value, list) else [])]
    if isinstance(place, dict) and isinstance(last, str):
        place[last] = value
        return True
    if isinstance(place, list) and isinstance(last, int) and 0 <= last <= len(place):
        place[last : last + 1] = [value]
        return True
    return False


def _step(place: Any, step: Any) -> Any:
    if isinstance(place, dict) and isinstance(step, str):
        return place.get(step)
    if isinstance(place, list) and isinstance(step, int) and 0 <= step < len(place):
        return place[step]
    return None


def _kept(request: Record) -> dict[str, Any]:
    """Return of a request what turns are made of."""
    kept = {name: request[name] for name in _KEPT if name in request}
    result = kept.get("result")
    if isinstance(result, dict):
        kept["result"] = result = {name: result[name] for name in _RESULT if name in result}
        metadata = result.get("metadata")
        if isinstance(metadata, dict):
            result["metadata"] = {name: metadata[name] for name in _METADATA if name in metadata}
    return kept
