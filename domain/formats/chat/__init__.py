"""Chats as text: a plain text or Markdown file in which people, or a person and an assistant, take turns."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import PurePosixPath

from chronofile.domain.formats.chat.labels import Label, labels_of, without_closing
from chronofile.domain.formats.chat.times import times_of
from chronofile.domain.formats.heads import Head
from chronofile.domain.formats.whole import Conversation
from chronofile.domain.identity import digest
from chronofile.domain.turns import Folded, Identity, Likeness, Part, State, Turn

name = "chat"
version = 1
is_json = False

CONFIDENCE = 0.6
"""Below what a tool's own format says of its files: they are written in labels as well."""
KEY_TURNS_MIN = 2
KEY_CHARS_MIN = 120
"""A chat is named by so many of its first turns, or by more until they hold so many code points."""

_SUFFIXES = frozenset({"", ".chat", ".irc", ".log", ".markdown", ".md", ".mdown", ".text", ".txt"})
_SUFFIX = re.compile(r"\.[a-z0-9]{1,8}")
_RULE = re.compile(r"\s*(?:-{3,}|\*{3,}|_{3,})\s*")
_TITLE = re.compile(r"#\s+(\S.*)")
_LINES = re.compile(r"\r?\n")


def recognise(head: Head) -> Likeness:
    """Return how surely a text is a chat: three labelled turns of two speakers, which carry most of it."""
    suffix = PurePosixPath(head.name.replace("\\", "/")).suffix.lower()
    if head.opening is not None or (_SUFFIX.fullmatch(suffix) and suffix not in _SUFFIXES):
        return Likeness(0.0, "text")
    return Likeness(CONFIDENCE if labels_of(head.text.split("\n")) else 0.0, "text")


def identify(lines: Sequence[str], path_name: str) -> Identity | None:
    """Return the file's name as the session, and as the key what the chat begins with; None where it is no chat."""
    labels = labels_of(lines)
    if not labels:
        return None
    texts = _texts(labels, lines)
    first: list[str] = []
    for label, text in zip(labels[:-1], texts, strict=False):
        if len(first) >= 2 * KEY_TURNS_MIN and sum(map(len, first)) >= KEY_CHARS_MIN:
            break
        first += [f"{label.role} {label.speaker} {label.stamp}", text]
    session = PurePosixPath(path_name.replace("\\", "/")).stem or name
    key = digest("chat", _before(labels, lines), *first)
    times = [at for at in times_of([label.stamp for label in labels]) if at]
    return Identity(session, key, updated=times[-1] if times else None)


def fold(state: State | None, lines: Sequence[str]) -> Folded:
    """Fold a whole text into turns: what stands before the first label is a notice, all else somebody's words."""
    labels = labels_of(lines)
    talk = Conversation(title=_title(labels, lines))
    before = _before(labels, lines)
    if before:
        talk.add(Turn("preamble", (), "system", None, None, (Part("notice", before),)))
    times = times_of([label.stamp for label in labels])
    seen: Counter[str] = Counter()
    for label, text, at in zip(labels, _texts(labels, lines), times, strict=True):
        key = digest(label.role, label.speaker, label.stamp, _LINES.split(text, maxsplit=1)[0], size=8)
        seen[key] += 1
        part = Part("notice" if label.is_notice or label.role == "system" else "text", text)
        numbered = key if seen[key] == 1 else f"{key}-{seen[key]}"
        talk.add(Turn(numbered, (), label.role, label.speaker, at, (part,)))
    return talk.folded()


def _texts(labels: Sequence[Label], lines: Sequence[str]) -> list[str]:
    """Return what follows each label, up to the next; the blank lines and rules around it are the file's layout."""
    ends = [label.line for label in labels[1:]] + ([len(lines)] if labels else [])
    texts: list[str] = []
    for label, end in zip(labels, ends, strict=True):
        inner = list(lines[label.line + 1 : end])
        is_last = end == len(lines)
        while inner and (not inner[-1].strip() or (not is_last and _RULE.fullmatch(inner[-1]))):
            inner.pop()
        if not label.rest.strip():
            begin = next((at for at, text in enumerate(inner) if text.strip()), len(inner))
            del inner[:begin]
        texts.append("\n".join([label.rest, *inner] if label.rest.strip() else inner).removesuffix("\r"))
    return texts


def _before(labels: Sequence[Label], lines: Sequence[str]) -> str:
    end = labels[0].line if labels else len(lines)
    return "\n".join(lines[:end]).strip()


def _title(labels: Sequence[Label], lines: Sequence[str]) -> str | None:
    for line in lines[: labels[0].line] if labels else ():
        if found := _TITLE.fullmatch(without_closing(line)):
            return found[1]
    return None
