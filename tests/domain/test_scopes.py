"""Scopes: the longest mapped directory decides, and a repository's scope has its folder's name."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronofile.domain.scopes import ALL, NAME_CHARS_MAX, is_scope_name, project_scope, scope_of

MAPPED = {"/srv": "project:work", "/srv/api/deep": "project:deep", "/srv/api": "project:api"}


@pytest.mark.parametrize(
    ("directory", "expected"),
    [
        ("/srv", "project:work"),
        ("/srv/other/folder", "project:work"),
        ("/srv/api", "project:api"),
        ("/srv/api/src/a", "project:api"),
        ("/srv/api/deep/er", "project:deep"),
        ("/srv/api2", "project:work"),
        ("/srvshop", None),
        ("/", None),
        ("relative/folder", None),
    ],
)
def test_the_longest_mapped_directory_at_or_above_decides(directory: str, expected: str | None) -> None:
    assert scope_of(directory, MAPPED) == expected


def test_a_mapped_root_holds_everything() -> None:
    assert scope_of("/", {"/": "all-of-it"}) == "all-of-it"
    assert scope_of("/a/b", {"/": "all-of-it"}) == "all-of-it"
    assert scope_of("/a/b", {"/": "all-of-it", "/a": "a"}) == "a"


@given(
    directory=st.lists(st.sampled_from("abc"), max_size=5).map(lambda names: "/" + "/".join(names)),
    mapped=st.sets(st.lists(st.sampled_from("abc"), max_size=4).map(lambda names: "/" + "/".join(names))),
)
def test_it_is_the_same_as_looking_at_every_mapped_directory(directory: str, mapped: set[str]) -> None:
    above = [m for m in mapped if m in ("/", directory) or directory.startswith(f"{m}/")]

    assert scope_of(directory, {m: m for m in mapped}) == max(above, key=len, default=None)


@pytest.mark.parametrize(
    ("root", "expected"),
    [
        ("/home/mel/api", "project:api"),
        ("/home/mel/api/", "project:api"),
        ("/home/mel/My Project (new)", "project:My-Project-new"),
        ("/home/mel/grüezi-世界", "project:grüezi-世界"),
        ("/home/mel/.dotfiles", "project:dotfiles"),
        ("/home/mel/\udc80\udc81", "project:root"),
        ("/home/mel/...", "project:root"),
        ("/", "project:root"),
    ],
)
def test_a_repositorys_scope_is_named_for_its_folder(root: str, expected: str) -> None:
    assert project_scope(root, ()) == expected


def test_a_name_that_is_taken_is_numbered() -> None:
    taken: list[str] = []
    for _ in range(3):
        taken.append(project_scope("/somewhere/api", taken))

    assert taken == ["project:api", "project:api-2", "project:api-3"]


@given(root=st.text(st.characters(exclude_categories=[])).map(lambda name: f"/{name}"))
def test_every_folder_has_a_scope_whose_name_can_be_typed(root: str) -> None:
    assert re.fullmatch(r"project:[\w.-]+", project_scope(root, ()))
    assert is_scope_name(project_scope(root, ()))


def test_a_long_folder_s_scope_fits_also_when_it_is_numbered() -> None:
    first = project_scope("/" + "x" * 255, ())

    assert is_scope_name(first)
    assert is_scope_name(project_scope("/" + "x" * 255, {first}))


@pytest.mark.parametrize(
    "name", ["global", "project:api", "person:mel", "grüezi 世界", "ALL of it", "x" * NAME_CHARS_MAX]
)
def test_a_scope_can_be_called_by_any_short_line(name: str) -> None:
    assert is_scope_name(name)


@pytest.mark.parametrize(
    "name",
    [
        "",
        " ",
        "\u3000",
        ALL,
        " all ",
        "a\nb",
        "a\rb",
        "a\tb",
        "a\x85b",
        "a\u2028b",
        "a\0",
        "\ud800",
        "x" * 201,
    ],
)
def test_a_scope_cannot_be_called_all_nor_by_what_is_no_short_line(name: str) -> None:
    assert not is_scope_name(name)
