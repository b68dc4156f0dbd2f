"""Contents: bytes stored once, under a hash that nobody without the store's key can guess."""

from __future__ import annotations

import random
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chronofile.infra.contents import RAW, ZSTD, ContentStore, decoded, encoded
from chronofile.infra.datastore import Datastore
from tests.world import World

PROSE = b"The port is 5432, and the port before that was 5433. " * 40


def stored(world: World, contents: Mapping[str, bytes]) -> None:
    with Datastore(world.conninfo) as datastore, datastore.transaction(commit=True) as cursor:
        world.contents.write(cursor, contents)


def read(world: World, *keys: str) -> dict[str, bytes]:
    with world.engine.connect() as conn:
        return world.contents.read(conn, keys)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(contents=st.lists(st.binary(max_size=2_000), max_size=5), repeated=st.integers(1, 400))
def test_every_content_comes_back_byte_for_byte(world: World, contents: list[bytes], repeated: int) -> None:
    by_key = {
        world.contents.key(content): content for content in [*contents, *(c * repeated for c in contents)]
    }

    stored(world, by_key)

    assert read(world, *by_key) == by_key


def test_a_content_is_stored_once(world: World) -> None:
    key = world.contents.key(PROSE)

    stored(world, {key: PROSE})
    stored(world, {key: PROSE, world.contents.key(b"more"): b"more"})

    assert world.rows("SELECT count(*) FROM log.content") == [(2,)]


def test_what_shrinks_is_compressed_and_what_does_not_is_kept_as_it_is(world: World) -> None:
    noise = random.Random(1).randbytes(1_000)
    short = b"short"
    contents = {"prose": PROSE, "noise": noise, "short": short, "empty": b""}

    stored(world, contents)

    found = world.rows("SELECT key, codec, size, length(bytes) < size FROM log.content ORDER BY key")
    assert found == [
        ("empty", RAW, 0, False),
        ("noise", RAW, 1_000, False),
        ("prose", ZSTD, len(PROSE), True),
        ("short", RAW, 5, False),
    ]
    assert read(world, *contents) == contents


def test_what_was_erased_is_missing_from_what_is_read(world: World) -> None:
    stored(world, {"kept": b"kept", "erased": b"erased"})
    with world.engine.begin() as conn:
        conn.execute(sa.text("DELETE FROM log.content WHERE key = 'erased'"))

    assert read(world, "kept", "erased", "never") == {"kept": b"kept"}
    assert read(world) == {}


def test_a_key_depends_on_the_bytes_and_on_the_stores_own_key() -> None:
    one, other = ContentStore(b"1" * 32), ContentStore(b"2" * 32)

    assert one.key(b"secret") == one.text_key("secret")
    assert len({one.key(b"secret"), other.key(b"secret"), one.key(b"secret ")}) == 3
    assert len(one.key(b"")) == 40


@pytest.mark.parametrize("text", ["Grüezi", "\udc80 a stray byte of a path", "\ud800", "\x00", ""])
def test_a_text_comes_back_as_it_was(text: str) -> None:
    assert decoded(encoded(text)) == text


def test_threads_share_one_store(world: World) -> None:
    contents = {f"{number}": f"content {number} ".encode() * 20_000 for number in range(24)}

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda key: stored(world, {key: contents[key]}), contents))
        found = list(threads.map(lambda key: read(world, key), contents))

    assert found == [{key: content} for key, content in contents.items()]


def test_two_writers_of_the_same_contents_do_not_wait_for_each_other_for_ever(world: World) -> None:
    keys = [f"{number:03}" for number in range(100)]

    with ThreadPoolExecutor(2) as threads:
        orders = [keys, keys[::-1]] * 5
        written = [threads.submit(stored, world, {key: key.encode() for key in order}) for order in orders]

    assert [future.exception() for future in written] == [None] * 10
    assert world.rows("SELECT count(*) FROM log.content") == [(100,)]
