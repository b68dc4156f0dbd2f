"""Receipts: what each erasure did, as files in the home; one that is not finished yet is known by its own."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from chronofile.infra.erasing.report import ErasureReport

FOLDER = "receipts"
BEGUN, FINISHED = "begun", "finished"
KNOWN_BEFORE = ("id", "time", "actor", "reason", "named", "contents", "tables_before", "questions")


@dataclass(frozen=True, slots=True)
class Receipts:
    """The folder of receipts of a home, readable by its owner alone."""

    home: Path

    def write(self, erasure: str, receipt: Mapping[str, Any]) -> Path:
        """Write a receipt whole, in place of what stood there."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        path = self._path(erasure)
        new = path.with_suffix(".new")
        descriptor = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(receipt, file, indent=2, sort_keys=True)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        new.replace(path)
        return path

    def read(self, erasure: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self._path(erasure).read_text(encoding="utf-8"))
        return found

    def report(self, erasure: str) -> ErasureReport:
        """Return a receipt as what told of the erasure."""
        receipt = self.read(erasure)
        found: dict[str, Any] = {field.name: receipt.get(field.name, ()) for field in fields(ErasureReport)}
        found |= {name: tuple(value) for name, value in found.items() if isinstance(value, list)}
        found["named"] = {name: tuple(ids) for name, ids in found["named"].items()}
        return ErasureReport(**found)

    def forget(self, erasure: str) -> None:
        """Delete the receipt of what came to nothing."""
        self._path(erasure).unlink(missing_ok=True)

    def unfinished(self) -> list[str]:
        """Return the erasures that were begun and not finished."""
        found = []
        for path in sorted(self._folder.glob("*.json")):
            try:
                receipt = json.loads(path.read_text(encoding="utf-8"))
            except (OSError, ValueError):
                continue  # It is no receipt of ours.
            if isinstance(receipt, dict) and receipt.get("state") == BEGUN:
                found.append(path.stem)
        return found

    @property
    def _folder(self) -> Path:
        return self.home / FOLDER

    def _path(self, erasure: str) -> Path:
        return self._folder / f"{erasure}.json"


def known_before(receipt: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the log keeps of a receipt: all that is known before."""
    return {name: value for name, value in receipt.items() if name in KNOWN_BEFORE}


def unfinished(home: Path) -> list[str]:
    """Return sentences on the erasures that were begun in a home and are not finished, with what is left of each."""
    receipts = Receipts(home)
    found: list[str] = []
    for erasure in receipts.unfinished():
        found.append(f"The erasure {erasure} is not finished: chronofile erase --finish")
        found += receipts.read(erasure).get("left", ())
    return found
