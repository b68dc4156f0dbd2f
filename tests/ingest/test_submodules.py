"""Submodules and monorepos: which scope and which topics their files get."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.world import World


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A repository with a submodule that comes first by its name."""
    root = Path(os.path.realpath(tmp_path)) / "shop"
    files = {
        ".git/HEAD": "",
        "readme.md": "What the shop is for.\n",
        "apps/web/src/pages/cart.md": "How the cart adds up.\n",
        "apps/api/src/orders.md": "How orders are kept.\n",
        "aaa/lib/.git": "gitdir: ../../.git/modules/lib\n",
        "aaa/lib/src/core.md": "What the library does.\n",
        "aaa/lib/notes.md": "What the library is.\n",
    }
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


def placed(world: World) -> dict[str, tuple[str, str | None]]:
    """Return the scope and the topic of each passage, by the file's name."""
    world.catch_up()
    rows = world.rows(
        "SELECT source.uri, scope.name, passage.topic FROM {passages}.passage AS passage"
        " JOIN {passages}.scope AS scope ON scope.no = passage.scope_no"
        " JOIN {passages}.source AS source ON source.id = passage.source"
    )
    return {uri.rpartition("/")[2]: (scope, topic) for uri, scope, topic in rows}


def test_a_submodule_that_is_come_to_through_its_project_belongs_to_that(world: World, project: Path) -> None:
    world.capture(project)

    assert placed(world) == {
        "readme.md": ("project:shop", None),
        "cart.md": ("project:shop", "apps/web"),
        "orders.md": ("project:shop", "apps/api"),
        "core.md": ("project:shop", "aaa/lib"),
        "notes.md": ("project:shop", "aaa/lib"),
    }


def test_a_submodule_alone_has_a_scope_of_its_own_and_keeps_it(world: World, project: Path) -> None:
    world.capture(project / "aaa/lib")
    assert placed(world) == {"core.md": ("project:lib", "src"), "notes.md": ("project:lib", None)}

    world.capture(project)
    assert placed(world)["core.md"] == ("project:lib", "src")
    assert placed(world)["readme.md"] == ("project:shop", None)


def test_repositories_in_a_folder_that_is_none_have_scopes_of_their_own(world: World, project: Path) -> None:
    other = project.parent / "other"
    (other / ".git").mkdir(parents=True)
    (other / "plan.md").write_text("What comes next.\n", encoding="utf-8")
    world.capture(project.parent)

    assert placed(world)["plan.md"] == ("project:other", None)
    assert placed(world)["core.md"] == ("project:shop", "aaa/lib")


def test_a_dry_run_places_nothing(world: World, project: Path) -> None:
    world.capture(project, dry_run=True)

    assert world.events() == []
