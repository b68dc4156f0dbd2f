"""A scan for certain paths alone: it finds of them what a scan of everything finds."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chronofile.ingest.scan import Found, Scanned, scan

NO_HOME = Path("/nowhere/chronofile")
NAMES = st.sampled_from(["a", "b", "c.md", "d.jsonl", ".e", "node_modules", "x.log", ".venv"])
RULES = st.sampled_from(["*.log", "a/", "!a/c.md", "/b/*", "!x.log", "c.md", "!.e/"])


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = Path(os.path.realpath(tmp_path)) / "project"
    for name in (
        "top.md",
        "a/one.md",
        "a/two.md",
        "a/deep/three.md",
        "b/four.md",
        ".git/config",
        ".f/t.jsonl",
    ):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(name, encoding="utf-8")
    return root


def found(scanned: Sequence[Scanned], below: Path) -> list[str]:
    return [str(item.path.relative_to(below)) for item in scanned if isinstance(item, Found)]


def only(tree: Path, *wanted: str, paths: Sequence[Path] = ()) -> list[str]:
    return found(list(scan(paths or [tree], home=NO_HOME, only={Path(tree, name) for name in wanted})), tree)


def test_only_the_wanted_files_are_found(tree: Path) -> None:
    assert only(tree, "a/two.md", "top.md") == ["a/two.md", "top.md"]


def test_all_that_is_below_a_wanted_folder_is_found(tree: Path) -> None:
    assert only(tree, "a") == ["a/deep/three.md", "a/one.md", "a/two.md"]
    assert only(tree, "") == only(tree, ".f", "a", "b", "top.md")


def test_what_is_not_there_and_what_is_elsewhere_yields_nothing(tree: Path) -> None:
    wanted = {tree / "gone.md", tree / "gone" / "x.md", tree / "a/one.md/x", tree.parent / "beside.md"}

    assert list(scan([tree], home=NO_HOME, only=wanted)) == []
    assert list(scan([tree / "gone"], home=NO_HOME, only={tree / "gone"})) == []
    assert list(scan([tree], home=NO_HOME, only=set())) == []


def test_rules_hold_on_the_way_as_they_do_for_everything(tree: Path) -> None:
    (tree / ".gitignore").write_text("b/\n")

    assert only(tree, "b/four.md", ".git/config", ".f/t.jsonl") == [".f/t.jsonl"]
    assert only(tree, "b/four.md", paths=[tree, tree / "b"]) == ["b/four.md"]


def test_a_file_that_was_given_by_name_is_found_if_it_is_wanted(tree: Path) -> None:
    named = tree / "a/one.md"
    (item,) = scan([named], home=NO_HOME, only={named})

    assert isinstance(item, Found)
    assert item.named
    assert list(scan([named], home=NO_HOME, only={tree / "a/two.md"})) == []
    assert found(list(scan([named], home=NO_HOME, only={tree})), tree) == ["a/one.md"]


def test_a_given_folder_within_a_wanted_one_is_walked_as_named(tree: Path) -> None:
    (tree / ".chronofileignore").write_text("a/\n")

    assert only(tree, "", paths=[tree, tree / "a/deep"]) == [
        ".f/t.jsonl", "b/four.md", "top.md", "a/deep/three.md"
    ]  # fmt: skip


@settings(max_examples=60, deadline=None)
@given(
    files=st.lists(st.lists(NAMES, min_size=1, max_size=4), max_size=12),
    rules=st.lists(RULES, max_size=3),
    wanted=st.lists(st.lists(NAMES, max_size=3), max_size=4),
)
def test_a_scan_for_paths_finds_of_them_what_a_scan_of_everything_finds(
    files: list[list[str]], rules: list[str], wanted: list[list[str]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        root = Path(os.path.realpath(folder))
        (root / ".gitignore").write_text("\n".join(rules))
        for parts in files:
            path = root.joinpath(*parts)
            if not any(above.is_file() for above in path.parents) and not path.exists():
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text("text")
        paths = {root.joinpath(*parts) for parts in wanted}

        everything = [item for item in scan([root], home=NO_HOME) if isinstance(item, Found)]
        some = [item for item in scan([root], home=NO_HOME, only=paths) if isinstance(item, Found)]

        def is_wanted(item: Found) -> bool:
            return bool(paths & {item.path, *item.path.parents})

        assert [item for item in some if is_wanted(item)] == [item for item in everything if is_wanted(item)]
        assert all(
            is_wanted(item) or item.path in {p for path in paths for p in path.parents} for item in some
        )
