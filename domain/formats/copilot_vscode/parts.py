"""The parts of an answer in VS Code's chat: Markdown with references in it, thoughts, notices and edits."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import unquote

from chronofile.domain.formats.copilot_vscode.calls import Calls
from chronofile.domain.formats.records import Record, text_field
from chronofile.domain.turns import Part

# These hold no words, or only what another part says: where edits begin, links, buttons, what is being prepared.
_SILENT = frozenset(
    {
        "agentDetection", "autoModeResolution", "changesSummary", "clearToPreviousToolInvocation", "codeCitation",
        "codeblockUri", "command", "disabledClaudeHooks", "extensions", "externalEdit", "externalEdits",
        "mcpServersStarting", "move", "multiDiffData", "notebookEdit", "notebookEditGroup", "prepareToolInvocation",
        "progressTaskResult", "reference", "textEdit", "treeData", "undoStop", "usage", "usedContext", "voiceProgress",
        "workspaceEdit",
    }
)  # fmt: skip

# What the editor says by itself, and in which fields.
_NOTICES: Mapping[str, Sequence[str]] = {
    "confirmation": ("title", "message"),
    "elicitation": ("title", "subtitle", "message"),
    "elicitation2": ("title", "subtitle", "message"),
    "elicitationSerialized": ("title", "subtitle", "message"),
    "hook": ("stopReason", "systemMessage"),
    "info": ("content",),
    "progressMessage": ("content",),
    "progressTask": ("content",),
    "progressTaskSerialized": ("content",),
    "pullRequest": ("title", "description"),
    "systemNotification": ("content",),
    "warning": ("content",),
}
_EDITS = ("codeblockUri", "textEditGroup")
_FENCE = "`~ \t\r\n"


def response_parts(response: object, calls: Calls, unknown: Counter[str]) -> Iterator[Part]:
    """Yield the parts of an answer in order; what stands between two tools is one text, with its references in it."""
    yield from _Answer(calls, unknown).parts(response)


def markdown(value: object) -> str:
    """Return what a Markdown string says, which is a string or an object with its value."""
    if isinstance(value, dict):
        value = value.get("value")
    return value if isinstance(value, str) else ""


@dataclass(slots=True)
class _Answer:
    calls: Calls
    unknown: Counter[str]
    text: list[str] = field(default_factory=list)

    def parts(self, response: object) -> Iterator[Part]:
        has_edits = any(isinstance(p, dict) and p.get("kind") in _EDITS for p in _listed(response))
        for piece in _listed(response):
            words = _words(piece)
            if words is not None:
                # The editor writes the fence of a code block around what it shows as an edit.
                self.text += [words] if words.strip(_FENCE) or not has_edits else []
            elif not isinstance(piece, dict):
                self.unknown["part"] += 1
            elif text_field(piece, "kind") not in _SILENT:
                yield from self._flush()
                yield from self._part(piece)
        yield from self._flush()

    def _flush(self) -> Iterator[Part]:
        text = "".join(self.text)
        self.text = []
        if text.strip():
            yield Part("text", text)

    def _part(self, piece: Record) -> Iterator[Part]:
        kind = piece.get("kind")
        if kind in ("toolInvocationSerialized", "toolInvocation", "externalToolInvocationUpdate"):
            yield from self.calls.invoked(piece)
        elif kind == "thinking":
            value = piece.get("value")
            said = value if isinstance(value, list) else [value]
            yield Part("thinking", "".join(text for text in said if isinstance(text, str)))
        elif kind == "textEditGroup":
            yield from _edited(piece, self.calls)
        elif kind == "questionCarousel":
            yield from _questions(piece)
        elif isinstance(kind, str) and kind in _NOTICES:
            yield from (Part("notice", markdown(piece.get(name))) for name in _NOTICES[kind])
        else:
            self.unknown[f"part {kind}"] += 1


def _listed(response: object) -> list[Any]:
    return response if isinstance(response, list) else [] if response is None else [response]


def _words(piece: object) -> str | None:
    """Return what a part adds to the text around it, None where it is no part of a text."""
    if isinstance(piece, str):
        return piece
    if not isinstance(piece, dict):
        return None
    kind = piece.get("kind")
    if kind is None:
        return markdown(piece) if isinstance(piece.get("value"), str) else None
    if kind in ("markdownContent", "markdownVuln"):
        return markdown(piece.get("content"))
    return _reference(piece) if kind == "inlineReference" else None


def _reference(piece: Record) -> str:
    """Return what stands in the sentence for a file or a symbol: its name."""
    target = piece.get("inlineReference")
    named = text_field(piece, "name") or (text_field(target, "name") if isinstance(target, dict) else None)
    return named or PurePosixPath(path_of(target)).name or path_of(target)


def path_of(uri: object) -> str:
    """Return the path of a file, or of a place within one."""
    if isinstance(uri, str):
        return unquote(uri.partition("://")[2]) if "://" in uri else uri
    if not isinstance(uri, dict):
        return ""
    for name in ("fsPath", "path", "external"):
        if found := text_field(uri, name):
            return found.replace("\\", "/")
    inner = uri.get("uri", uri.get("location"))
    return path_of(inner) if isinstance(inner, dict) else ""


def _edited(piece: Record, calls: Calls) -> Iterator[Part]:
    """Return what was written into a file, unless a tool was called with it."""
    lines = [text for group in _lists(piece.get("edits")) for text in group]
    if lines and not calls.hold(lines):
        yield Part("tool_call", "\n".join([path_of(piece.get("uri")) or "edit", *lines]))


def _lists(edits: object) -> Iterator[list[str]]:
    for group in edits if isinstance(edits, list) else []:
        pieces: Iterable[Any] = group if isinstance(group, list) else [group]
        yield [text for one in pieces if isinstance(one, dict) and (text := text_field(one, "text"))]


def _questions(piece: Record) -> Iterator[Part]:
    """Yield what a person was asked, and what the person answered."""
    yield Part("notice", markdown(piece.get("message")))
    questions = piece.get("questions")
    for question in questions if isinstance(questions, list) else []:
        if isinstance(question, dict):
            texts = dict.fromkeys(
                markdown(question.get(name)) for name in ("title", "message", "description")
            )
            yield from (Part("notice", text) for text in texts)
    answers = piece.get("data")
    for answer in answers.values() if isinstance(answers, dict) else []:
        yield from (Part("tool_result", text) for text in _answers(answer))


def _answers(answer: object) -> Iterator[str]:
    if isinstance(answer, str):
        yield answer
    elif isinstance(answer, dict | list):
        for value in answer.values() if isinstance(answer, dict) else answer:
            yield from _answers(value)
