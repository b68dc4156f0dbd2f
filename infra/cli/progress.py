"""Progress of a capture: bars on a terminal, nothing elsewhere, and what is kept when somebody stops it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from chronofile.domain.wording import counted
from chronofile.infra.cli.rendering import note, size

if TYPE_CHECKING:
    from chronofile.infra.progress import Progress
    from chronofile.ingest.capture import Captured
    from chronofile.ingest.selections import Selected


@dataclass(slots=True)
class Kept:
    """What a run has come to so far; all of it stays, whatever happens to the run."""

    captured: Captured | None = None
    embedded: int = 0
    waiting: int = 0

    @property
    def sentence(self) -> str:
        captured = self.captured
        if captured is None or not (captured.revisions or self.embedded):
            return "Nothing new was captured; the same command starts again."
        kept = (
            f"Kept: {counted(captured.revisions, 'revision')} of {counted(len(captured.sources), 'source')}"
        )
        if captured.batch is not None:
            kept += f" (batch {captured.batch})"
        if self.embedded:
            return f"{kept}, and {self.embedded} of {counted(self.waiting, 'vector')}. chronofile worker --drain goes on."
        return f"{kept}. The same command goes on from there."


Sizes = Mapping[Path, int]
"""How many bytes there are up to the end of each file, in the order in which a run comes to them."""


def sizes(paths: Sequence[Path], home: Path, selected: Selected = MappingProxyType({})) -> Sizes:
    """Return the sizes of what a run over the paths will come to; nothing is read."""
    from chronofile.ingest.scan import Found, scan

    found: dict[Path, int] = {}
    total = 0
    for scanned in scan(paths, home=home, selected=selected):
        if isinstance(scanned, Found):
            with suppress(OSError):
                total += scanned.path.lstat().st_size
            found[scanned.path] = total
    return found


@contextmanager
def watched(measured: Callable[[], Sizes] = dict) -> Iterator[Progress]:
    """Yield what a run tells its progress to: shown on a terminal, and used to say what is kept if the run ends early.

    `measured` gives the sizes of what the run will come to, and is asked only where somebody sees them.
    """
    kept = Kept()
    try:
        with _shown(kept, measured) as progress:
            yield progress
    except KeyboardInterrupt:
        note(kept.sentence)
        raise
    except Exception:
        if kept.captured is not None:
            note(kept.sentence)
        raise


@contextmanager
def _shown(kept: Kept, measured: Callable[[], Sizes]) -> Iterator[Progress]:
    from chronofile.infra.progress import Progress

    def captured(_path: Path, so_far: Captured) -> None:
        kept.captured = so_far

    def embedded(done: int, of: int) -> None:
        kept.embedded, kept.waiting = done, of

    if not sys.stderr.isatty():
        yield Progress(captured=captured, embedded=embedded)
        return
    with _bars() as bars:
        files = 0
        up_to = measured()
        total = max(up_to.values(), default=0)

        def shown_captured(path: Path, so_far: Captured) -> None:
            nonlocal files
            captured(path, so_far)
            files += 1
            # What was captured before is passed over unread, and counts as done all the same.
            done = up_to.get(path, 0)
            read = f"{size(done)} of {size(total)}" if total else size(so_far.read_bytes)
            bars.read(f"{counted(files, 'file')}, {read}", done, total or None)

        def shown_embedded(done: int, of: int) -> None:
            embedded(done, of)
            bars.embedded(done, of)

        yield Progress(captured=shown_captured, applied=bars.applied, embedded=shown_embedded)


class _Bars:
    """One line for each phase, added when the phase begins."""

    def __init__(self, drawn: Any) -> None:
        self._drawn = drawn
        self._lines: dict[str, Any] = {}

    def read(self, text: str, done: int, of: int | None) -> None:
        self._drawn.update(self._line("Reading", of), completed=done, total=of, text=text)

    def applied(self, projection: str, position: int) -> None:
        self._update("Indexing", f"{projection}, position {position:,}")

    def embedded(self, done: int, of: int) -> None:
        line = self._line("Embedding", of)
        speed = self._drawn.tasks[line].speed
        text = f"{done:,} of {of:,}" + (f", {speed:.0f}/s" if speed else "")
        self._drawn.update(line, completed=done, total=of, text=text)

    def _update(self, phase: str, text: str) -> None:
        self._drawn.update(self._line(phase, None), text=text)

    def _line(self, phase: str, total: int | None) -> Any:
        if phase not in self._lines:
            self._lines[phase] = self._drawn.add_task(phase, total=total, text="")
        return self._lines[phase]


@contextmanager
def _bars() -> Iterator[_Bars]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description:<9}", markup=False),
        BarColumn(bar_width=24),
        TextColumn("{task.fields[text]}", markup=False),
        TimeRemainingColumn(),
    )
    # Log lines and results go past the bars: rich would otherwise take standard output for its own.
    with Progress(*columns, console=Console(stderr=True), redirect_stdout=False, transient=True) as drawn:
        yield _Bars(drawn)
