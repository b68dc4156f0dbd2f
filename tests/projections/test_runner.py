"""Catching up: pages, limits, checkpoints that others hold, and events that cannot be applied."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError, OperationalError

from chronofile.domain.envelope import Page, Recorded
from chronofile.domain.errors import ProjectionStopped
from chronofile.domain.events import BatchFinished
from chronofile.projections import control, runner
from chronofile.projections.projection import Projection
from chronofile.projections.runner import Limits
from tests.builders import many, revised, write
from tests.projections.replays import UpTo
from tests.world import World

counts = sa.MetaData(schema="counts")
counted = sa.Table("counted", counts, sa.Column("position", sa.BigInteger, primary_key=True))


class NotLiked(Exception):
    """This event is not to be applied."""


def counting(
    *, refused: Callable[[Recorded], bool] = lambda _: False, name: str = "counts", **fields: Any
) -> Projection:
    """Return a projection that notes the position of each event, but for those that it cannot apply."""

    def apply(conn: sa.Connection, page: Page) -> None:
        for event in page.events:
            if refused(event):
                raise NotLiked(f"number {event.position}\nwith a second line")
            conn.execute(sa.insert(counted).values(position=event.position))

    return replace(Projection(name, 1, counts, apply), **fields)


def catch_up(world: World, *projections: Projection, events: int = 1_000, **options: Any) -> bool:
    return runner.catch_up(
        world.engine,
        world.store,
        projections,
        limits=Limits(events=events),
        **options,
    )


def positions(world: World) -> list[int]:
    return [position for (position,) in world.rows("SELECT position FROM {counts}.counted ORDER BY position")]


def generation(world: World, name: str = "counts") -> control.Generation:
    with world.engine.connect() as conn:
        return control.read_active(conn)[name]


@pytest.fixture
def ten(world: World) -> World:
    world.given("batch-b", *many(10))
    return world


def test_every_event_is_applied_once_in_pages(ten: World) -> None:
    projection = counting()
    control.ensure(ten.engine, [projection])
    pages: list[tuple[str, int]] = []

    assert catch_up(ten, projection, events=4, tick=lambda name, position: pages.append((name, position)))

    assert positions(ten) == [*range(1, 11)]
    assert pages == [("counts", 4), ("counts", 8), ("counts", 10)]
    assert generation(ten).position == 10
    ten.given("batch-b", *many(2))
    assert catch_up(ten, projection)
    assert positions(ten) == [*range(1, 13)]


def test_a_page_ends_before_more_content_than_memory_likes(world: World) -> None:
    projection = counting()
    control.ensure(world.engine, [projection])
    world.given(
        "source-s", *(revised(revision=n, end=40) for n in range(5)), revised(end=500), revised(end=40)
    )
    pages: list[int] = []

    runner.catch_up(
        world.engine,
        world.store,
        [projection],
        limits=Limits(content_bytes=100),
        tick=lambda _, position: pages.append(position),
    )

    assert pages == [2, 4, 5, 6, 7]


def test_a_dependent_does_not_pass_its_upstream(ten: World) -> None:
    first, second = (
        counting(),
        counting(name="later", upstream=("counts",), tables=sa.MetaData(schema="later")),
    )
    noted: list[int] = []
    second = replace(second, apply=lambda conn, page: noted.extend(e.position for e in page.events))
    control.ensure(ten.engine, [first, second])

    assert catch_up(ten, second)
    assert noted == []
    runner.catch_up(ten.engine, UpTo(ten.store, 6), [first])
    assert catch_up(ten, second, events=4)

    assert noted == [*range(1, 7)]


def test_a_checkpoint_that_another_process_holds_is_left_to_it(ten: World) -> None:
    projection = counting()
    control.ensure(ten.engine, [projection])
    with ten.engine.begin() as conn:
        conn.exec_driver_sql("SELECT 1 FROM control.generation FOR UPDATE")

        assert not catch_up(ten, projection)
        assert runner.step(ten.engine, ten.store, projection, Limits()) is None

    assert catch_up(ten, projection)
    assert positions(ten) == [*range(1, 11)]


def test_two_threads_that_catch_up_at_once_apply_every_event_once(world: World) -> None:
    projection = counting()
    control.ensure(world.engine, [projection])
    world.given("batch-b", *many(200))

    def run() -> None:
        while generation(world).position < 200:
            catch_up(world, projection, events=3)

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert positions(world) == [*range(1, 201)]


@pytest.mark.parametrize("change", [{"version": 2}, {"configuration": {"language": "other"}}])
def test_code_of_another_version_or_configuration_leaves_a_generation_alone(
    ten: World, change: dict[str, Any]
) -> None:
    control.ensure(ten.engine, [counting()])

    assert not catch_up(ten, counting(**change))

    assert positions(ten) == []


def test_an_event_that_cannot_be_applied_stops_the_projection_there_and_no_other(ten: World) -> None:
    stopping, other = counting(refused=lambda event: event.position == 8), ten.projections[1]
    control.ensure(ten.engine, [stopping])

    with pytest.raises(ProjectionStopped) as stopped:
        catch_up(ten, stopping, other, events=6)

    assert (stopped.value.projection, stopped.value.position) == ("counts", 8)
    assert stopped.value.error == "NotLiked"
    assert positions(ten) == [*range(1, 8)]
    found = generation(ten)
    assert (found.position, found.error_position, found.error) == (7, 8, "NotLiked")
    assert generation(ten, "passages").position == 10

    assert catch_up(ten, counting())
    assert positions(ten) == [*range(1, 11)]
    assert (generation(ten).error, generation(ten).error_position) == (None, None)


def test_a_bad_event_in_a_long_page_is_found_by_halving(world: World) -> None:
    world.given("batch-b", *many(500))
    tries: list[int] = []

    def refused(event: Recorded) -> bool:
        tries.append(event.position)
        return isinstance(event.event, BatchFinished) and event.event.revisions == 450

    control.ensure(world.engine, [counting()])

    with pytest.raises(ProjectionStopped):
        catch_up(world, counting(refused=refused))

    assert generation(world).position == 450
    assert len(tries) < 5_000


def test_a_database_that_is_away_is_no_fault_of_an_event(ten: World) -> None:
    def apply(conn: sa.Connection, page: Page) -> None:
        conn.exec_driver_sql("SELECT pg_terminate_backend(pg_backend_pid())")

    control.ensure(ten.engine, [counting()])

    with pytest.raises((OperationalError, psycopg.OperationalError)):
        catch_up(ten, replace(counting(), apply=apply))

    assert generation(ten).error is None
    assert catch_up(ten, counting())


@pytest.mark.parametrize("code", ["08006", "57P03", "40001", "40P01", "53100", "53200", "55P03"])
def test_a_database_that_is_busy_or_full_is_no_fault_of_an_event(ten: World, code: str) -> None:
    control.ensure(ten.engine, [counting()])

    with pytest.raises(DBAPIError):
        catch_up(ten, replace(counting(), apply=raising(code)))

    assert generation(ten).error is None
    assert catch_up(ten, counting())


def test_a_row_that_is_too_long_is_the_events_fault_though_it_comes_as_an_error_of_operation(
    ten: World,
) -> None:
    control.ensure(ten.engine, [counting()])

    with pytest.raises(ProjectionStopped) as stopped:
        catch_up(ten, replace(counting(), apply=raising("54000")))

    assert isinstance(stopped.value.__cause__, OperationalError)
    assert generation(ten).error == "ProgramLimitExceeded 54000"
    assert generation(ten).error_position == 1


def test_a_statement_that_the_driver_refuses_to_send_is_the_events_fault(ten: World) -> None:
    def apply(conn: sa.Connection, page: Page) -> None:
        conn.execute(sa.select(1).where(sa.literal(1).in_(range(70_000))))

    control.ensure(ten.engine, [counting()])

    with pytest.raises(ProjectionStopped):
        catch_up(ten, replace(counting(), apply=apply), events=2)

    assert generation(ten).error == "OperationalError"


def test_what_is_kept_of_an_error_quotes_nobody(ten: World) -> None:
    def apply(conn: sa.Connection, page: Page) -> None:
        conn.execute(sa.select(sa.cast("a secret of somebody's", sa.Integer)))

    control.ensure(ten.engine, [counting()])

    with pytest.raises(ProjectionStopped) as stopped:
        catch_up(ten, replace(counting(), apply=apply))

    assert generation(ten).error == "InvalidTextRepresentation 22P02"
    assert str(stopped.value).endswith("(counts at position 1: InvalidTextRepresentation 22P02)")


def raising(code: str) -> Callable[[sa.Connection, Page], None]:
    """Return what makes the database raise an error with a code."""

    def apply(conn: sa.Connection, page: Page) -> None:
        conn.exec_driver_sql(f"DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '{code}'; END $$")

    return apply


def test_the_deadline_ends_it_after_a_page(ten: World) -> None:
    projection = counting()
    control.ensure(ten.engine, [projection])

    assert not catch_up(ten, projection, events=4, deadline_s=time.monotonic() - 1)

    assert positions(ten) == [1, 2, 3, 4]


def test_two_processes_that_start_at_once_make_one_generation(world: World) -> None:
    projection = counting()
    both = threading.Barrier(2)

    def run() -> None:
        both.wait()
        control.ensure(world.engine, [projection])

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert world.rows("SELECT count(*) FROM control.generation WHERE projection = 'counts'") == [(1,)]


def test_a_generation_names_those_that_it_was_built_from(world: World, tmp_path: Path) -> None:
    write(tmp_path / "a.md", "A file.")
    with world.engine.connect() as conn:
        serving = control.read_active(conn)
        everything = control.read_all(conn)

    assert serving["lexical"].upstream == {"passages": serving["passages"].id}
    assert {found.id for found in everything} == {found.id for found in serving.values()}
    assert serving["lexical"].schema == f"lexical_{serving['lexical'].id}"
