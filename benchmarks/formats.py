"""Transcript formats on real files: `python benchmarks/formats.py FOLDER [--phrases 100]`.

FOLDER has a folder for each tool, with its files below. Each is ingested with `chronofile ingest` into a home of its
own; the table has what came of it: files, conversations, turns, records of unknown types, unreadable ones, and failures
(rejections). Then phrases of six words, without markup, are drawn from the strings of the files themselves, whatever
these are, and searched for: the table has how many are in one of the first ten passages, word for word.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sqlite3
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SEED = 20260508
PHRASE_WORDS = 6
_MARKS = re.compile(r"^[#>*_ ]+", re.MULTILINE)
_SPACE = re.compile(r"\s+")
_WORDS = re.compile(r"[^\W\d_]{2,}")
_SENTENCE = re.compile(r"[\w\s'’\"“”(),.;:!?/%&$€+-]+")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--phrases", type=int, default=100)
    parser.add_argument("--missed", action="store_true", help="print the phrases that were not found")
    given = parser.parse_args()
    print(
        "| files of | files | conversations | turns | unknown records | unreadable | failures | phrases found |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for folder in sorted(path for path in given.folder.iterdir() if path.is_dir()):
        with tempfile.TemporaryDirectory() as home:
            print(row(folder, Path(home), given.phrases, missed=given.missed), flush=True)


def row(folder: Path, home: Path, phrases: int, *, missed: bool) -> str:
    report = json.loads(chronofile(home, "ingest", str(folder), "--wait", "words", "--json"))
    entries = json.loads(chronofile(home, "sources", "--json"))
    conversations = [entry for entry in entries if entry["format"] != "text" and entry["session"]]
    omitted: dict[str, int] = {}
    for entry in conversations:
        for record, count in entry["omissions"].items():
            omitted[record] = omitted.get(record, 0) + count
    turns = len(chronofile(home, "export", "--format", "turns").splitlines())
    unknown = sum(count for record, count in omitted.items() if record.startswith("unknown"))
    files = [path for path in folder.rglob("*") if path.is_file()]
    found, asked = found_again(folder, home, phrases, missed=missed)
    cells = (
        folder.name, len(files), len(conversations), turns, unknown, omitted.get("unreadable records", 0),
        len(report["rejected"]), f"{found} of {asked}",
    )  # fmt: skip
    return "| " + " | ".join(map(str, cells)) + " |"


def found_again(folder: Path, home: Path, wanted: int, *, missed: bool) -> tuple[int, int]:
    """Return how many phrases are found again verbatim, and how many were searched for."""
    chance = random.Random(SEED)
    every = sorted(set(strings(folder)))
    drawn = [phrase for text in every for phrase in phrases_of(text)]
    phrases = chance.sample(drawn, min(wanted, len(drawn)))
    lines = "".join(json.dumps({"id": str(i), "query": one}) + "\n" for i, one in enumerate(phrases))
    batch = home / "phrases.jsonl"
    batch.write_text(lines)
    answers = chronofile(home, "search", "--batch", str(batch), "--limit", "10", "--scope", "all")
    found = 0
    for phrase, line in zip(phrases, answers.splitlines(), strict=True):
        texts = [_SPACE.sub(" ", hit["text"]) for hit in json.loads(line)["hits"]]
        is_found = any(phrase in text for text in texts)
        found += is_found
        if missed and not is_found:
            print(f"  not found: {phrase!r}", file=sys.stderr)
    return found, len(phrases)


def phrases_of(text: str) -> Iterator[str]:
    """Yield the runs of six words within one line of a text, one from each forty words."""
    for line in text.split("\n"):
        words = line.split()
        for at in range(0, len(words) - PHRASE_WORDS + 1, 40):
            phrase = " ".join(words[at : at + PHRASE_WORDS])
            if _SENTENCE.fullmatch(phrase) and len(_WORDS.findall(phrase)) >= PHRASE_WORDS - 1:
                yield phrase


def strings(folder: Path) -> Iterator[str]:
    """Yield the strings of all files as they say it: JSON's, those of databases, and the lines of other text."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield from _of_file(path)


def _of_file(path: Path) -> Iterator[str]:
    content = path.read_bytes()
    if content.startswith(b"SQLite format 3"):
        with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as conn:
            for (table,) in conn.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
                for values in conn.execute(f'SELECT * FROM "{table}"'):  # noqa: S608
                    for value in values:
                        raw = value.encode() if isinstance(value, str) else value
                        yield from _of_bytes(raw) if isinstance(raw, bytes) else ()
    elif content.startswith(b"PK\x03\x04"):
        with zipfile.ZipFile(path) as archive:
            for name in archive.namelist():
                yield from _of_bytes(archive.read(name)) if name.endswith(".json") else ()
    elif b"\0" not in content:
        yield from _of_bytes(content)


def _of_bytes(content: bytes) -> Iterator[str]:
    text = content.decode("utf-8-sig", "replace")
    try:
        yield from _in(json.loads(text))
    except ValueError:
        lines = text.split("\n")
        values = [value for line in lines if (value := _json(line)) is not None]
        if values:
            for value in values:
                yield from _in(value)
        else:
            # Marks of Markdown say who speaks in a chat, and are not said.
            yield _MARKS.sub("", text)


def _json(line: str) -> Any:
    try:
        value = json.loads(line)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _in(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for item in value.values():
            yield from _in(item)
    elif isinstance(value, list):
        for item in value:
            yield from _in(item)


def chronofile(home: Path, *words: str) -> str:
    ran = subprocess.run(
        [sys.executable, "-m", "chronofile.infra.cli", "--home", str(home), *words],
        check=False,
        capture_output=True,
        text=True,
    )
    if ran.returncode not in {0, 1}:
        raise SystemExit(ran.stderr)
    return ran.stdout


if __name__ == "__main__":
    main()
