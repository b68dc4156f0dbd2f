"""Contents: bytes stored once, under a hash that nobody without the store's key can guess."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, LiteralString

import pytest
import sqlalchemy as sa
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from chronofile.infra.contents import ALONE_BYTES_MIN, RAW, ZSTD, ContentStore, decoded, encoded
from chronofile.infra.datastore import Datastore

PROSE = b"The port is 5432, and the port before that was 5433. " * 40


@dataclass(frozen=True, slots=True)
class Place:
    """Contents on a database: written as an append writes them, read as a projection reads them."""

    datastore: Datastore
    engine: sa.Engine
    contents: ContentStore

    def write(self, contents: Mapping[str, bytes]) -> None:
        with self.datastore.transaction(commit=True) as cursor:
            self.contents.write(cursor, contents)

    def read(self, *keys: str) -> dict[str, bytes]:
        with self.engine.connect() as conn:
            return self.contents.read(conn, keys)

    def rows(self, query: LiteralString) -> list[tuple[Any, ...]]:
        with self.engine.connect() as conn:
            return [tuple(row) for row in conn.execute(sa.text(query))]


@pytest.fixture
def place(conninfo: str, engine: sa.Engine, contents: ContentStore) -> Iterator[Place]:
    with Datastore(conninfo) as datastore:
        yield Place(datastore, engine, contents)


def test_large_contents_go_in_among_small_ones_byte_for_byte(place: Place) -> None:
    chance = random.Random(7)
    sizes = [0, 10, ALONE_BYTES_MIN - 1, ALONE_BYTES_MIN, 3 * ALONE_BYTES_MIN + 1, 200]
    by_key = {place.contents.key(content): content for content in map(chance.randbytes, sizes)}
    place.write(by_key)
    place.write(by_key)
    assert place.read(*by_key) == by_key
    assert sorted(place.rows("SELECT size FROM log.content")) == sorted((size,) for size in sizes)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(contents=st.lists(st.binary(max_size=2_000), max_size=5), repeated=st.integers(1, 400))
def test_every_content_comes_back_byte_for_byte(place: Place, contents: list[bytes], repeated: int) -> None:
    by_key = {
        place.contents.key(content): content for content in [*contents, *(c * repeated for c in contents)]
    }

    place.write(by_key)

    assert place.read(*by_key) == by_key


def test_a_content_is_stored_once(place: Place) -> None:
    key = place.contents.key(PROSE)

    place.write({key: PROSE})
    place.write({key: PROSE, place.contents.key(b"more"): b"more"})

    assert place.rows("SELECT count(*) FROM log.content") == [(2,)]


def test_what_shrinks_is_compressed_and_what_does_not_is_kept_as_it_is(place: Place) -> None:
    noise = random.Random(1).randbytes(1_000)
    short = b"short"
    contents = {"prose": PROSE, "noise": noise, "short": short, "empty": b""}

    place.write(contents)

    found = place.rows("SELECT key, codec, size, length(bytes) < size FROM log.content ORDER BY key")
    assert found == [
        ("empty", RAW, 0, False),
        ("noise", RAW, 1_000, False),
        ("prose", ZSTD, len(PROSE), True),
        ("short", RAW, 5, False),
    ]
    assert place.read(*contents) == contents


def test_what_was_erased_is_missing_from_what_is_read(place: Place) -> None:
    place.write({"kept": b"kept", "erased": b"erased"})
    with place.engine.begin() as conn:
        conn.execute(sa.text("DELETE FROM log.content WHERE key = 'erased'"))

    assert place.read("kept", "erased", "never") == {"kept": b"kept"}
    assert place.read() == {}


def test_a_key_depends_on_the_bytes_and_on_the_stores_own_key() -> None:
    one, other = ContentStore(b"1" * 32), ContentStore(b"2" * 32)

    assert one.key(b"secret") == one.text_key("secret")
    assert len({one.key(b"secret"), other.key(b"secret"), one.key(b"secret ")}) == 3
    assert len(one.key(b"")) == 40


@pytest.mark.parametrize("text", ["Grüezi", "\udc80 a stray byte of a path", "\ud800", "\x00", ""])
def test_a_text_comes_back_as_it_was(text: str) -> None:
    assert decoded(encoded(text)) == text


def test_threads_share_one_store(place: Place) -> None:
    contents = {f"{number}": f"content {number} ".encode() * 20_000 for number in range(24)}

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(lambda key: place.write({key: contents[key]}), contents))
        found = list(threads.map(place.read, contents))

    assert found == [{key: content} for key, content in contents.items()]


def test_two_writers_of_the_same_contents_do_not_wait_for_each_other_for_ever(place: Place) -> None:
    keys = [f"{number:03}" for number in range(100)]

    with ThreadPoolExecutor(2) as threads:
        orders = [keys, keys[::-1]] * 5
        written = [threads.submit(place.write, {key: key.encode() for key in order}) for order in orders]

    assert [future.exception() for future in written] == [None] * 10
    assert place.rows("SELECT count(*) FROM log.content") == [(100,)]
