"""Taking back: what a memory lets go of, as calls: hidden from now on, or gone for good."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Protocol

from chronofile.infra.database_errors import naming_database_errors
from chronofile.infra.progress import UNWATCHED, Progress
from chronofile.infra.upkeep import REMEMBERED_CATCH_UP_S, SEARCH_CATCH_UP_S

if TYPE_CHECKING:
    from chronofile.infra.erasing.report import ErasurePreview, ErasureReport
    from chronofile.infra.erasing.wanted import Wanted
    from chronofile.infra.memories import Forgetting
    from chronofile.infra.parts import Parts
    from chronofile.infra.scanning import Secret
    from chronofile.infra.undo import BatchEntry, UndoReport

BATCHES_LISTED = 20


class TakingBack(Protocol):
    """The calls of a `Memory` that forget, undo, erase and redact."""

    _caller: str

    @property
    def _parts(self) -> Parts: ...

    def catch_up(self, seconds: float = ..., progress: Progress = ...) -> list[str]: ...

    @naming_database_errors()
    def forget(
        self,
        identifiers: str | Sequence[str],
        *,
        reason: str | None = None,
        token: str | None = None,
        dry_run: bool = False,
    ) -> Forgetting:
        """Hide memories from now on, all that are named or none; as of before they are still there.

        A dry run shows them and gives a `token`, with which only this list as it then stood is forgotten. Raises
        UnknownMemory, NotAMemory, WrongToken, TextErased, BadRequest.
        """
        from chronofile.infra import memories

        named = [identifiers] if isinstance(identifiers, str) else list(identifiers)
        self.catch_up(SEARCH_CATCH_UP_S)
        found = memories.forget(self._parts, self._caller, named, reason=reason, token=token, dry_run=dry_run)
        self.catch_up(0 if dry_run else REMEMBERED_CATCH_UP_S)
        return found

    @naming_database_errors()
    def undo(self, batch: str, *, dry_run: bool = False, progress: Progress = UNWATCHED) -> UndoReport:
        """Hide what a batch captured from now on, or undo an undo; as of before everything is as it was.

        Raises UnknownBatch, AmbiguousBatch, UndoneAlready, NothingToUndo.
        """
        from chronofile.infra import undo

        return undo.undo(self._parts, batch, dry_run=dry_run, progress=progress)

    @naming_database_errors()
    def batches(self, limit: int = BATCHES_LISTED) -> list[BatchEntry]:
        """Return the last batches, newest first."""
        from chronofile.infra import undo

        self.catch_up(SEARCH_CATCH_UP_S)
        return undo.last_batches(self._parts, limit)

    @naming_database_errors()
    def plan_erasure(
        self,
        *,
        sources: Sequence[str] = (),
        passages: Sequence[str] = (),
        memories: Sequence[str] = (),
        scopes: Sequence[str] = (),
    ) -> ErasurePreview:
        """Return what `erase` would do with the same names; its token confirms exactly that. Raises as `erase` does."""
        from chronofile.infra import erasure
        from chronofile.infra.erasing.wanted import Wanted

        wanted = Wanted(sources, passages, memories, scopes)
        return erasure.preview(self._parts, wanted, actor=self._caller)

    @naming_database_errors()
    def erase(
        self,
        *,
        sources: Sequence[str] = (),
        passages: Sequence[str] = (),
        memories: Sequence[str] = (),
        scopes: Sequence[str] = (),
        reason: str | None = None,
        token: str | None = None,
        progress: Progress = UNWATCHED,
    ) -> ErasureReport:
        """Remove sources, passages, memories and all of scopes for good, with everything derived from them.

        With a `token` only what it was given for. Raises BadRequest, UnknownSource, UnknownPassage, UnknownMemory,
        UnknownScope, ErasedAlready, ErasureStopped, ErasureGoesOn, ErasureOutrun, PlanChanged, NotCutOut,
        ProjectionsNotOurs.
        """
        from chronofile.infra import erasure
        from chronofile.infra.erasing.wanted import Wanted

        wanted = Wanted(sources, passages, memories, scopes)
        return erasure.erase(
            self._parts, wanted, actor=self._caller, reason=reason, token=token, progress=progress
        )

    @naming_database_errors()
    def finish_erasures(self, progress: Progress = UNWATCHED) -> list[str]:
        """Finish the erasures that were stopped in the middle, and return their ids."""
        from chronofile.infra import erasure

        return erasure.finish(self._parts, progress)

    @naming_database_errors()
    def scan(
        self,
        *,
        sources: Sequence[str] = (),
        scopes: Sequence[str] = (),
        tick: Callable[[int, int], None] = lambda done, of: None,
    ) -> Iterator[Secret]:
        """Yield the secrets in what is stored: of sources, of scopes, or of everything where none is named.

        Raises UnknownSource, UnknownScope.
        """
        from chronofile.infra import scanning

        self.catch_up()
        return scanning.scan(self._parts, _selected(sources, scopes), tick)

    @naming_database_errors()
    def plan_redaction(self, *, sources: Sequence[str] = (), scopes: Sequence[str] = ()) -> ErasurePreview:
        """Return what `redact` would do with the same names. Raises as `redact` does."""
        from chronofile.infra import erasure

        return erasure.preview_redaction(self._parts, _selected(sources, scopes), actor=self._caller)

    @naming_database_errors()
    def redact(
        self,
        *,
        sources: Sequence[str] = (),
        scopes: Sequence[str] = (),
        token: str | None = None,
        progress: Progress = UNWATCHED,
    ) -> ErasureReport:
        """Keep sources without the secrets in them: of scopes, or of everything where none is named.

        Raises UnknownSource, UnknownScope, PlanChanged, NothingToRedact, ProjectionsNotOurs.
        """
        from chronofile.infra import erasure

        wanted = _selected(sources, scopes)
        return erasure.redact(self._parts, wanted, actor=self._caller, token=token, progress=progress)


def _selected(sources: Sequence[str], scopes: Sequence[str]) -> Wanted | None:
    from chronofile.infra.erasing.wanted import Wanted

    return Wanted(sources=sources, scopes=scopes) if sources or scopes else None
