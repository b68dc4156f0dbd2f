"""The documents as tests read them: their links, their code, and the commands in it."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

REPOSITORY = Path(__file__).resolve().parent.parent
RECORDS = REPOSITORY / "docs" / "adr"

_FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`([^`]+)`")
_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_FOLDERS = "benchmarks|chronofile|docs|domain|infra|ingest|projections|query|scripts|tests"
_FILE = re.compile(rf"(?:{_FOLDERS})/[\w./*-]*")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
_ASSIGNMENT = re.compile(r"\w+=.*", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Block:
    """Fenced code; `language` is empty where none is named."""

    language: str
    code: str


@dataclass(frozen=True, slots=True)
class Document:
    """One Markdown file of the project."""

    path: Path
    text: str

    def __str__(self) -> str:
        return str(self.path.relative_to(REPOSITORY))

    @property
    def blocks(self) -> list[Block]:
        return [Block(*found) for found in _FENCED.findall(self.text)]

    @property
    def inline(self) -> list[str]:
        """Code within sentences, each on one line."""
        return [" ".join(code.split()) for code in _INLINE.findall(self._prose)]

    @property
    def links(self) -> list[str]:
        """The targets within the project."""
        return [target for target in _LINK.findall(self._prose) if "://" not in target]

    @property
    def files(self) -> list[str]:
        """The files that code in sentences names; `*` stands for anything."""
        return [found[0].rstrip("/.") for code in self.inline if (found := _FILE.match(code))]

    @property
    def anchors(self) -> set[str]:
        return {re.sub(r"[^\w -]", "", heading).lower().replace(" ", "-") for heading in self.headings}

    @property
    def headings(self) -> list[str]:
        return _HEADING.findall(self._prose)

    @property
    def commands(self) -> list[list[str]]:
        """Every simple command in shell blocks and in sentences, as its words."""
        lines = [line for block in self.blocks if block.language == "sh" for line in block.code.splitlines()]
        return [words for line in (*lines, *self.inline) for words in _simple_commands(line)]

    def calls_of(self, program: str) -> list[list[str]]:
        """The words after the program's name in each command that calls it, also behind another's `--`."""
        found = []
        for words in self.commands:
            start = words.index("--") + 1 if "--" in words else 0
            if words[start:] and words[start] == program:
                found.append(words[start + 1 :])
        return found

    @property
    def _prose(self) -> str:
        return _FENCED.sub("", self.text)


def documents() -> list[Document]:
    """Return every document, the front page first."""
    paths = [REPOSITORY / "README.md", *sorted({*REPOSITORY.glob("*.md"), *REPOSITORY.glob("docs/**/*.md")})]
    return [Document(path, path.read_text("utf-8")) for path in dict.fromkeys(paths)]


def document(name: str) -> Document:
    path = REPOSITORY / name
    return Document(path, path.read_text("utf-8"))


def records() -> list[Document]:
    """Return the decision records by number."""
    return [document(str(path.relative_to(REPOSITORY))) for path in sorted(RECORDS.glob("[0-9]*.md"))]


def _simple_commands(line: str) -> Iterator[list[str]]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars="|&;<>")
    lexer.whitespace_split = True
    try:
        words = list(lexer)
    except ValueError:
        return  # No shell would take it: it is something else.
    command: list[str] = []
    for word in [*words, ";"]:
        if set(word) <= set("|&;<>"):
            yield command
            command = []
        elif command or not _ASSIGNMENT.fullmatch(word):
            command.append(word)
