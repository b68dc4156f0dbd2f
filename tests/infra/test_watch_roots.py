"""What is watched: folders and files that come, go, are replaced, and are too many for the system."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from chronofile.infra.watch.observing import Observing
from chronofile.infra.watch.roots import News, Roots
from chronofile.ingest.watching import Changes, Taken
from tests.infra.watched import until

QUIET_S = 0.15


@dataclass(slots=True)
class Eyes:
    """Roots that are watched, and what came of it so far."""

    roots: Roots
    observing: Observing
    changes: Changes
    woken: list[float] = field(default_factory=list)

    def look(self) -> News:
        return self.roots.look()

    def seen(self) -> set[str]:
        """Return the changed paths once no more come."""
        until(lambda: self.changes.due_s < float("inf"), 5)
        until(lambda: self.changes.due_s < time.monotonic() - QUIET_S, 5)
        taken = self.changes.take()
        assert not taken.everything
        return {str(path) for path in taken.paths}


@contextmanager
def eyes(*paths: Path, spared: Sequence[Path] = ()) -> Iterator[Eyes]:
    changes = Changes()
    woken: list[float] = []
    observing = Observing(changes, lambda: woken.append(time.monotonic()), spared)
    try:
        yield Eyes(Roots(paths, observing), observing, changes, woken)
    finally:
        observing.close()


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = Path(os.path.realpath(tmp_path)) / "notes"
    found.mkdir()
    (found / "first.md").write_text("first")
    return found


def test_a_root_that_is_there_is_watched_and_looked_through(folder: Path) -> None:
    with eyes(folder) as watch:
        assert watch.look() == News((folder,), ())
        assert watch.look() == News()
        assert watch.roots.counting == [folder]
        assert watch.roots.unwatched == []

        (folder / "a.md").write_text("a")

        assert str(folder / "a.md") in watch.seen()
        assert len(watch.woken) == 1


def saved_by_an_editor(folder: Path) -> list[str]:
    (folder / ".first.md.swp").write_text("second")
    (folder / ".first.md.swp").rename(folder / "first.md")
    return ["first.md"]


def moved_in(folder: Path) -> list[str]:
    (folder.parent / "outside" / "deep").mkdir(parents=True)
    (folder.parent / "outside" / "deep" / "b.md").write_text("b")
    (folder.parent / "outside").rename(folder / "inside")
    return ["inside"]


def moved_out(folder: Path) -> list[str]:
    (folder / "first.md").rename(folder.parent / "first.md")
    return ["first.md"]


def made_with_files_in_it(folder: Path) -> list[str]:
    (folder / "x" / "y").mkdir(parents=True)
    (folder / "x" / "y" / "z.md").write_text("z")
    return ["x"]


def appended_to(folder: Path) -> list[str]:
    with (folder / "first.md").open("a") as file:
        file.write("more")
    return ["first.md"]


def made_readable(folder: Path) -> list[str]:
    (folder / "first.md").chmod(0o604)
    return ["first.md"]


def named_in_bytes(folder: Path) -> list[str]:
    name = os.fsdecode(b"caf\xe9.md")
    (folder / name).write_text("latin")
    return [name]


@pytest.mark.parametrize(
    "change",
    [
        saved_by_an_editor,
        moved_in,
        moved_out,
        made_with_files_in_it,
        appended_to,
        made_readable,
        named_in_bytes,
    ],
)
def test_every_kind_of_change_is_seen(folder: Path, change: Callable[[Path], list[str]]) -> None:
    with eyes(folder) as watch:
        watch.look()
        names = change(folder)

        assert {str(folder / name) for name in names} <= watch.seen()


def test_reading_is_no_change(folder: Path) -> None:
    with eyes(folder) as watch:
        watch.look()
        (folder / "first.md").read_bytes()
        list(folder.iterdir())
        time.sleep(QUIET_S)

        assert watch.changes.take() == Taken()


def test_what_a_capture_itself_writes_is_no_change(folder: Path) -> None:
    home = folder / "home"
    home.mkdir()
    with eyes(folder, spared=[home]) as watch:
        watch.look()
        (home / "postgres").mkdir()
        (home / "postgres" / "wal").write_text("x")
        (folder / "homely.md").write_text("x")

        assert watch.seen() == {str(folder / "homely.md")}


def test_a_root_that_vanishes_no_longer_counts_and_is_watched_again_when_it_is_back(folder: Path) -> None:
    with eyes(folder) as watch:
        watch.look()
        folder.rename(folder.parent / "away")

        (sentence,) = watch.look().sentences
        assert "is gone. Nothing of it counts as removed" in sentence
        assert watch.roots.counting == []
        assert watch.look() == News()

        (folder.parent / "away").rename(folder)
        assert watch.look() == News((folder,), (f"{folder} is there, and watched.",))
        watch.changes.take()
        (folder / "later.md").write_text("later")
        assert str(folder / "later.md") in watch.seen()


def test_a_root_that_is_replaced_is_looked_through_and_watched_anew(folder: Path) -> None:
    with eyes(folder) as watch:
        watch.look()
        folder.rename(folder.parent / "former")
        folder.mkdir()
        (folder / "other.md").write_text("other")

        assert watch.look() == News((folder,), ())
        watch.changes.take()
        (folder / "other.md").write_text("more")
        assert str(folder / "other.md") in watch.seen()


def test_a_root_that_is_deleted_and_made_again_between_two_looks_is_watched_anew(folder: Path) -> None:
    with eyes(folder) as watch:
        watch.look()
        shutil.rmtree(folder)
        folder.mkdir()
        (folder / "other.md").write_text("other")
        until(lambda: watch.look().changed, 5)
        watch.changes.take()

        (folder / "new.md").write_text("new")
        assert str(folder / "new.md") in watch.seen()


def test_a_root_that_is_not_there_yet_is_waited_for(folder: Path) -> None:
    later = folder / "later"
    with eyes(later) as watch:
        assert watch.look() == News((), (f"{later} is not there; it is watched as soon as it is.",))
        assert watch.look() == News()

        later.mkdir()
        (later / "a.md").write_text("a")
        assert watch.look() == News((later,), (f"{later} is there, and watched.",))


def test_a_root_that_is_added_is_watched_from_the_next_look_on(folder: Path) -> None:
    with eyes(folder) as watch:
        watch.look()
        later = folder.parent / "later"
        later.mkdir()
        (later / "a.md").write_text("a")

        watch.roots.add([later, folder, later])

        assert watch.look() == News((later,), (f"{later} is there, and watched.",))
        assert watch.look() == News()
        (later / "b.md").write_text("b")
        assert str(later / "b.md") in watch.seen()


def test_an_empty_folder_counts_only_if_something_was_seen_in_it(folder: Path, tmp_path: Path) -> None:
    empty = Path(os.path.realpath(tmp_path)) / "disk"
    empty.mkdir()
    with eyes(folder, empty) as watch:
        watch.look()
        assert watch.roots.counting == [folder]

        (folder / "first.md").unlink()
        watch.look()
        assert watch.roots.counting == [folder]

        (empty / "a.md").write_text("a")
        assert watch.look().changed == (empty,)
        assert watch.roots.counting == [folder, empty]


def test_another_empty_folder_in_the_place_of_a_root_does_not_count(folder: Path) -> None:
    """A disk that is unmounted leaves the empty folder that it was mounted on."""
    with eyes(folder) as watch:
        watch.look()
        folder.rename(folder.parent / "disk")
        folder.mkdir()

        watch.look()
        assert watch.roots.counting == []


def test_a_file_is_a_root_through_every_save_of_an_editor(folder: Path) -> None:
    file = folder / "first.md"
    with eyes(file) as watch:
        watch.look()
        (folder / "other.md").write_text("other")
        saved_by_an_editor(folder)

        assert watch.seen() == {str(file), str(folder / ".first.md.swp")}
        assert watch.look() == News()
        assert watch.roots.counting == [file]
        file.unlink()
        assert "is gone" in watch.look().sentences[0]


def test_a_root_behind_a_link_is_followed_when_the_link_is_turned(folder: Path) -> None:
    other = folder.parent / "other"
    other.mkdir()
    (other / "b.md").write_text("b")
    link = folder.parent / "link"
    link.symlink_to(folder)
    with eyes(link) as watch:
        assert watch.look().changed == (folder,)

        link.unlink()
        link.symlink_to(other)
        assert watch.look().changed == (other,)
        assert watch.roots.counting == [other]


def test_watches_that_were_given_up_are_taken_up_at_the_next_look(folder: Path) -> None:
    with eyes(folder) as watch:
        watch.look()
        watch.roots.renew()
        watch.look()

        (folder / "a.md").write_text("a")
        assert str(folder / "a.md") in watch.seen()


def test_what_the_library_complains_of_means_that_changes_may_be_lost(folder: Path) -> None:
    import logging

    with eyes(folder) as watch:
        watch.look()
        logging.getLogger("watchdog.observers.made_up").warning("a queue overflowed")

        assert watch.changes.take() == Taken(everything=True)
        assert watch.woken


def test_a_sparse_root_is_looked_through_and_not_watched(folder: Path) -> None:
    with eyes(folder) as watch:
        storage = folder.parent / "storage"
        (storage / "99ff" / "cache").mkdir(parents=True)
        watch.roots.add([storage], sparse=True)

        assert watch.look().changed == (folder, storage)
        assert watch.look() == News()
        assert (watch.roots.unwatched, watch.roots.is_told_everything) == ([storage], True)
        (storage / "99ff" / "cache" / "a.md").write_text("a")
        (folder / "b.md").write_text("b")
        assert {Path(path).name for path in watch.seen()} == {"b.md"}
