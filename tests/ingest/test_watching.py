"""When changes are captured, and what is remembered of them until then."""

from __future__ import annotations

from pathlib import Path

from chronofile.ingest.watching import (
    BACKOFFS_S,
    LONGEST_S,
    QUIET_S,
    RECONCILE_S,
    RESCAN_S,
    RETRIES_S,
    Changes,
    Restless,
    Taken,
    backoff_s,
    next_scan_s,
)

NEVER = float("inf")
FILE, OTHER = Path("/n/a.md"), Path("/n/b.md")


def test_changes_are_due_once_it_is_quiet() -> None:
    changes = Changes()
    assert changes.due_s == NEVER

    assert changes.add([str(FILE)], 10.0)
    assert not changes.add([str(FILE), str(OTHER)], 10.1)

    assert changes.due_s == 10.1 + QUIET_S
    assert changes.take() == Taken(frozenset([FILE, OTHER]))
    assert changes.due_s == NEVER
    assert changes.take() == Taken()


def test_changes_that_never_end_are_due_before_the_first_has_waited_too_long() -> None:
    changes = Changes()
    for tenth in range(100):
        changes.add([str(FILE)], 10.0 + tenth / 10)

    assert changes.due_s == 10.0 + LONGEST_S


def test_the_wait_begins_anew_with_the_first_change_after_some_were_taken() -> None:
    changes = Changes()
    changes.add([str(FILE)], 10.0)
    changes.take()

    assert changes.add([str(OTHER)], 20.0)
    assert changes.due_s == 20.0 + QUIET_S


def test_more_changes_than_can_be_remembered_become_everything() -> None:
    changes = Changes(paths_max=3)
    for number in range(1_000):
        changes.add([f"/n/{number}"], 10.0)

    assert changes.take() == Taken(everything=True)
    changes.add([str(FILE)], 20.0)
    assert changes.take() == Taken(frozenset([FILE]))


def test_lost_changes_become_everything_and_are_waited_for_no_longer_than_others() -> None:
    changes = Changes()
    changes.lost(10.0)
    changes.add([str(FILE)], 10.2)

    assert changes.due_s == 10.2 + QUIET_S
    assert changes.take() == Taken(everything=True)


def test_a_restless_file_is_looked_at_again_and_again_and_later_each_time() -> None:
    restless = Restless()
    now_s = 0.0
    for wait_s in RETRIES_S:
        restless.looked_at([FILE], [FILE], now_s)
        assert restless.due_s == now_s + wait_s
        assert restless.take(restless.due_s - 0.1) == frozenset()
        now_s = restless.due_s
        assert restless.take(now_s) == frozenset([FILE])

    restless.looked_at([FILE], [FILE], now_s)
    assert restless.due_s == NEVER  # The scans by the clock come to it.


def test_a_file_that_rests_is_not_looked_at_again() -> None:
    restless = Restless()
    restless.looked_at([FILE, OTHER], [FILE, OTHER], 0.0)
    restless.looked_at([FILE], [], 0.5)

    assert restless.take(RETRIES_S[0]) == frozenset([OTHER])
    restless.looked_at([FILE], [FILE], 10.0)
    assert restless.due_s == 10.0 + RETRIES_S[0]


def test_scans_by_the_clock_take_a_tenth_of_the_time_at_most() -> None:
    assert next_scan_s(0.1) == RECONCILE_S
    assert next_scan_s(0.1, RESCAN_S) == RESCAN_S
    assert 20.0 / (20.0 + next_scan_s(20.0)) <= 0.1


def test_failures_in_a_row_are_waited_for_longer_and_longer_up_to_a_limit() -> None:
    waits = [backoff_s(failures) for failures in range(1, 20)]

    assert waits == sorted(waits)
    assert waits[-1] == BACKOFFS_S[-1]
