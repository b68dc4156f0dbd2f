"""Storms: many changes of all kinds to the files of a folder, one after the other, from a thread."""

from __future__ import annotations

import random
import shutil
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from chronofile.infra.datastore import Datastore, engine_of
from chronofile.projections import control
from chronofile.projections.projection import FOREVER
from tests.builders import add, claude_line, write

PAUSE_S = 0.004


@dataclass(slots=True)
class Storm:
    """Every line that is written has a number of its own, so no text is there twice by right."""

    folder: Path
    seed: int
    number: int = 0
    chance: random.Random = field(init=False)

    def __post_init__(self) -> None:
        self.chance = random.Random(self.seed)

    @contextmanager
    def raging(self) -> Iterator[None]:
        """Let it rage while the block runs."""
        ended = threading.Event()

        def rage() -> None:
            while not ended.is_set():
                self.change()
                time.sleep(PAUSE_S)

        thread = threading.Thread(target=rage)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def change(self) -> None:
        """Change something: mostly transcripts grow, and notes are saved, moved, and deleted."""
        change = self.chance.choices(
            [self._grow, self._save, self._save_over, self._rename, self._delete, self._move_folder],
            [40, 25, 15, 8, 8, 4],
        )
        change[0]()

    def _words(self) -> str:
        self.number += 1
        return f"Line {self.number} of the storm says {self.chance.random()}, and that is long enough for a move."

    def _note(self) -> Path:
        return self.folder / f"d{self.chance.randrange(6)}" / f"{self.chance.randrange(20)}.md"

    def _grow(self) -> None:
        name = self.chance.randrange(5)
        session = self.folder / "sessions" / f"{name}.jsonl"
        session.parent.mkdir(exist_ok=True)
        words = self._words()
        add(session, claude_line(words, uuid=f"u-{self.number}", session=f"s-{name}"))

    def _save(self) -> None:
        write(self._note(), self._words())

    def _save_over(self) -> None:
        note = self._note()
        write(note.with_suffix(".tmp"), self._words(), self._words()).rename(note)

    def _rename(self) -> None:
        if (note := self._note()).exists():
            other = self._note()
            other.parent.mkdir(exist_ok=True)
            note.rename(other)

    def _delete(self) -> None:
        self._note().unlink(missing_ok=True)

    def _move_folder(self) -> None:
        former, later = self._note().parent, self._note().parent
        if former.exists() and former != later:
            shutil.rmtree(later, ignore_errors=True)
            former.rename(later)

    def doubled_passages(self, datastore: Datastore) -> list[Any]:
        """Return the texts that the sources have twice now."""
        engine = engine_of(datastore.conninfo)
        try:
            with engine.connect() as conn:
                schema = control.read_active(conn)["passages"].schema
                return list(
                    conn.exec_driver_sql(
                        f"SELECT source, text, count(*) FROM {schema}.passage"  # noqa: S608  # Our own schema.
                        f" WHERE recorded_to = {FOREVER} GROUP BY source, text HAVING count(*) > 1"
                    )
                )
        finally:
            engine.dispose()
