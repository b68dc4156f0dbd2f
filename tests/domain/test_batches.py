"""What undoing a batch means, decided from the batches' own events alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from chronofile.domain import batches
from chronofile.domain.batches import Batch, UndoneAlready, batch_of
from chronofile.domain.events import BatchRestored, BatchReverted, BatchStarted, Event
from tests.builders import OBSERVED_AT, finished, started


def undo_of(batch: str) -> Batch:
    return batch_of([BatchStarted("undo", OBSERVED_AT, batch), finished(0)])


def test_a_batch_is_hidden_also_where_it_never_ended() -> None:
    killed: list[Event] = [started()]
    for events in (killed, [*killed, finished()]):
        assert batches.undo([batch_of(events)], "u", OBSERVED_AT) == BatchReverted("u", OBSERVED_AT)


def test_the_undo_of_an_undo_restores_and_undoing_that_hides_again() -> None:
    events: list[Event] = [started(), finished(), BatchReverted("u", OBSERVED_AT)]
    undone, again = undo_of("b"), undo_of("u")

    restored = batches.undo([undone, batch_of(events)], "v", OBSERVED_AT)
    events.append(restored)
    hidden = batches.undo([again, undone, batch_of(events)], "w", OBSERVED_AT)

    assert (restored, hidden) == (BatchRestored("v", OBSERVED_AT), BatchReverted("w", OBSERVED_AT))


def test_what_is_undone_already_names_the_batch_that_did_it() -> None:
    reverted = batch_of([started(), BatchReverted("u", OBSERVED_AT)])
    restored = batch_of([started(), BatchReverted("u", OBSERVED_AT), BatchRestored("v", OBSERVED_AT)])

    with pytest.raises(UndoneAlready, match="chronofile undo u"):
        batches.undo([reverted], "x", OBSERVED_AT)
    with pytest.raises(UndoneAlready, match="chronofile undo v"):
        batches.undo([undo_of("b"), restored], "x", OBSERVED_AT)


@given(st.lists(st.integers(0, 20), max_size=30))
def test_whatever_is_undone_the_batch_ends_as_the_last_undo_left_it(choices: list[int]) -> None:
    """Each choice undoes one of the batches that there are by then, the first being the one that captured."""
    events: list[Event] = [started(), finished()]
    of: list[int | None] = [None]
    for choice in choices:
        target = choice % len(of)
        chain: list[Batch] = []
        at: int | None = target
        while at is not None:
            chain.append(batch_of(events) if at == 0 else undo_of(str(of[at])))
            at = of[at]
        before = batch_of(events)
        if before.reverted == (len(chain) % 2 == 1):
            with pytest.raises(UndoneAlready) as caught:
                batches.undo(chain, str(len(of)), OBSERVED_AT)
            assert caught.value.by == before.by
            continue
        events.append(batches.undo(chain, str(len(of)), OBSERVED_AT))
        assert batch_of(events).reverted is not before.reverted
        of.append(target)
