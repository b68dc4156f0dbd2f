"""Labels: the lines of a written chat that say who speaks, in the ways that people and programs write them."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Literal

from chronofile.domain.turns import Role

TURNS_MIN = 3
PREAMBLE_CHARS_MAX = 2_000
PREAMBLE_SHARE_MAX = 0.25
TURN_CHARS_MEAN_MAX = 20_000
LABEL_CHARS_MAX = 320
"""Where a label, with what begins behind it, has to show: of a longer line no more is looked at."""
LINES_SHARE_MIN = 0.6
"""How many of the lines of a log or of timed lines have to be labelled."""
MESSENGER_LINES_SHARE_MIN = 0.1
ALTERNATION_MIN = 0.5
NAME_TURNS_MIN = 2

_USERS = frozenset({"human", "i", "me", "user", "you"})
_ASSISTANTS = frozenset({"agent", "ai", "assistant", "bot"})
_OTHERS: Mapping[str, Role] = {"system": "system", "developer": "system", "tool": "tool"}
_PAIR: Mapping[str, Role] = {"prompt": "user", "response": "assistant"}
_PRODUCT = re.compile(
    r"(?:anthropic |github |google |microsoft |openai )?(?:bard|chatgpt|claude|codex|copilot|cursor|deepseek|gemini|gpt|grok|llama"
    r"|mistral|perplexity|qwen)"
    # Each piece of a name ends where the next begins and is not read in another way.
    r"(?:[ -](?:code|[\w.]*\d[\w.]*|[\w.]*(?:opus|sonnet|haiku|turbo|mini|pro|flash|plus|chat))(?![\w.]))*+",
    re.IGNORECASE,
)
_LEVEL = re.compile(
    r"(?:.*[\W_])?(?:critical|debug|error|fatal|info|notice|trace|warn|warning|severe|verbose)", re.IGNORECASE
)
_NO_NAME = frozenset(
    {
        "answer", "author", "bonus", "caution", "conclusion", "date", "description", "edit", "example", "explanation",
        "from", "hint", "important", "input", "name", "note", "notes", "option", "output", "p.s", "ps", "question",
        "re", "result", "solution", "source", "step", "subject", "summary", "tip", "title", "to", "todo", "update",
        "usage", "warning",
    }
)  # fmt: skip
_NAME = re.compile(r"[^\W\d_][\w.'’ -]{0,39}")
_FENCE = re.compile(r" {0,3}(`{3,}|~{3,})")
_DECORATION = re.compile(r"^[^\w]+|[^\w)]+$")

_DATE = r"\d{1,4}[./-]\d{1,2}[./-]\d{2,4}"
_CLOCK = r"\d{1,2}[:.]\d{2}(?:[:.]\d{2})?(?:[\s\u202f\u00a0]?[AaPp]\.?[\s\u00a0]?[Mm]\.?)?"
_ISO = r"\d{4}-\d{2}-\d{2}[ T]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?(?:Z|[ ]?UTC|[+-]\d{2}:?\d{2})?"
_WHO = r"(?P<who>[^:\n]{1,60}?)"
_INVISIBLE = "[\u200e\u200f\u202a-\u202e\ufeff]*"
_GAP = r"\s{1,4}"
_TO = rf"(?:{_GAP}[Tt]o{_GAP}[^:\n]{{1,120}}?)?\s{{0,4}}"
_MESSENGERS = tuple(
    re.compile(_INVISIBLE + pattern)
    for pattern in (
        rf"\[(?P<date>{_DATE}),\s+(?P<clock>{_CLOCK})\]\s+{_WHO}:(?:\s(?P<rest>.*))?",
        rf"\[(?P<clock>{_CLOCK}),\s+(?P<date>{_DATE})\]\s+{_WHO}:(?:\s(?P<rest>.*))?",
        rf"(?P<date>{_DATE}),?\s+(?P<clock>{_CLOCK})\s+[-–]\s+{_WHO}:(?:\s(?P<rest>.*))?",
        rf"(?P<who>[^\[\]\n]{{1,60}}), \[(?P<date>{_DATE}),? (?P<clock>{_CLOCK})\]:?(?P<rest>)",
        rf"(?P<clock>{_CLOCK})(?P<date>){_GAP}From{_GAP}(?P<who>[^:\n]{{1,60}}?){_TO}:(?:\s(?P<rest>.*))?",
    )
)
_MESSENGER_NOTICE = re.compile(
    _INVISIBLE
    + rf"(?:\[(?P<date>{_DATE}),\s+(?P<clock>{_CLOCK})\]|(?P<date2>{_DATE}),?\s+(?P<clock2>{_CLOCK})\s+[-–])"
    r"\s+(?P<rest>.*)"
)
_STAMPED = rf"(?:\[?(?P<stamp>{_ISO}|\d{{1,2}}:\d{{2}}(?::\d{{2}})?)\]?\s+)"
_IRC = re.compile(rf"{_STAMPED}?<[@+%&~ ]?(?P<who>[^\s<>/=\"']{{1,32}})>(?:\s(?P<rest>(?!\s*[<:]).*))?")
_TIMED = re.compile(rf"{_STAMPED}(?P<who>[^\W\d_][\w.' -]{{0,39}}):(?:\s(?P<rest>.*))?")
_SPECSTORY = re.compile(r"_\*\*(?P<label>[^*]{1,120})\*\*_\s*")
_HEADING = re.compile(r"#{1,6}\s+(?P<label>\S.{0,119})")
_BOLD = re.compile(
    r"(?:\*\*|__)(?P<label>[^*_:]{1,60})(?P<in>:?)(?:\*\*|__)(?P<out>:?)(?:\s+(?P<rest>.*)|\s*)"
)
_SAID = re.compile(r"(?:>\s*)?(?:#{1,6}\s+)?(?P<label>\S.{0,39}?)\s+said:?\s*", re.IGNORECASE)
_PLAIN = re.compile(r"(?P<label>[^\s:#>*_`|\-][^:\n]{0,39}):(?:\s+(?P<rest>.*)|\s*)")
_META = re.compile(r"(?P<label>[^()]+?)\s*\((?P<meta>[^()]*)\)|(?P<label2>.+?)\s+[-–—]\s+(?P<meta2>\S.*)")

Style = Literal["messenger", "irc", "timed", "specstory", "said", "heading", "bold", "plain"]


@dataclass(frozen=True, slots=True)
class Label:
    """A line that says who speaks: `rest` is what follows on it, `stamp` the time as it stands there.

    `speaker` is a name, None for a plain user or assistant.
    """

    line: int
    role: Role
    speaker: str | None
    stamp: str | None
    rest: str
    is_known: bool = True
    is_notice: bool = False

    @property
    def who(self) -> tuple[Role, str | None]:
        return self.role, self.speaker


def labels_of(lines: Sequence[str]) -> list[Label]:
    """Return the labels of a chat, in order; none where the lines are no chat, or may be something else."""
    for style, read in _STYLES.items():
        fenced = _fenced(lines) if style not in _OF_LINES else frozenset[int]()
        found = [
            label
            for number, line in enumerate(lines)
            if number not in fenced and (label := _label(read, number, line.rstrip("\r"))) is not None
        ]
        labels = found if style in _OF_LINES else _with_names(found)
        if _is_chat(style, labels, lines):
            return labels
    return []


def _label(read: Callable[[int, str], Label | None], number: int, line: str) -> Label | None:
    """Return the label of a line, read from its beginning alone where the line is long."""
    if len(line) <= LABEL_CHARS_MAX:
        return read(number, line)
    whole = line.rstrip()
    head = whole[:LABEL_CHARS_MAX]
    label = read(number, head)
    if label is None or (len(whole) > LABEL_CHARS_MAX and not label.rest):
        return None
    return replace(label, rest=label.rest + line[len(head) :]) if label.rest else label


def without_closing(line: str) -> str:
    """Return a heading without the white space and the number signs that close it."""
    return line.rstrip().rstrip("#").rstrip()


def _is_chat(style: Style, labels: Sequence[Label], lines: Sequence[str]) -> bool:
    spoken = [label for label in labels if not label.is_notice and label.role in ("user", "assistant")]
    speakers = Counter(label.who for label in spoken)
    if len(spoken) < TURNS_MIN or len(speakers) < 2:
        return False
    if any(_LEVEL.fullmatch(speaker) for _, speaker in speakers if speaker):
        return False
    written = sum(1 for line in lines if line.strip())
    if style == "messenger":
        return len(labels) >= MESSENGER_LINES_SHARE_MIN * written and not _late(labels, lines)
    if style in _OF_LINES:
        repeated = sum(count >= NAME_TURNS_MIN for count in speakers.values())
        return repeated >= 2 and len(labels) >= LINES_SHARE_MIN * written
    has_user = any(label.role == "user" for label in spoken)
    return has_user and not _late(labels, lines) and _alternate(spoken)


def _late(labels: Sequence[Label], lines: Sequence[str]) -> bool:
    """Tell whether too much stands before the first label, or too much after each."""
    before = sum(len(line) + 1 for line in lines[: labels[0].line])
    total = sum(len(line) + 1 for line in lines)
    is_late = before > PREAMBLE_CHARS_MAX or before > max(PREAMBLE_SHARE_MAX * total, 200)
    return is_late or total > TURN_CHARS_MEAN_MAX * len(labels)


def _alternate(spoken: Sequence[Label]) -> bool:
    changes = sum(one.who != other.who for one, other in pairwise(spoken))
    return changes >= ALTERNATION_MIN * (len(spoken) - 1)


def _with_names(labels: Sequence[Label]) -> list[Label]:
    """Leave out the labels that are no known speaker's, but where only one of two is known the other's.

    That is a name which comes again, and which a chat with one known speaker cannot do without.
    """
    known = [label for label in labels if label.is_known]
    speakers = {label.who for label in known if label.role in ("user", "assistant")}
    if len(speakers) != 1:
        return known
    names = Counter(label.speaker for label in labels if not label.is_known)
    if not names or len(names) > len(known):
        return known
    name, count = names.most_common(1)[0]
    if count < NAME_TURNS_MIN or name is None or name.lower() in _NO_NAME:
        return known
    return [label for label in labels if label.is_known or label.speaker == name]


def _fenced(lines: Sequence[str]) -> frozenset[int]:
    """Return the numbers of the lines in fenced blocks; a fence that never ends fences nothing."""
    inside: set[int] = set()
    opened: tuple[int, str] | None = None
    for number, line in enumerate(lines):
        found = _FENCE.match(line)
        if found is None:
            continue
        if opened is None:
            opened = (number, found[1])
        elif found[1].startswith(opened[1]) and not line.strip().strip("`~"):
            inside.update(range(opened[0], number + 1))
            opened = None
    return frozenset(inside)


def _messenger(number: int, line: str) -> Label | None:
    for pattern in _MESSENGERS:
        if found := pattern.fullmatch(line):
            who = found["who"].strip()
            stamp = f"{found['date']} {found['clock']}".strip()
            return _of_name(number, who, stamp, found["rest"] or "")
    if found := _MESSENGER_NOTICE.fullmatch(line):
        stamp = f"{found['date'] or found['date2']} {found['clock'] or found['clock2']}"
        return Label(number, "system", None, stamp, found["rest"], is_notice=True)
    return None


def _irc(number: int, line: str) -> Label | None:
    found = _IRC.fullmatch(line)
    return _of_name(number, found["who"], found["stamp"], found["rest"] or "") if found else None


def _timed(number: int, line: str) -> Label | None:
    found = _TIMED.fullmatch(line)
    return _of_name(number, found["who"], found["stamp"], found["rest"] or "") if found else None


def _specstory(number: int, line: str) -> Label | None:
    found = _SPECSTORY.fullmatch(line)
    return _titled(number, found["label"], "") if found else None


def _said(number: int, line: str) -> Label | None:
    found = _SAID.fullmatch(line)
    label = _known(number, found["label"], None, "") if found else None
    return label if label is not None and label.is_known else None


def _heading(number: int, line: str) -> Label | None:
    found = _HEADING.fullmatch(without_closing(line))
    return _titled(number, found["label"], "") if found else None


def _bold(number: int, line: str) -> Label | None:
    found = _BOLD.fullmatch(line)
    if found is None or not (found["in"] or found["out"] or not found["rest"]):
        return None
    return _titled(number, found["label"], found["rest"] or "")


def _plain(number: int, line: str) -> Label | None:
    found = _PLAIN.fullmatch(line)
    return _titled(number, found["label"], found["rest"] or "", pairs=False) if found else None


def _titled(number: int, text: str, rest: str, *, pairs: bool = True) -> Label | None:
    """Read a label that may have a time, or a model and a time, in brackets or after a dash."""
    text = _DECORATION.sub("", text.strip().removesuffix(":")).removesuffix(" said" if pairs else "")
    found = _META.fullmatch(text)
    if found is None:
        return _known(number, text, None, rest, pairs=pairs)
    label, meta = found["label"] or found["label2"], found["meta"] or found["meta2"] or ""
    told = re.fullmatch(rf"(?P<model>.*?)[\s,]*(?P<stamp>{_ISO}|{_DATE},?\s+{_CLOCK}|{_CLOCK})", meta.strip())
    read = _known(number, label, told["stamp"] if told else None, rest, pairs=pairs)
    model = (told["model"] if told else meta).strip()
    if read is None or not read.is_known or not model:
        return read
    return Label(number, read.role, read.speaker or model, read.stamp, rest)


def _known(number: int, text: str, stamp: str | None, rest: str, *, pairs: bool = False) -> Label | None:
    """Return a label for whom the text names: a known speaker, or somebody who may be one."""
    text = _DECORATION.sub("", text)
    word = text.lower()
    if word in _USERS or word in _ASSISTANTS:
        return Label(number, "user" if word in _USERS else "assistant", None, stamp, rest)
    if word in _OTHERS:
        return Label(number, _OTHERS[word], None, stamp, rest)
    if pairs and word in _PAIR:
        return Label(number, _PAIR[word], None, stamp, rest)
    if _PRODUCT.fullmatch(text):
        return Label(number, "assistant", text, stamp, rest)
    if _NAME.fullmatch(text) and text[:1].isupper() and len(text.split()) <= 3:
        return Label(number, "user", text, stamp, rest, is_known=False)
    return None


def _of_name(number: int, who: str, stamp: str | None, rest: str) -> Label:
    if _PRODUCT.fullmatch(who):
        return Label(number, "assistant", who, stamp, rest)
    word = who.lower()
    if word in _USERS or word in _ASSISTANTS:
        return Label(number, "user" if word in _USERS else "assistant", None, stamp, rest)
    return Label(number, "user", who, stamp, rest)


_STYLES: Mapping[Style, Callable[[int, str], Label | None]] = {
    "messenger": _messenger,
    "irc": _irc,
    "timed": _timed,
    "specstory": _specstory,
    "said": _said,
    "heading": _heading,
    "bold": _bold,
    "plain": _plain,
}
_OF_LINES = frozenset({"messenger", "irc", "timed"})
