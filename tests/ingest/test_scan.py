"""Which files a scan finds, and what it says about the others."""

from __future__ import annotations

import os
import shutil
import socket
import stat
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from chronofile.domain.rejection import OMISSION_SENTENCES, REJECTION_SENTENCES, Omitted, Rejected
from chronofile.ingest import walked
from chronofile.ingest.scan import Found, Scanned, scan

NO_HOME = Path("/nowhere/chronofile")
NOBODY = 65_534


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    return Path(os.path.realpath(tmp_path)) / "project"


def write(folder: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def found(scanned: Sequence[Scanned], folder: Path) -> list[str]:
    return [str(item.path.relative_to(folder)) for item in scanned if isinstance(item, Found)]


def omitted(scanned: Sequence[Scanned], folder: Path) -> dict[str, str]:
    return {str(item.path.relative_to(folder)): item.reason for item in scanned if isinstance(item, Omitted)}


def rejected(scanned: Sequence[Scanned]) -> list[tuple[Path, str]]:
    return [(item.path, item.reason) for item in scanned if isinstance(item, Rejected)]


def look(*paths: Path, home: Path = NO_HOME) -> list[Scanned]:
    return list(scan(paths, home=home))


def test_files_come_in_the_order_of_their_paths_with_the_root_of_their_repository(tree: Path) -> None:
    write(tree, {"b.txt": "", "a/z.txt": "", "a/b/c.txt": "", "a-b/d.txt": "", "vendor/lib/e.txt": ""})
    (tree / ".git").mkdir()
    (tree / "vendor/lib/.git").mkdir()

    scanned = look(tree)

    assert found(scanned, tree) == ["a/b/c.txt", "a/z.txt", "a-b/d.txt", "b.txt", "vendor/lib/e.txt"]
    roots = {item.path.name: item.root for item in scanned if isinstance(item, Found)}
    assert roots["b.txt"] == tree
    assert roots["e.txt"] == tree / "vendor/lib"


def test_outside_of_a_repository_there_is_no_root(tree: Path) -> None:
    write(tree, {"a.txt": ""})

    assert look(tree, tree / "a.txt") == [Found(tree / "a.txt", named=True, root=None)]


def test_a_deeper_ignore_file_wins_and_can_take_a_file_in_again(tree: Path) -> None:
    write(tree, {".gitignore": "*.log\n/top.txt\n", "a/.gitignore": "!kept.log\n"})
    write(tree, {"x.log": "", "a/kept.log": "", "a/other.log": "", "a/top.txt": "", "top.txt": ""})

    assert found(look(tree), tree) == ["a/kept.log", "a/top.txt"]


def test_a_file_cannot_be_taken_in_again_below_an_ignored_folder(tree: Path) -> None:
    write(tree, {".gitignore": "build/\n!build/kept.txt\n", "build/kept.txt": "", "a.txt": ""})

    scanned = look(tree)

    assert found(scanned, tree) == ["a.txt"]
    assert omitted(scanned, tree) == {".gitignore": "dotfile", "build": "ignored"}


def test_our_own_rules_win_over_those_of_git_however_deep_these_are(tree: Path) -> None:
    write(tree, {".gitignore": "*.log\n", ".chronofileignore": "!x.log\nsecret.txt\n"})
    write(tree, {"a/.gitignore": "x.log\n!secret.txt\n", "a/x.log": "", "a/y.log": "", "a/secret.txt": ""})

    assert found(look(tree), tree) == ["a/x.log"]


def test_our_own_rules_take_in_what_is_left_out_by_default(tree: Path) -> None:
    write(tree, {".chronofileignore": "!.github/\n!uv.lock\n!node_modules/\n!.env.example\n"})
    write(
        tree, {".github/workflows/ci.yml": "", "uv.lock": "", "node_modules/m/a.js": "", ".env.example": ""}
    )

    assert found(look(tree), tree) == [
        ".env.example",
        ".github/workflows/ci.yml",
        "node_modules/m/a.js",
        "uv.lock",
    ]


def test_rules_of_parents_up_to_the_repository_hold_for_a_folder_within_it(tree: Path) -> None:
    write(tree, {".gitignore": "*.log\n", "a/.chronofileignore": "*.tmp\n", "a/b/x.log": "", "a/b/x.tmp": ""})
    write(tree, {"a/b/x.txt": "", "../.gitignore": "*.txt\n"})
    (tree / ".git").mkdir()

    assert found(look(tree / "a/b"), tree) == ["a/b/x.txt"]


def test_a_folder_that_is_given_by_name_is_looked_into_although_rules_ignore_it(tree: Path) -> None:
    write(
        tree,
        {".gitignore": "*\n", "out/deep/a.txt": "", "out/deep/.gitignore": "b.txt\n", "out/deep/b.txt": ""},
    )
    (tree / ".git").mkdir()

    assert found(look(tree), tree) == []
    assert found(look(tree / "out"), tree) == ["out/deep/a.txt"]
    assert found(look(tree, tree / "out"), tree) == ["out/deep/a.txt"]
    assert found(look(tree / "out/deep"), tree) == ["out/deep/a.txt"]


def test_the_excludes_of_the_repository_are_read_also_from_a_worktree(tree: Path) -> None:
    write(tree, {"main/.git/info/exclude": "*.note\n", "main/.git/worktrees/w/commondir": "../..\n"})
    write(tree, {"w/.git": f"gitdir: {tree}/main/.git/worktrees/w\n"})
    write(tree, {"main/a.note": "", "main/a.txt": "", "w/b.note": "", "w/b.txt": ""})

    assert found(look(tree), tree) == ["main/a.txt", "w/b.txt"]


def test_an_ignore_file_may_have_a_mark_and_windows_line_ends_and_void_patterns(tree: Path) -> None:
    write(tree, {"a.log": "", "b.txt": "", "c.tmp": ""})
    (tree / ".gitignore").write_bytes(b"\xef\xbb\xbf*.log\r\n[z-a]\r\n!\r\nodd\\\r\n[[:x]\r\n*.tmp\r\n")

    assert found(look(tree), tree) == ["b.txt"]


def test_an_ignore_file_that_cannot_be_read_is_reported(tree: Path) -> None:
    write(tree, {"a.txt": ""})
    (tree / ".gitignore").symlink_to("a.txt")

    scanned = look(tree)

    assert rejected(scanned) == [(tree / ".gitignore", "not-regular")]
    assert found(scanned, tree) == ["a.txt"]


def test_lock_files_dotfiles_and_tool_folders_are_omitted_with_their_reasons(tree: Path) -> None:
    write(tree, {"a.py": "", "uv.lock": "", ".env": "", "node_modules/m/a.js": "", "__pycache__/a.pyc": ""})
    write(tree, {"env/pyvenv.cfg": "", "env/lib/a.py": "", ".git/config": "", ".idea/x.xml": ""})
    write(tree, {"target/CACHEDIR.TAG": "Signature: 8a477f597d28d172789f06886806bc55\n", "target/a.rs": ""})
    write(tree, {"notes/CACHEDIR.TAG": "This one has no signature.\n"})

    scanned = look(tree)

    assert found(scanned, tree) == ["a.py", "notes/CACHEDIR.TAG"]
    assert omitted(scanned, tree) == {
        ".env": "dotfile",
        ".git": "tool-folder",
        ".idea": "dotfile",
        "__pycache__": "tool-folder",
        "env": "tool-folder",
        "node_modules": "tool-folder",
        "target": "tool-folder",
        "uv.lock": "lock-file",
    }


def test_what_may_be_a_transcript_is_found_in_dot_folders_under_a_condition(tree: Path) -> None:
    write(tree, {".agent/logs/a.jsonl": "", ".agent/settings.json": "", ".one.jsonl": "", "b.jsonl": ""})

    scanned = look(tree)

    assert {str(i.path.relative_to(tree)): i.otherwise for i in scanned if isinstance(i, Found)} == {
        ".agent/logs/a.jsonl": "dotfile",
        ".one.jsonl": "dotfile",
        "b.jsonl": None,
    }
    assert omitted(scanned, tree) == {".agent": "dotfile"}


def test_rules_hold_for_transcripts_in_dot_folders_too(tree: Path) -> None:
    write(tree, {".gitignore": ".agent/\n", ".agent/a.jsonl": ""})

    assert omitted(look(tree), tree) == {".agent": "ignored", ".gitignore": "dotfile"}


def test_a_dot_folder_with_too_many_entries_is_given_up_and_reported(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(walked.Allowance.__init__, "__defaults__", (5,))
    write(tree, {f".big/{number}/a.jsonl": "" for number in range(4)})
    write(tree, {".small/a.jsonl": ""})

    scanned = look(tree)

    assert found(scanned, tree) == [".big/0/a.jsonl", ".small/a.jsonl"]
    assert (Omitted(tree / ".big", "too-many-entries")) in scanned


def test_a_path_given_by_name_is_taken_whatever_the_rules_say(tree: Path) -> None:
    names = [".env", ".agent/x.txt", "ignored.txt", "node_modules/m/a.js", "uv.lock"]
    write(tree, {".gitignore": "ignored.txt\n", **dict.fromkeys(names, "")})
    (tree / ".git").mkdir()
    paths = [tree / name for name in names]

    assert look(*paths) == [Found(path, named=True, root=tree) for path in sorted(paths)]
    assert found(look(tree, *paths), tree) == [
        ".agent/x.txt",
        ".env",
        "ignored.txt",
        "uv.lock",
        "node_modules/m/a.js",
    ]


def test_everything_below_a_dot_folder_given_by_name_is_taken(tree: Path) -> None:
    write(tree, {".agent/projects/-home-mel/a.jsonl": "", ".agent/projects/-home-mel/notes.md": ""})

    expected = [f".agent/projects/-home-mel/{name}" for name in ("a.jsonl", "notes.md")]
    assert found(look(tree / ".agent/projects"), tree) == expected
    assert found(look(tree, tree / ".agent/projects"), tree) == expected


def test_overlapping_and_repeated_paths_give_each_file_once(tree: Path) -> None:
    write(tree, {"a/b/x.txt": "", "a/y.txt": ""})

    scanned = look(tree / "a/b", tree, tree / "a/b/x.txt", tree / "a", tree / "a/../a/b/x.txt", tree)

    assert found(scanned, tree) == ["a/b/x.txt", "a/y.txt"]
    assert [item.named for item in scanned if isinstance(item, Found)] == [True, False]


def test_links_are_omitted_where_they_are_met_and_followed_where_they_are_named(tree: Path) -> None:
    write(tree, {"real/a.txt": "", "elsewhere/b.txt": ""})
    (tree / "real/loop").symlink_to(tree)
    (tree / "real/to-file").symlink_to(tree / "elsewhere/b.txt")
    (tree / "to-folder").symlink_to(tree / "elsewhere")

    assert omitted(look(tree / "real"), tree) == {"real/loop": "symlink", "real/to-file": "symlink"}
    assert found(look(tree / "to-folder", tree / "real/to-file"), tree) == ["elsewhere/b.txt"]


def test_a_path_that_is_missing_or_leads_nowhere_is_rejected(tree: Path) -> None:
    write(tree, {"a.txt": ""})
    (tree / "dangling").symlink_to("gone")
    (tree / "circle").symlink_to("circle")

    missing = [tree / "b.txt", tree / "a.txt/c", tree / "dangling"]
    assert sorted(rejected(look(*missing, Path("a\0b")))) == sorted(
        [(path, "missing") for path in [*missing, Path("a\0b")]]
    )
    assert rejected(look(tree / "circle")) == [(tree / "circle", "not-regular")]


def test_pipes_and_sockets_are_rejected_and_never_opened(tree: Path) -> None:
    tree.mkdir()
    os.mkfifo(tree / "pipe")
    with tempfile.TemporaryDirectory() as short, socket.socket(socket.AF_UNIX) as listening:
        listening.bind(f"{short}/s")
        socket_path = Path(os.path.realpath(short)) / "s"

        assert rejected(look(tree, socket_path.parent)) == [
            (path, "not-regular") for path in sorted([tree / "pipe", socket_path])
        ]
        assert rejected(look(tree / "pipe")) == [(tree / "pipe", "not-regular")]


def test_the_home_is_never_found_neither_met_nor_named_nor_from_within(tree: Path) -> None:
    write(tree, {"a.txt": "", "home/config.toml": "", "home/spool/x.jsonl": ""})
    (tree / "alias").symlink_to(tree / "home")
    home = tree / "home"

    for named_home in (home, tree / "alias"):
        assert look(tree / "home/spool/x.jsonl", home=named_home) == [
            Omitted(tree / "home/spool/x.jsonl", "home")
        ]
        assert look(home, home=named_home) == [Omitted(home, "home")]
        scanned = look(tree, home, home=named_home)
        assert found(scanned, tree) == ["a.txt"]
        assert omitted(scanned, tree) == {"alias": "symlink", "home": "home"}


def test_names_that_are_not_utf8_are_kept(tree: Path) -> None:
    tree.mkdir()
    name = os.fsdecode(b"caf\xe9.txt")
    (tree / name).write_text("")
    (tree / ".gitignore").write_bytes(b"na\xefve.txt\n")
    (tree / os.fsdecode(b"na\xefve.txt")).write_text("")

    assert found(look(tree), tree) == [name]


@pytest.fixture
def deep(tree: Path) -> Iterator[Callable[[int], Path]]:
    """Make a file below folders whose path has about so many characters, also more than the system can open."""

    def make(characters: int) -> Path:
        folder = tree
        tree.mkdir(parents=True)
        descriptor = os.open(tree, os.O_RDONLY)
        while len(str(folder)) < characters - 10:
            name = "d" * min(100, characters - 10 - len(str(folder)))
            os.mkdir(name, dir_fd=descriptor)
            inner = os.open(name, os.O_RDONLY, dir_fd=descriptor)
            os.close(descriptor)
            descriptor, folder = inner, folder / name
        os.close(os.open("file.txt", os.O_CREAT | os.O_WRONLY, dir_fd=descriptor))
        os.close(descriptor)
        return folder / "file.txt"

    yield make
    shutil.rmtree(tree)


def test_a_path_of_four_thousand_characters_is_found(deep: Callable[[int], Path], tree: Path) -> None:
    path = deep(4_000)

    assert look(tree) == [Found(path, named=False, root=None)]


def test_a_folder_whose_path_is_too_long_is_rejected(deep: Callable[[int], Path], tree: Path) -> None:
    path = deep(5_000)

    assert [reason for _, reason in rejected(look(tree))] == ["path-too-long"]
    assert rejected(look(path)) == [(path, "path-too-long")]


def test_folders_nested_deeper_than_python_calls_are_walked(tree: Path) -> None:
    tree.mkdir()
    folders = [tree / "d"]
    while len(folders) < 1_200:
        folders.append(folders[-1] / "d")
    for folder in folders:
        folder.mkdir()
    path = folders[-1] / "x.txt"
    path.touch()

    try:
        assert look(tree) == [Found(path, named=False, root=None)]
    finally:
        # What removes temporary folders calls itself once for each level.
        subprocess.run(["rm", "-rf", tree], check=True)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody whom permissions bind")
def test_a_folder_that_may_not_be_listed_is_rejected_and_the_walk_goes_on(tree: Path) -> None:
    write(tree, {"a/x.txt": "", "b/x.txt": ""})
    (tree / "a").chmod(0)
    closed = {f: m for f in (tree, *tree.parents) if (m := stat.S_IMODE(f.stat().st_mode)) & 0o005 != 0o005}
    for folder, mode in closed.items():
        folder.chmod(mode | 0o555)
    os.seteuid(NOBODY)
    try:
        scanned = look(tree)
    finally:
        os.seteuid(0)
        for folder, mode in closed.items():
            folder.chmod(mode)

    assert rejected(scanned) == [(tree / "a", "unreadable-folder")]
    assert found(scanned, tree) == ["b/x.txt"]


def test_a_folder_that_vanishes_while_the_walk_is_on_its_way_is_rejected(tree: Path) -> None:
    write(tree, {"a.txt": "", "b/x.txt": "", "c.txt": ""})
    scanned = scan([tree], home=NO_HOME)

    first = next(scanned)
    shutil.rmtree(tree / "b")

    assert [first, *scanned] == [
        Found(tree / "a.txt", named=False, root=None),
        Rejected(tree / "b", "vanished", os.strerror(2)),
        Found(tree / "c.txt", named=False, root=None),
    ]


def test_every_reason_has_a_sentence() -> None:
    sentences = [*REJECTION_SENTENCES.values(), *OMISSION_SENTENCES.values()]

    assert all(sentence.endswith(".") for sentence in sentences)
    assert len(set(sentences)) == len(sentences)


NAME = st.sampled_from(["a", "b", "ab", "c.x", "d.y", "e x"])
PATHS = st.lists(st.lists(NAME, min_size=1, max_size=4).map("/".join), min_size=1, max_size=12)
SEGMENT = NAME | st.sampled_from(["*", "**", "*.x", "?", "a*", "[ab]", "[!a]", "c.[x-z]"])
PATTERN = st.builds(
    lambda sign, start, segments, end: sign + start + "/".join(segments) + end,
    st.sampled_from(["", "", "!"]),
    st.sampled_from(["", "", "/"]),
    st.lists(SEGMENT, min_size=1, max_size=3),
    st.sampled_from(["", "", "/", " "]),
)
IGNORE_FILES = st.dictionaries(
    st.sampled_from([".gitignore", "a/.gitignore", "a/b/.gitignore", ".git/info/exclude"]),
    st.lists(PATTERN, min_size=1, max_size=5),
    max_size=4,
)


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed to be compared with")
@settings(max_examples=25, deadline=None)
@given(paths=PATHS, ignore_files=IGNORE_FILES)
def test_the_files_are_those_that_git_would_add(paths: list[str], ignore_files: dict[str, list[str]]) -> None:
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    with tempfile.TemporaryDirectory() as temporary:
        tree = Path(os.path.realpath(temporary))
        subprocess.run(["git", "init", "-q", "--template="], cwd=tree, env=environment, check=True)
        for name in paths:
            if not (tree / name).is_dir() and not _is_below_a_file(tree, name):
                write(tree, {name: ""})
        for name, patterns in ignore_files.items():
            if not _is_below_a_file(tree, name):
                write(tree, {name: "\n".join(patterns)})
        listing = subprocess.run(
            ["git", "ls-files", "--others", "--exclude-standard", "-z"],
            cwd=tree,
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        )
        added = sorted(
            name for name in listing.stdout.split("\0") if name and not name.endswith(".gitignore")
        )

        assert sorted(found(look(tree), tree)) == added


def _is_below_a_file(tree: Path, name: str) -> bool:
    return any((tree / above).is_file() for above in Path(name).parents)


@pytest.fixture
def user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The home of the user whose settings of git count."""
    monkeypatch.setenv("HOME", str(tmp_path / "user"))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    monkeypatch.delenv("GIT_CONFIG_GLOBAL", raising=False)
    return tmp_path / "user"


def test_a_deeper_rule_takes_in_again_what_one_further_up_ignores(tree: Path) -> None:
    write(
        tree, {".gitignore": "*.log\n/a/b/\n", "a/.gitignore": "!b/\n", "a/b/.gitignore": "!x.log\n*.tmp\n"}
    )
    write(tree, {"a/b/x.log": "", "a/b/y.log": "", "a/b/z.tmp": "", "a/c.log": "", ".git/HEAD": ""})

    assert found(look(tree), tree) == ["a/b/x.log"]
    assert found(look(tree / "a/b"), tree) == ["a/b/x.log"]


def test_a_rule_of_a_submodule_holds_in_it_alone_and_none_of_the_repository_around_does(tree: Path) -> None:
    write(tree, {".git/HEAD": "", ".gitignore": "*.note\n", "a.note": "", "a.log": "", "a.txt": ""})
    write(tree, {"lib/.git": "gitdir: ../.git/modules/lib\n", ".git/modules/lib/info/exclude": "*.tmp\n"})
    write(
        tree,
        {"lib/.gitignore": "*.log\n", "lib/b.log": "", "lib/b.note": "", "lib/b.tmp": "", "lib/b.txt": ""},
    )

    assert found(look(tree), tree) == ["a.log", "a.txt", "lib/b.note", "lib/b.txt"]
    assert found(look(tree / "lib"), tree) == ["lib/b.note", "lib/b.txt"]


@pytest.mark.parametrize(
    ("settings", "rules"),
    [
        ({}, ".config/git/ignore"),
        (
            {".gitconfig": '[core]\n\teditor = vi\n\texcludesFile = "~/my rules"\n[user]\n\tname = Ann\n'},
            "my rules",
        ),
        ({".config/git/config": "[CORE]\n  excludesfile=~/mine\n"}, "mine"),
        (
            {
                ".config/git/config": "[core]\nexcludesfile = ~/no\n",
                ".gitconfig": "[core]\nexcludesfile = ~/yes\n",
            },
            "yes",
        ),
        ({".gitconfig": "[other]\nexcludesfile = ~/no\n"}, ".config/git/ignore"),
    ],
)
def test_what_a_user_has_git_ignore_everywhere_is_ignored_in_repositories(
    tree: Path, user: Path, settings: dict[str, str], rules: str
) -> None:
    write(user, {**settings, rules: "*.swap\n*.keep\n"})
    write(
        tree,
        {
            "in/.git/HEAD": "",
            "in/.gitignore": "!a.keep\n",
            "in/a.swap": "",
            "in/a.keep": "",
            "out/a.swap": "",
        },
    )

    assert found(look(tree), tree) == ["in/a.keep", "out/a.swap"]


def test_a_users_rules_that_are_missing_or_cannot_be_read_stop_nothing(tree: Path, user: Path) -> None:
    write(tree, {".git/HEAD": "", "a.txt": ""})
    write(user, {".gitconfig": "[core]\nexcludesfile = ~/nowhere\n"})
    assert look(tree) == [
        Omitted(tree / ".git", "tool-folder"),
        Found(tree / "a.txt", named=False, root=tree),
    ]

    (user / "nowhere").mkdir()
    assert rejected(look(tree)) == []
    assert found(look(tree), tree) == ["a.txt"]


def test_git_ignores_the_same(tree: Path, user: Path) -> None:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    write(user, {".gitconfig": "[core]\nexcludesfile = ~/mine\n", "mine": "*.swap\n/top\n"})
    write(tree, {".gitignore": "*.log\n!keep.log\nbuild/\n/a/b/\n", "a/.gitignore": "!b/\n*.txt\n!c.txt\n"})
    names = ["x.log", "keep.log", "a/x.log", "a/keep.log", "build/y.md", "a/b/z.md", "a/d.txt", "a/c.txt"]
    write(tree, dict.fromkeys([*names, "s.swap", "a/s.swap", "top/x.md", "a/top/x.md"], ""))
    git = ["git", "-C", str(tree)]
    subprocess.run([*git, "init", "--quiet"], check=True)
    (tree / ".git/info").mkdir(exist_ok=True)
    (tree / ".git/info/exclude").write_text("a/keep.log\n", encoding="utf-8")
    listed = subprocess.run(
        [*git, "ls-files", "--others", "--exclude-standard"], check=True, capture_output=True, text=True
    )

    assert sorted(found(look(tree), tree)) == sorted(
        name for name in listed.stdout.split("\n") if name and not Path(name).name.startswith(".")
    )


def test_a_file_of_a_submodule_tells_which_repository_is_around_it(tree: Path) -> None:
    write(tree, {".git/HEAD": "", "a.txt": "", "lib/.git": "gitdir: ../.git/modules/lib\n", "lib/b.txt": ""})
    write(tree, {"lib/deep/.git": "gitdir: x\n", "lib/deep/c.txt": ""})

    def around(*paths: Path) -> dict[str, Path | None]:
        return {item.path.name: item.around for item in look(*paths) if isinstance(item, Found)}

    assert around(tree) == {"a.txt": None, "b.txt": tree, "c.txt": tree}
    assert around(tree / "lib") == {"b.txt": None, "c.txt": tree / "lib"}
    assert around(tree.parent) == {"a.txt": None, "b.txt": tree, "c.txt": tree}
