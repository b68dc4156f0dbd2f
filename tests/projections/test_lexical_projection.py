"""The words: at every position their statistics are those of a recount from scratch."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import numpy as np

from chronofile.domain.events import SourceRescoped
from chronofile.domain.times import own_clock
from chronofile.projections.lexical import FREQUENCY_MAX, FREQUENCY_TYPE, TERM_TYPE
from chronofile.projections.projection import FOREVER
from chronofile.projections.words import analyse, passage_terms, term_hash
from tests.builders import turn_line, write
from tests.projections.taking_back import live
from tests.world import World

Statistics = dict[int, tuple[int, int, Counter[int]]]
"""By scope: passages, their length in all, and in how many of them each term occurs."""


def recounted(world: World, position: int) -> Statistics:
    """Count the words of the passages that are there as of a position."""
    rows = world.rows(
        "SELECT scope_no, text, title, speaker, turn IS NULL, event_time FROM {passages}.passage"
        " WHERE recorded_from <= %s AND recorded_to > %s",
        position,
        position,
    )
    found: Statistics = {}
    for scope_no, text, title, speaker, is_file, event_time in rows:
        terms = passage_terms(
            bytes(text).decode(),
            title=bytes(title).decode() if title else None,
            speaker=speaker,
            at=None if is_file else own_clock(event_time),
        )
        passages, length, frequencies = found.get(scope_no, (0, 0, Counter()))
        found[scope_no] = passages + 1, length + len(terms), frequencies + Counter(map(term_hash, set(terms)))
    return found


def stored(world: World, position: int) -> Statistics:
    """Return what the projection says as of a position."""
    totals = world.rows(
        "SELECT DISTINCT ON (scope_no) scope_no, passages, length FROM {lexical}.total WHERE position <= %s"
        " ORDER BY scope_no, position DESC",
        position,
    )
    frequencies = world.rows(
        "SELECT scope_no, term, count(*) FROM {lexical}.posting WHERE recorded_from <= %s AND recorded_to > %s"
        " GROUP BY scope_no, term",
        position,
        position,
    )
    return {
        scope_no: (passages, length, Counter({term: n for no, term, n in frequencies if no == scope_no}))
        for scope_no, passages, length in totals
        if passages
    }


def test_at_every_position_the_statistics_are_those_of_a_recount(world: World, tmp_path: Path) -> None:
    live(world, tmp_path / "api")
    world.catch_up()

    head = world.store.position()
    assert len(recounted(world, head)) > 2
    for position in range(1, head + 1):
        assert stored(world, position) == recounted(world, position)


def unpacked(terms: bytes, frequencies: bytes) -> tuple[list[int], list[int]]:
    return np.frombuffer(terms, TERM_TYPE).tolist(), np.frombuffer(frequencies, FREQUENCY_TYPE).tolist()


def test_a_document_has_the_postings_of_its_passage(world: World, tmp_path: Path) -> None:
    live(world, tmp_path / "api")
    world.catch_up(page_events=5)

    documents = [
        (no, scope_no, length, *unpacked(terms, frequencies))
        for no, scope_no, length, terms, frequencies in world.rows(
            "SELECT passage_no, scope_no, length, terms, frequencies FROM {lexical}.document"
        )
    ]
    postings = world.rows("SELECT passage_no, scope_no, length, term, frequency FROM {lexical}.posting")

    assert len(documents) == world.rows("SELECT count(*) FROM {passages}.passage")[0][0]
    assert sorted(postings) == sorted(
        (no, scope_no, length, term, frequency)
        for no, scope_no, length, terms, frequencies in documents
        for term, frequency in zip(terms, frequencies, strict=True)
    )
    assert all(sum(frequencies) == length for _, _, length, _, frequencies in documents)


def test_the_postings_of_what_is_over_are_closed_where_it_ended(world: World, tmp_path: Path) -> None:
    live(world, tmp_path / "api", after_each=world.catch_up)

    open_too_long = world.rows(
        "SELECT count(*) FROM {lexical}.posting t JOIN {passages}.passage p ON p.no = t.passage_no"
        " WHERE t.recorded_to <> p.recorded_to OR t.recorded_from <> p.recorded_from OR t.scope_no <> p.scope_no"
    )

    assert open_too_long == [(0,)]
    over = world.rows("SELECT count(*) FROM {lexical}.posting WHERE recorded_to < %s", FOREVER)
    assert over[0][0] > 0


def test_a_source_in_another_scope_counts_there_and_no_longer_here(world: World, tmp_path: Path) -> None:
    world.capture(write(tmp_path / "t.turns.jsonl", turn_line("One zebra."), turn_line("Two.", turn="2")))
    (stream,) = {r.stream for r in world.store.after(0) if r.stream.startswith("source-")}
    world.given(stream, SourceRescoped("person:ann"))
    world.catch_up()

    totals = world.rows("SELECT scope_no, passages, length FROM {lexical}.total ORDER BY position, scope_no")

    length = len(analyse("One zebra. Two."))
    assert totals == [(1, 2, length), (1, 0, 0), (2, 2, length)]


def test_a_speaker_a_day_and_a_title_are_words_too(world: World, tmp_path: Path) -> None:
    line = turn_line("Hello zebra.", speaker="Aurelia", at="2023-05-08T23:30:00-11:00")
    world.capture(write(tmp_path / "t.turns.jsonl", line), write(tmp_path / "walrus.md", "A file."))
    world.catch_up()

    found = {term for (term,) in world.rows("SELECT term FROM {lexical}.posting")}

    assert {term_hash(term) for term in analyse("zebra aurelia may 8 2023 walrus")} <= found
    assert term_hash("2023-05-08") in found


def test_a_passage_of_one_word_and_one_of_no_word_are_documents(world: World, tmp_path: Path) -> None:
    lines = [turn_line("zebra " * 100), turn_line("...", turn="2"), turn_line("the", turn="3")]
    world.capture(write(tmp_path / "t.turns.jsonl", *lines))
    world.catch_up()

    rows = [
        (length, *unpacked(terms, frequencies))
        for length, terms, frequencies in world.rows(
            "SELECT length, terms, frequencies FROM {lexical}.document ORDER BY passage_no"
        )
    ]

    assert rows == [(100, [term_hash("zebra")], [100]), (0, [], []), (0, [], [])]
    assert FREQUENCY_MAX > 100
