"""Identity: equal things get equal ids, different things different ones, on every machine and for ever."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from chronofile.domain.identity import Field, content_key, digest, source_id, storable

STORE_KEY = bytes(range(32))
a_field: st.SearchStrategy[Field] = st.one_of(
    st.none(), st.integers(), st.binary(max_size=8), st.text(st.characters(exclude_categories=[]), max_size=8)
)


def test_ids_are_the_same_for_ever() -> None:
    # These stand in people's logs: a change here is a change of every id.
    assert digest("source", "Grüezi", 1, None, b"\x00", key=STORE_KEY) == "927847fd5e488d67c02342fd804dc21c"
    assert content_key(b"The port is 5432.", STORE_KEY) == "b001f58de11e2d1a2e3a39a167e2476ed4d4923e"
    assert source_id("file", "global", "file:///a", 0, STORE_KEY) == "5b2e6ab78d65b9865e46d58d50803d22"


@given(one=st.lists(a_field, max_size=4), other=st.lists(a_field, max_size=4))
def test_different_fields_have_different_digests(one: list[Field], other: list[Field]) -> None:
    assert (digest(*one) == digest(*other)) == ([(type(f), f) for f in one] == [(type(f), f) for f in other])


def test_where_one_field_ends_and_another_begins_matters_and_so_does_what_it_is() -> None:
    fields: list[tuple[Field, ...]] = [
        ("ab", "c"), ("a", "bc"), ("abc",), ("abc", ""), (1,), ("1",), (b"1",), (None,), ("",), (), (-1,), ("\ud800",),
    ]  # fmt: skip

    assert len({digest(*one) for one in fields}) == len(fields)


def test_a_digest_has_two_characters_for_each_byte() -> None:
    assert [len(digest("x", size=size)) for size in (1, 16, 64)] == [2, 32, 128]


def test_a_content_key_needs_the_stores_key_and_has_forty_characters() -> None:
    assert content_key(b"1234", STORE_KEY) != content_key(b"1234", bytes(32))
    assert len(content_key(b"", STORE_KEY)) == 40


def test_a_source_registered_again_is_another_source() -> None:
    kinds = [("file", "global", "k", 0), ("file", "global", "k", 1), ("transcript", "global", "k", 0)]
    scopes = [("file", "project:api", "k", 0)]

    assert len({source_id(*one, STORE_KEY) for one in kinds + scopes}) == 4


@given(text=st.text(st.characters(exclude_categories=[])))
def test_a_storable_identifier_is_text_that_every_store_takes(text: str) -> None:
    found = storable(text)

    assert found is not None
    assert "\x00" not in found
    assert found.encode("utf-8").decode("utf-8") == found
    assert len(found) == len(text)
    assert storable(found) == found


def test_nothing_stays_nothing_and_the_rest_stays_as_it_is() -> None:
    assert storable(None) is None
    assert storable("") == ""
    assert storable("s-1 世界\n") == "s-1 世界\n"
    assert storable("a\x00b\ud800c") == "a\ufffdb\ufffdc"
