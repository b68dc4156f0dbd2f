"""Git facts: the commit and the branch at which a file is captured, and whether it differs from that commit."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from chronofile.domain.events import RevisionCaptured
from chronofile.ingest.repositories import Facts, Repositories
from tests.builders import reverted, turn_line, write
from tests.world import World

GIT = shutil.which("git")
IDENTITY = ("-c", "user.name=Made Up", "-c", "user.email=made-up@example.invalid")

pytestmark = pytest.mark.skipif(GIT is None, reason="git is not installed")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository on the branch `trunk`, without a commit."""
    folder = Path(os.path.realpath(tmp_path)) / "project"
    folder.mkdir()
    git(folder, "init", "--quiet", "--initial-branch=trunk")
    return folder


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", *IDENTITY, "-C", str(folder), *words], check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def commit(folder: Path, files: Mapping[str, str | bytes], message: str = "A change") -> str:
    """Write files, commit everything, and return the commit."""
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    git(folder, "add", "--all")
    git(folder, "commit", "--quiet", "--allow-empty", "-m", message)
    return git(folder, "rev-parse", "HEAD")


def facts(root: Path, *names: str, asked: Repositories | None = None) -> list[Facts | None]:
    """Return the facts of files as they are now."""
    files = {root / name: (root / name).read_bytes() for name in names}
    found = (asked or Repositories(GIT)).facts(root, files)
    return [found.get(root / name) for name in names]


def script(path: Path, *lines: str) -> Path:
    path.write_text("\n".join(["#!/bin/sh", *lines, ""]), encoding="utf-8")
    path.chmod(0o755)
    return path


def test_a_file_is_as_committed_or_changed_or_not_in_the_commit(root: Path) -> None:
    at = commit(root, {"same.txt": "one\n", "changed.txt": "one\n", "sub/same.txt": "two\n"})
    (root / "changed.txt").write_text("another\n", encoding="utf-8")
    (root / "new.txt").write_text("new\n", encoding="utf-8")
    (root / "staged.txt").write_text("staged\n", encoding="utf-8")
    git(root, "add", "staged.txt")

    names = ("same.txt", "changed.txt", "sub/same.txt", "new.txt", "staged.txt")
    assert facts(root, *names) == [Facts(at, "trunk", dirty) for dirty in (False, True, False, True, True)]


def test_before_the_first_commit_there_is_a_branch_and_everything_is_new(root: Path) -> None:
    (root / "a.txt").write_text("a", encoding="utf-8")

    assert facts(root, "a.txt") == [Facts(None, "trunk", True)]


def test_while_no_branch_is_checked_out_there_is_only_a_commit(root: Path) -> None:
    at = commit(root, {"a.txt": "a"})
    git(root, "checkout", "--quiet", "--detach")

    assert facts(root, "a.txt") == [Facts(at, None, False)]


def test_packed_references_and_tags_and_slashes_in_branches_are_read(root: Path) -> None:
    commit(root, {"a.txt": "a"})
    git(root, "checkout", "--quiet", "-b", "topic/deep/näme")
    at = commit(root, {"a.txt": "b"})
    git(root, "tag", "-a", "v1", "-m", "A version")
    git(root, "pack-refs", "--all")

    assert not (root / ".git/refs/heads/topic").exists()
    assert facts(root, "a.txt") == [Facts(at, "topic/deep/näme", False)]


def test_a_worktree_has_a_branch_of_its_own(root: Path) -> None:
    first = commit(root, {"a.txt": "a"})
    other = root.parent / "other"
    git(root, "worktree", "add", "--quiet", "-b", "side", str(other))
    second = commit(other, {"a.txt": "b"})

    assert facts(root, "a.txt") == [Facts(first, "trunk", False)]
    assert facts(other, "a.txt") == [Facts(second, "side", False)]


def test_a_submodule_has_a_commit_of_its_own(root: Path) -> None:
    library = root.parent / "library"
    library.mkdir()
    git(library, "init", "--quiet", "--initial-branch=main")
    inner = commit(library, {"lib.txt": "lib"})
    git(root, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(library), "vendor/lib")
    outer = commit(root, {"a.txt": "a"})

    assert facts(root / "vendor/lib", "lib.txt") == [Facts(inner, "main", False)]
    assert facts(root, "a.txt") == [Facts(outer, "trunk", False)]


def test_names_that_git_would_take_for_patterns_or_options_are_names(root: Path) -> None:
    odd = [
        "-w.txt",
        ":(top)z",
        "[a]*?.txt",
        'quo"te.txt',
        "line\nbreak.txt",
        "Zoë.txt",
        os.fsdecode(b"caf\xe9.txt"),
    ]
    commit(root, dict.fromkeys([*odd, "a.txt"], "same"))

    assert [found and found.dirty for found in facts(root, *odd)] == [False] * len(odd)


def test_line_ends_alone_are_no_change(root: Path) -> None:
    git(root, "config", "core.autocrlf", "true")
    commit(root, {"a.txt": "one\r\ntwo\r\n"})

    assert [found and found.dirty for found in facts(root, "a.txt")] == [False]
    (root / "a.txt").write_bytes(b"one\r\nthree\r\n")
    assert [found and found.dirty for found in facts(root, "a.txt")] == [True]


def test_a_file_that_a_filter_alters_is_not_judged_and_the_filter_never_runs(root: Path) -> None:
    ran = root.parent / "ran"
    commit(root, {"a.txt": "one", "b.txt": "one", ".gitattributes": "a.txt filter=odd\n"})
    git(root, "config", "filter.odd.clean", str(script(root.parent / "clean", f"touch {ran}", "cat")))
    (root / "a.txt").write_text("two", encoding="utf-8")
    (root / "b.txt").write_text("two", encoding="utf-8")

    assert [found and found.dirty for found in facts(root, "a.txt", "b.txt")] == [None, True]
    assert not ran.exists()


def test_no_hook_and_no_monitor_of_the_repository_runs_and_nothing_is_written(root: Path) -> None:
    ran = root.parent / "ran"
    commit(root, {"a.txt": "a"})
    noting = str(script(root.parent / "noting", f"touch {ran}"))
    for hook in ("post-index-change", "reference-transaction", "post-checkout"):
        shutil.copy(noting, root / ".git/hooks" / hook)
    git(root, "config", "core.fsmonitor", noting)
    (root / "a.txt").write_text("b", encoding="utf-8")
    ran.unlink(missing_ok=True)
    before = {path: path.stat().st_mtime_ns for path in (root / ".git").rglob("*")}

    assert [found and found.dirty for found in facts(root, "a.txt")] == [True]
    assert not ran.exists()
    assert {path: path.stat().st_mtime_ns for path in (root / ".git").rglob("*")} == before


def test_without_git_the_commit_is_known_and_changes_are_not(root: Path) -> None:
    at = commit(root, {"a.txt": "a"})

    assert facts(root, "a.txt", asked=Repositories(None)) == [Facts(at, "trunk", None)]
    assert facts(root, "a.txt", asked=Repositories("/nowhere/git")) == [Facts(at, "trunk", None)]


def test_a_git_that_hangs_is_left_after_its_time_and_not_asked_again(root: Path, tmp_path: Path) -> None:
    at = commit(root, {"a.txt": "a"})
    asked = tmp_path / "asked"
    slow = Repositories(str(script(tmp_path / "git", f"echo once >> {asked}", "exec sleep 30")), limit_s=0.2)

    assert facts(root, "a.txt", asked=slow) == facts(root, "a.txt", asked=slow) == [Facts(at, "trunk", None)]
    assert asked.read_text(encoding="utf-8") == "once\n"


def test_variables_of_git_do_not_lead_it_elsewhere(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    at = commit(root, {"a.txt": "a"})
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("GIT_INDEX_FILE", "/nowhere")
    monkeypatch.setenv("GIT_WORK_TREE", "/nowhere")

    assert facts(root, "a.txt") == [Facts(at, "trunk", False)]


def test_a_repository_of_somebody_else_is_not_asked(root: Path, tmp_path: Path) -> None:
    at = commit(root, {"a.txt": "a"})
    refusing = Repositories(str(script(tmp_path / "git", "echo 'dubious ownership' >&2", "exit 128")))

    assert facts(root, "a.txt", asked=refusing) == [Facts(at, "trunk", None)]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_git_refuses_a_folder_that_was_given_away(root: Path) -> None:
    at = commit(root, {"a.txt": "a"})
    for path in (root, root / ".git"):
        os.chown(path, 65_534, 65_534)

    assert facts(root, "a.txt") == [Facts(at, "trunk", None)]


BROKEN: dict[str, tuple[str, bytes | None]] = {
    "no HEAD": ("HEAD", None),
    "an empty HEAD": ("HEAD", b""),
    "a HEAD of other bytes": ("HEAD", b"\0\xff\xfe"),
    "a HEAD that leads out": ("HEAD", b"ref: refs/../../../etc/passwd\n"),
    "a HEAD that is too long": ("HEAD", b"ref: refs/heads/" + b"x" * 10_000),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_repository_says_nothing(root: Path, what: str) -> None:
    commit(root, {"a.txt": "a"})
    name, content = BROKEN[what]
    (root / ".git" / name).unlink()
    if content is not None:
        (root / ".git" / name).write_bytes(content)

    assert facts(root, "a.txt") == [None]


def test_what_is_left_of_a_broken_repository_is_told(root: Path) -> None:
    at = commit(root, {"a.txt": "a"})
    (root / ".git/refs/heads/trunk").write_bytes(b"")
    assert facts(root, "a.txt") == [Facts(None, "trunk", None)]

    (root / ".git/refs/heads/trunk").write_text("ref: refs/heads/trunk\n", encoding="utf-8")
    assert facts(root, "a.txt") == [Facts(None, "trunk", None)]

    (root / ".git/refs/heads/trunk").write_text(f"{at}\n", encoding="utf-8")
    shutil.rmtree(root / ".git/objects")
    assert facts(root, "a.txt") == [Facts(at, "trunk", None)]


@pytest.mark.parametrize("is_file", [True, False])
def test_a_git_file_that_leads_nowhere_and_an_empty_git_folder_say_nothing(
    tmp_path: Path, *, is_file: bool
) -> None:
    if is_file:
        (tmp_path / ".git").write_text("gitdir: /nowhere\n", encoding="utf-8")
    else:
        (tmp_path / ".git").mkdir()
    (tmp_path / "a.txt").write_text("a", encoding="utf-8")

    assert facts(tmp_path, "a.txt") == [None]


def test_a_broken_repository_is_not_taken_for_the_one_around_it(root: Path) -> None:
    commit(root, {"inner/a.txt": "a"})
    at = git(root, "rev-parse", "HEAD")
    shutil.copytree(root / ".git", root / "inner/.git")
    shutil.rmtree(root / "inner/.git/objects")

    assert facts(root / "inner", "a.txt") == [Facts(at, "trunk", None)]


def test_references_in_a_table_are_asked_of_git(root: Path, tmp_path: Path) -> None:
    at = commit(root, {"a.txt": "a"})
    (root / ".git/reftable").mkdir()
    (root / ".git/HEAD").write_text("ref: refs/heads/.invalid\n", encoding="utf-8")
    lines = (f'case "$*" in *rev-parse*) echo {at}; echo refs/heads/trunk;;', "*) exit 128;; esac")
    newer = Repositories(str(script(tmp_path / "git", *lines)))

    assert facts(root, "a.txt", asked=newer) == [Facts(at, "trunk", None)]
    assert facts(root, "a.txt", asked=Repositories(None)) == [None]


def captured(world: World) -> list[tuple[str | None, str | None, bool | None]]:
    """Return the facts of every revision of a file, branches as texts."""
    found = [event for event in world.events() if isinstance(event, RevisionCaptured)]
    keys = [event.branch for event in found if event.branch]
    texts = {key: content.decode() for key, content in world.read(keys).items()}
    return [(event.commit, texts.get(event.branch or ""), event.dirty) for event in found]


def shown(world: World) -> Sequence[tuple[object, ...]]:
    world.catch_up()
    return world.rows(
        "SELECT git_commit, convert_from(git_branch, 'UTF8'), git_dirty FROM {sources}.source ORDER BY uri"
    )


def test_a_captured_file_keeps_where_its_repository_stood(world: World, root: Path) -> None:
    at = commit(root, {"a.txt": "A first text.\n"})
    world.capture(root)

    assert captured(world) == shown(world) == [(at, "trunk", False)]


def test_the_same_bytes_at_another_commit_append_nothing(world: World, root: Path) -> None:
    first = commit(root, {"a.txt": "A first text.\n"})
    world.capture(root)
    git(root, "checkout", "--quiet", "-b", "side")
    commit(root, {"b.md": ""})

    assert world.capture(root, again=True).revisions == 1
    assert captured(world)[0] == (first, "trunk", False)
    assert world.capture(root, again=True).batch is None


def test_a_change_is_captured_with_where_it_was_made(world: World, root: Path) -> None:
    first = commit(root, {"a.txt": "A first text.\n"})
    world.capture(root)
    (root / "a.txt").write_text("A second text.\n", encoding="utf-8")
    world.capture(root)
    second = commit(root, {"a.txt": "A third text.\n"})
    world.capture(root)

    assert captured(world) == [(first, "trunk", False), (first, "trunk", True), (second, "trunk", False)]
    assert shown(world) == [(second, "trunk", False)]


def test_outside_of_a_repository_and_in_transcripts_there_are_no_facts(world: World, root: Path) -> None:
    commit(root, {"a.txt": "A text.\n"})
    write(root / "b.turns.jsonl", turn_line("Words."))
    (root.parent / "c.txt").write_text("Elsewhere.", encoding="utf-8")
    world.capture(root / "b.turns.jsonl", root.parent / "c.txt")

    assert captured(world) == [(None, None, None)] * 2
    assert shown(world) == [(None, None, None)] * 2


def test_many_files_of_several_repositories_each_get_their_own(world: World, root: Path) -> None:
    files = {f"{n // 20}/{n}.txt": f"Text number {n}.\n" for n in range(450)}
    outer = commit(root, files)
    inner = root / "vendored"
    inner.mkdir()
    git(inner, "init", "--quiet", "--initial-branch=main")
    at = commit(inner, {"x.txt": "Inner text.\n"})
    (root / "3/70.txt").write_text("Changed.\n", encoding="utf-8")
    world.capture(root)

    found = captured(world)
    assert found.count((outer, "trunk", False)) == 449
    assert (outer, "trunk", True) in found
    assert (at, "main", False) in found


def test_an_undo_shows_where_the_repository_stood_before_and_a_rebuild_says_the_same(
    world: World, root: Path
) -> None:
    first = commit(root, {"a.txt": "A first text.\n"})
    world.capture(root)
    git(root, "checkout", "--quiet", "-b", "side")
    (root / "a.txt").write_text("A second text.\n", encoding="utf-8")
    changed = world.capture(root)
    assert shown(world) == [(first, "side", True)]

    world.given(f"batch-{changed.batch}", reverted())
    assert shown(world) == [(first, "trunk", False)]
    assert world.dump() == world.rebuilt(page_events=1)
