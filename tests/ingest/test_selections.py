"""Which files a selection wants, and which folders lead to them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronofile.ingest.selections import Selection


@pytest.mark.parametrize(
    ("pattern", "path", "is_wanted"),
    [
        ("*.jsonl", "a.jsonl", True),
        ("*.jsonl", "a/b.jsonl", False),
        ("*/b.jsonl", "a/b.jsonl", True),
        ("**/*.jsonl", "a.jsonl", True),
        ("**/*.jsonl", "a/b/c.jsonl", True),
        ("**/*.jsonl", "a/b/c.json", False),
        ("a/**/z/*.db", "a/z/x.db", True),
        ("a/**/z/*.db", "a/b/c/z/x.db", True),
        ("a/**/z/*.db", "b/z/x.db", False),
        ("local_*/x", "local_1/x", True),
        ("[a]/x", "[a]/x", False),
        ("opencode-*.db", "opencode.db", False),
    ],
)
def test_a_pattern_names_files_by_their_path(pattern: str, path: str, *, is_wanted: bool) -> None:
    assert Selection((pattern,)).holds(path.split("/")) is is_wanted


@pytest.mark.parametrize(
    ("pattern", "folder", "leads"),
    [
        ("*.jsonl", "a", False),
        ("*/b.jsonl", "a", True),
        ("*/b.jsonl", "a/c", False),
        ("**/*.jsonl", "a/b/c", True),
        ("*/chats/*.json", "a/chats", True),
        ("*/chats/*.json", "a/logs", False),
        ("a/**/z/*.db", "a/b", True),
        ("a/**/z/*.db", "b", False),
    ],
)
def test_a_folder_is_entered_only_where_it_leads_to_something(
    pattern: str, folder: str, *, leads: bool
) -> None:
    assert Selection((pattern,)).leads_to(folder.split("/")) is leads


names = st.lists(st.sampled_from(["a", "b", "chats", "x.jsonl"]), min_size=1, max_size=5)
patterns = st.lists(st.sampled_from(["a", "*", "**", "chats", "*.jsonl"]), min_size=1, max_size=5).map(
    "/".join
)


@given(path=names, pattern=patterns)
def test_every_folder_above_a_wanted_file_leads_to_it(path: list[str], pattern: str) -> None:
    selection = Selection((pattern,))

    if selection.holds(path):
        assert all(selection.leads_to(path[:depth]) for depth in range(1, len(path)))
