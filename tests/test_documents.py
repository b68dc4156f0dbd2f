"""The documents tell the truth: commands, options, links, files and words in them exist."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from chronofile.domain.formats.heads import Head
from chronofile.infra import embedded
from chronofile.infra.config import SETTINGS
from tests.documents import REPOSITORY, Document, document, documents, records

WORDS = (
    "source", "revision", "content", "turn", "passage", "scope", "topic", "kind", "link", "fact", "citation", "position",
    "projection", "checkpoint", "catch up", "follow", "generation", "activate", "recall", "candidate", "fuse", "rerank", "hit",
    "pack",
)  # fmt: skip
"""The vocabulary that code, tables, documents and output share."""

of_each_document = pytest.mark.parametrize("page", documents(), ids=str)
of_each_record = pytest.mark.parametrize("record", records(), ids=str)


@of_each_document
def test_every_command_and_option_in_a_document_exists(page: Document) -> None:
    wrong = []
    for words in page.calls_of("chronofile"):
        command = next((word for word in words if word in commands()), None)
        named = [word for word in words if not word.startswith("-")]
        if command is None and named:
            wrong.append(f"chronofile {' '.join(words)}: no such command")
        options = {word.partition("=")[0] for word in words if re.fullmatch(r"--?[a-z].*", word)}
        known = options_of(None) | (options_of(command) if command else set())
        wrong += [f"chronofile {command or ''}: no option {option}" for option in sorted(options - known)]
    assert wrong == []


@of_each_document
def test_every_target_of_make_in_a_document_exists(page: Document) -> None:
    makefile = (REPOSITORY / "Makefile").read_text()
    targets = set(re.findall(r"^([\w-]+):", makefile, re.MULTILINE))
    named = {word for words in page.calls_of("make") for word in words if "=" not in word}
    assert named - targets == set()


@of_each_document
def test_every_link_in_a_document_leads_somewhere(page: Document) -> None:
    broken = []
    for link in page.links:
        path, _, anchor = link.partition("#")
        target = (page.path.parent / path).resolve() if path else page.path
        if not target.exists() or (
            anchor and anchor not in Document(target, target.read_text("utf-8")).anchors
        ):
            broken.append(link)
    assert broken == []


@of_each_document
def test_every_file_that_a_document_names_exists(page: Document) -> None:
    def exists(name: str) -> bool:
        return any(REPOSITORY.glob(name)) or (REPOSITORY / f"{name}.py").is_file()

    assert [name for name in page.files if not exists(name)] == []


def test_every_command_is_shown_on_the_front_page() -> None:
    shown = {word for words in document("README.md").calls_of("chronofile") for word in words}
    assert set(commands()) - shown == set()


def test_the_front_page_begins_with_what_to_try_and_then_how_to_test() -> None:
    ways = [words for words in document("README.md").commands if words[:1] == ["make"]]
    assert ways[0] == ["make", "try"]
    assert next(words for words in ways if words[1] != "try") == ["make", "test"]


def test_every_setting_is_in_the_table_of_the_front_page() -> None:
    page = document("README.md")
    rows = [line for line in page.text.splitlines() if line.startswith("|")]
    for setting in SETTINGS:
        row = next((row for row in rows if f"`{setting.variable}`" in row), "")
        assert f"`{setting.name}`" in row, setting.variable
        assert setting.default is None or f"`{setting.default}`" in row, setting.variable
    assert any("`CHRONOFILE_HOME`" in row and "`--home`" in row for row in rows)


def test_the_example_in_python_on_the_front_page_runs(
    home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "servers.md").write_text("The staging server uses port 8443.\n")
    monkeypatch.setenv("CHRONOFILE_HOME", str(home))
    monkeypatch.chdir(tmp_path)
    (example,) = [block.code for block in document("README.md").blocks if block.language == "python"]
    try:
        exec(compile(example, "README.md", "exec"), {})
    finally:
        embedded.remove(home)
    assert capsys.readouterr().out.startswith("The staging server uses port 8443.")


def test_the_format_that_contributing_shows_is_one() -> None:
    examples = [block.code for block in document("CONTRIBUTING.md").blocks if block.language == "python"]
    parrot: dict[str, Any] = {}
    exec(compile(examples[0], "CONTRIBUTING.md", "exec"), parrot)
    lines = ('{"perch": "oak", "id": "1", "bird": "Ada", "squawk": "Land!", "time": "2026-05-08T12:00:00Z"}',)

    folded = parrot["fold"](None, [*lines, "", "garbage"])

    assert parrot["recognise"](Head("x", lines)).confidence == 1
    assert parrot["identify"](lines, "x").key == "oak"
    assert [(turn.key, turn.speaker, turn.text) for turn in folded.turns] == [("1", "Ada", "Land!")]
    assert folded.unreadable == 1


@of_each_record
def test_a_decision_record_ends_in_a_confirmation(record: Document) -> None:
    sections = re.split(r"^## ", record.text, flags=re.MULTILINE)
    names = [section.split("\n", 1)[0] for section in sections[1:]]
    assert names[:2] == ["Context", "Decision"]
    assert names[-1] == "Confirmation"
    confirmation = sections[-1].split("\n", 1)[1]
    assert re.search(r"`tests/|`benchmarks/|`make |\d", confirmation), "it names a test or a number"


def test_decision_records_are_numbered_without_gaps_and_listed_with_their_titles() -> None:
    index = document("docs/adr/README.md")
    for number, record in enumerate(records(), start=1):
        assert record.path.name.startswith(f"{number:04}-")
        title = record.headings[0].removeprefix(f"{number}. ")
        assert title != record.headings[0], f"{record} has its number in its title"
        assert f"| [{number}]({record.path.name}) | {title} |" in index.text


@pytest.mark.parametrize("word", WORDS)
def test_every_word_of_the_vocabulary_is_in_the_glossary(word: str) -> None:
    assert re.search(rf"^\*\*{word}\*\* (\(.+?\) )?- \S", document("docs/glossary.md").text, re.MULTILINE)


def test_every_dependency_has_a_line_in_its_decision_record() -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    required = {re.split(r"[\[<>=~! ]", name)[0] for name in project["dependencies"]}
    table = re.findall(r"^\| ([\w-]+) \|", document("docs/adr/0013-dependencies.md").text, re.MULTILINE)
    assert set(table) - {"package"} == required
    assert len(table) == len(set(table))


def test_the_changelog_tells_of_this_version() -> None:
    version = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]["version"]
    assert re.search(rf"^## {re.escape(version)}\b", document("CHANGELOG.md").text, re.MULTILINE)


@cache
def commands() -> tuple[str, ...]:
    """Return the commands that help lists."""
    listed = help_of(None).partition("\nCommands:\n")[2]
    return tuple(re.findall(r"^  ([a-z][\w-]*)  ", listed, re.MULTILINE))


@cache
def options_of(command: str | None) -> set[str]:
    return set(_options(help_of(command)))


@cache
def help_of(command: str | None) -> str:
    words = [command] if command else []
    call = [str(Path(sys.executable).with_name("chronofile")), *words, "--help"]
    done = subprocess.run(call, capture_output=True, text=True, check=True)
    return done.stdout


def _options(text: str) -> Iterator[str]:
    for line in text.partition("\nOptions:\n")[2].splitlines():
        if line.startswith("  -"):
            yield from re.findall(r"(?:^  |, |/ )(--?[a-z][\w-]*)", line)
