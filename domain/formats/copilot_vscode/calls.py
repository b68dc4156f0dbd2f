"""The calls of tools in an answer of VS Code's chat: what the model asked for, matched with what the editor shows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from chronofile.domain.formats.attachments import attached, base64_size
from chronofile.domain.formats.calls import call_text, value_text
from chronofile.domain.formats.records import Record, text_field
from chronofile.domain.turns import Part

_SUFFIX = "__vscode"
"""What the editor adds to a call's id."""


@dataclass(frozen=True, slots=True)
class _Asked:
    id: str
    text: str
    lines: frozenset[str]
    result: str


@dataclass(slots=True)
class Calls:
    """The calls that a model made, in order, and how many of them were said.

    `shown` is how many the editor shows: where these are as many, they are the same in the same order, even if
    their ids differ.
    """

    asked: list[_Asked] = field(default_factory=list)
    said: set[int] = field(default_factory=set)
    is_matched: bool = False
    shown: int = 0

    @classmethod
    def of(cls, rounds: Sequence[Record], results: object, response: object) -> Calls:
        given = results if isinstance(results, dict) else {}
        asked = [
            _Asked(
                id=(call_id := text_field(call, "id") or ""),
                text=call_text(text_field(call, "name"), call.get("arguments")),
                lines=frozenset(
                    line for text in _strings(call.get("arguments")) for line in text.split("\n")
                ),
                result=_result_text(given.get(call_id)),
            )
            for one in rounds
            for call in _records(one.get("toolCalls"))
        ]
        parts = _records(response)
        shown = sum(part.get("kind") == "toolInvocationSerialized" for part in parts)
        return cls(asked, is_matched=shown == len(asked))

    def invoked(self, piece: Record) -> Iterator[Part]:
        """Yield the call that the editor shows, and its result."""
        number = self._number(text_field(piece, "toolCallId") or "")
        self.shown += 1
        shown = _Shown.of(piece)
        if number is None:
            yield Part("tool_call", shown.text)
            yield from (Part("tool_result", text) for text in shown.results)
            return
        self.said.add(number)
        asked = self.asked[number]
        yield Part("tool_call", asked.text)
        results = [asked.result] if asked.result else shown.results
        yield from (Part("tool_result", text) for text in results)

    def rest(self) -> Iterator[Part]:
        """Yield the calls that the editor did not show."""
        for number, asked in enumerate(self.asked):
            if number not in self.said:
                yield Part("tool_call", asked.text)
                yield Part("tool_result", asked.result)

    def hold(self, lines: Sequence[str]) -> bool:
        """Tell whether all these lines stand in what tools were called with."""
        wanted = {line for text in lines for line in text.split("\n") if line.strip()}
        return bool(self.asked) and not wanted.difference(*(asked.lines for asked in self.asked))

    def _number(self, call_id: str) -> int | None:
        own = call_id.partition(_SUFFIX)[0]
        for number, asked in enumerate(self.asked):
            if own and asked.id.partition(_SUFFIX)[0] == own and number not in self.said:
                return number
        return self.shown if self.is_matched and self.shown not in self.said else None


@dataclass(frozen=True, slots=True)
class _Shown:
    """What the editor kept of a call."""

    text: str
    results: list[str]

    @classmethod
    def of(cls, piece: Record) -> _Shown:
        specific = piece.get("toolSpecificData")
        told: Record = specific if isinstance(specific, dict) else {}
        given = _given(told)
        if not given:
            message = piece.get("pastTenseMessage") or piece.get("invocationMessage")
            given = message.get("value") if isinstance(message, dict) else message
        name = text_field(piece, "toolId") or text_field(piece, "toolName")
        return cls(call_text(name, given), [text for text in _gotten(piece, told) if text])


def _given(told: Record) -> object:
    line = told.get("commandLine")
    if isinstance(line, dict):
        return next((line[name] for name in ("userEdited", "toolEdited", "original") if line.get(name)), None)
    todos = told.get("todoList")
    if isinstance(todos, list):
        return [todo.get("title") for todo in _records(todos)]
    names = ("command", "rawInput", "input", "prompt", "description", "title")
    return next((told[name] for name in names if told.get(name)), None)


def _gotten(piece: Record, told: Record) -> Iterator[str]:
    output = told.get("terminalCommandOutput")
    if isinstance(output, dict):
        yield text_field(output, "text") or ""
    for name in ("output", "result"):
        yield text_field(told, name) or ""
    details = piece.get("resultDetails")
    found = details.get("output") if isinstance(details, dict) else None
    for one in found if isinstance(found, list) else [found]:
        if isinstance(one, dict) and (one.get("base64Data") or one.get("isText") is False):
            coded = one.get("base64Data", one.get("value"))
            yield attached("output", text_field(one, "mimeType"), base64_size(coded))
        elif isinstance(one, dict):
            yield value_text(one.get("value"))
        elif isinstance(one, str):
            yield one
    yield text_field(piece, "resultError") or ""


def _result_text(result: object) -> str:
    """Return the text that a tool gave to the model: plain, or the leaves of a tree."""
    content = result.get("content") if isinstance(result, dict) else result
    texts: list[str] = []
    for one in content if isinstance(content, list) else [content]:
        value = one.get("value") if isinstance(one, dict) else one
        texts.append(value if isinstance(value, str) else "".join(_leaves(value)).removeprefix("\n"))
    return "\n".join(text for text in texts if text)


def _leaves(tree: object) -> Iterator[str]:
    """Yield the texts of a tree's leaves in order, on a stack of our own: a tree may be deep."""
    stack: list[Any] = [tree]
    while stack:
        node = stack.pop()
        if not isinstance(node, dict):
            continue
        if isinstance(text := node.get("text"), str):
            yield ("\n" if node.get("lineBreakBefore") is True else "") + text
        children = node.get("children")
        stack += [*reversed(children)] if isinstance(children, list) else []
        stack.append(node.get("node"))


def _strings(arguments: object) -> Iterator[str]:
    """Yield the strings that a call's arguments hold, themselves perhaps JSON within a string."""
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            yield str(arguments)
            return
    stack: list[Any] = [arguments]
    while stack:
        one = stack.pop()
        if isinstance(one, str):
            yield one
        elif isinstance(one, dict | list):
            stack += one.values() if isinstance(one, dict) else one


def _records(values: object) -> list[Record]:
    return [value for value in values if isinstance(value, dict)] if isinstance(values, list) else []
