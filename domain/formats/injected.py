"""Injected text: what tools write into a person's messages, told apart by its tags."""

from __future__ import annotations

import re

from chronofile.domain.turns import PART_SEPARATOR, Part

_TAGS = (
    "command-name",
    "command-message",
    "command-args",
    "command-contents",
    "local-command-stdout",
    "local-command-stderr",
    "local-command-caveat",
    "bash-stdout",
    "bash-stderr",
    "system-reminder",
    "task-notification",
    "user-prompt-submit-hook",
    "ide_opened_file",
    "ide_selection",
    "ide_diagnostics",
)
_OPENING = re.compile(rf"\s*<({'|'.join(_TAGS)})>")
_TYPED_ARGUMENTS = re.compile(r"<command-args>\s*(?!\s|</command-args>)")
_INTERRUPTION = re.compile(r"\s*\[Request interrupted by user[^\]\n]*\]\s*")
_REMINDER = "<system-reminder>"
_REMINDER_END = "</system-reminder>"


def split_injected(text: str) -> list[Part]:
    """Return a text block of a user's message as `text` and `notice` parts, in order.

    Joined by the part separator the parts give the text back exactly: a reminder inside a person's text
    is split off only where the separator stands between the two, else the text stays whole as `text`.
    """
    if is_injected(text):
        return [Part("notice", text)]
    if _REMINDER not in text:
        return [Part("text", text)]
    pieces = _around_reminders(text)
    return [Part("notice" if is_injected(piece) else "text", piece) for piece in pieces]


def is_injected(text: str) -> bool:
    """Return whether the whole text was put in by a tool.

    A command to which a person gave arguments counts as the person's words.
    """
    if _INTERRUPTION.fullmatch(text):
        return True
    at = 0
    while opening := _OPENING.match(text, at):
        end_tag = f"</{opening[1]}>"
        end = text.find(end_tag, opening.end())
        if end < 0:
            return False
        at = end + len(end_tag)
    return at > 0 and not text[at:].strip() and not _TYPED_ARGUMENTS.search(text)


def _around_reminders(text: str) -> list[str]:
    pieces: list[str] = []
    begin = at = 0
    while (at := text.find(_REMINDER, at)) >= 0:
        end = text.find(_REMINDER_END, at)
        if end < 0:
            break
        end += len(_REMINDER_END)
        before_fits = at == begin or text.endswith(PART_SEPARATOR, begin, at)
        after_fits = end == len(text) or text.startswith(PART_SEPARATOR, end)
        if before_fits and after_fits:
            if at > begin:
                pieces.append(text[begin : at - len(PART_SEPARATOR)])
            pieces.append(text[at:end])
            begin = min(end + len(PART_SEPARATOR), len(text))
        at = max(end, begin)
    # A separator at the very end, after a reminder, would have nothing behind it.
    if begin < len(text):
        pieces.append(text[begin:])
    return pieces if PART_SEPARATOR.join(pieces) == text and all(pieces) else [text]
