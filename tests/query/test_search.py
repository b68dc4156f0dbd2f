"""Search: what is found, under which filters, as of when, and what an answer says of itself."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from chronofile.domain.errors import BadRequest, UnknownScope
from chronofile.domain.events import SourceRescoped
from chronofile.domain.scopes import GLOBAL
from chronofile.projections import control, vectors
from chronofile.query.question import Filters, Question
from chronofile.query.search import Models, search
from tests.builders import add, claude_line, turn_line, write
from tests.query.asking import AT, Twin, ask, lines_of, opened, texts, verdict
from tests.servers import Server
from tests.world import World, static_vectors

WORDS = [
    "harbour",
    "lantern",
    "copper",
    "meadow",
    "violin",
    "thunder",
    "basket",
    "pepper",
    "window",
    "saddle",
]


def sentence(chance: random.Random, count: int = 8) -> str:
    return " ".join(chance.choices(WORDS, k=count))


@pytest.mark.parametrize(
    "content",
    [
        b"# Ports\r\n\r\nStaging listens on 5433.\r\n\r\n# Colours\r\n\r\nThe logo is teal.\r\n",
        "\ufeffStaging listens on 5433.\n".encode(),
        "Staging 🛰️ listens on 5433 👩‍👩‍👧.\n\n日本語のテキスト\n".encode(),
        "Staging listens on 5433.".encode("utf-16"),
    ],
)
def test_a_hit_of_a_file_is_the_exact_slice_of_its_text_with_its_lines(
    world: World, tmp_path: Path, content: bytes
) -> None:
    path = tmp_path / "notes.md"
    path.write_bytes(content)
    world.capture(path)
    world.catch_up()

    encoding = "utf-16" if content[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8-sig"
    text = content.decode(encoding)
    found = ask(world, "staging port 5433", limit=50).hits
    assert "".join(hit.text for hit in sorted(found, key=lambda hit: hit.span)) == text
    for hit in found:
        assert hit.text == text[slice(*hit.span)]
        assert hit.lines is not None
        assert hit.text in "\n".join(text.split("\n")[hit.lines[0] - 1 : hit.lines[1]]) + "\n"
        assert (hit.turns, hit.session, hit.role, hit.source.uri) == ((), None, None, f"file://{path}")


@pytest.mark.parametrize(
    "said", ["a\0b port 5433", "lone \ud800 port 5433", "🛰️" * 40 + " port 5433", "\r\nport\r\n"]
)
def test_a_hit_of_a_transcript_is_the_exact_slice_of_its_turn(
    world: World, tmp_path: Path, said: str
) -> None:
    line = json.dumps({"session": "s-1", "turn": "t-1", "role": "user", "text": said, "speaker": "Ann"})
    world.capture(write(tmp_path / "a.turns.jsonl", line))
    world.catch_up(embed=True)

    (hit,) = ask(world, "port").hits
    assert (hit.text, hit.span, hit.lines) == (said, (0, len(said)), None)
    assert (hit.session, hit.turns, hit.role, hit.speaker) == ("s-1", ("t-1",), "user", "Ann")
    assert hit.source.format == "turns"
    assert hit.source.revision == 1


def test_a_long_turn_gives_hits_with_spans_in_code_points_that_partition_it(
    world: World, tmp_path: Path
) -> None:
    said = "\n\n".join(f"Paragraph {number} 🦊 about harbours and lanterns. " * 12 for number in range(12))
    world.capture(write(tmp_path / "a.turns.jsonl", turn_line(said)))
    world.catch_up()

    found = sorted(ask(world, "harbours", limit=100).hits, key=lambda hit: hit.span)
    assert len(found) > 1
    assert "".join(hit.text for hit in found) == said
    assert all(hit.text == said[slice(*hit.span)] for hit in found)


def test_a_merged_message_names_the_records_it_was_merged_from(world: World, tmp_path: Path) -> None:
    parts = [
        claude_line("Which port?", uuid="u-1"),
        claude_line("Staging uses", role="assistant", uuid="u-2", message_id="m"),
        claude_line("port 5433.", role="assistant", uuid="u-3", message_id="m"),
    ]
    world.capture(write(tmp_path / "s.jsonl", *parts))
    world.catch_up()

    hits = ask(world, "staging 5433").hits
    assert {turn for hit in hits if hit.role == "assistant" for turn in hit.turns} == {"u-2", "u-3"}


@pytest.fixture(scope="module")
def towns(embedded_postgres: Server, tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[bool, World]]:
    """Two worlds with many passages that say the same better, and one, which each filter alone tells from them.

    They are for reading. In the second nothing has a transformer vector.
    """
    folder = tmp_path_factory.mktemp("towns")
    crowd = [f"violin lantern violin lantern number {number}" for number in range(150)]
    loud = {"session": "crowd", "speaker": "Bob", "at": "2026-01-05T10:00:00+00:00"}
    lone = {"session": "lone", "speaker": "Änne", "at": "2026-03-05T10:00:00+02:00"}
    write(folder / "crowd.turns.jsonl", *lines_of(crowd, **loud))
    write(folder / "lone.turns.jsonl", *lines_of(["It lay beside a violin yesterday"], **lone))
    home = folder / "home"
    with opened(embedded_postgres, home) as embedded, opened(embedded_postgres, home) as waiting:
        worlds = {True: embedded, False: waiting}
        for has_vectors, world in worlds.items():
            world.capture(folder / "crowd.turns.jsonl", scope="busy")
            world.capture(folder / "lone.turns.jsonl", scope="quiet")
            world.catch_up(embed=has_vectors)
        yield worlds


@pytest.fixture
def town(towns: dict[bool, World]) -> World:
    return towns[True]


def source_of(world: World, session: str) -> str:
    return str(world.rows("SELECT id FROM {sources}.source WHERE session = %s", session)[0][0])


Wanted = Callable[[World], dict[str, Any]]
NARROWED: Mapping[str, Wanted] = {
    "scope": lambda world: {"scopes": ("quiet",)},
    "several scopes": lambda world: {"scopes": ("quiet", GLOBAL)},
    "session": lambda world: {"session": "lone"},
    "speaker": lambda world: {"speaker": "äNNE"},
    "source": lambda world: {"source_ids": (source_of(world, "lone"),)},
    "since": lambda world: {"since": datetime(2026, 3, 5, 8, tzinfo=UTC)},
    "since and until": lambda world: {
        "since": datetime(2026, 3, 5, tzinfo=UTC),
        "until": datetime(2026, 3, 5, 8, tzinfo=UTC),
    },
    "everything": lambda world: {
        "scopes": ("quiet", "busy"),
        "session": "lone",
        "speaker": "Änne",
        "source_ids": (source_of(world, "lone"),),
        "since": datetime(2026, 3, 1, tzinfo=UTC),
    },
}


@pytest.mark.parametrize("name", NARROWED)
@pytest.mark.parametrize("embedded", [True, False])
def test_the_one_passage_that_a_filter_allows_is_found_behind_hundreds_that_rank_before_it(
    towns: dict[bool, World], name: str, embedded: bool
) -> None:
    town = towns[embedded]
    narrowed = NARROWED[name](town)

    assert texts(ask(town, "violin lantern violin lantern", **narrowed)) == [
        "It lay beside a violin yesterday"
    ]
    assert "yesterday" not in " ".join(texts(ask(town, "violin lantern violin lantern", limit=100)))


def test_each_leg_alone_finds_what_a_filter_allows(town: World) -> None:
    narrowed: dict[str, Any] = {"speaker": "Änne", "scopes": ("quiet", "busy")}
    for question in ("violin", "nothing shared whatsoever"):
        (hit,) = ask(town, question, explain=True, **narrowed).hits
        assert hit.stages is not None
        assert hit.stages["dense"].model == "word-hashes@16"


@pytest.mark.parametrize(
    "filters",
    [
        {"kind": "decision"},
        {"topic": "nowhere"},
        {"session": "nobody's"},
        {"speaker": "Cleo"},
        {"source_ids": ("0" * 32,)},
        {"since": datetime(2027, 1, 1, tzinfo=UTC)},
        {"until": datetime(2020, 1, 1, tzinfo=UTC)},
        {"scopes": ("quiet",), "session": "crowd"},
        {"scopes": (GLOBAL,)},
        {"scopes": ()},
    ],
)
def test_filters_that_nothing_passes_give_no_hits_and_no_match(town: World, filters: dict[str, Any]) -> None:
    answer = ask(town, "violin lantern", **filters)
    assert (answer.hits, answer.matched) == ((), False)


def test_passages_are_found_by_the_topic_of_their_folder(world: World, tmp_path: Path) -> None:
    write(tmp_path / "music" / "a.md", "The violin is here.")
    write(tmp_path / "garden" / "a.md", "The violin is there.")
    world.capture(tmp_path)
    world.catch_up()

    (hit,) = ask(world, "violin", topic="music").hits
    assert (hit.text, hit.topic) == ("The violin is here.\n", "music")


def test_a_scope_that_nobody_created_is_an_error_and_one_without_passages_is_not(
    world: World, tmp_path: Path
) -> None:
    world.capture(write(tmp_path / "empty.md"), scope="created")
    world.catch_up()

    assert ask(world, "violin", scopes=("created", GLOBAL)).hits == ()
    with pytest.raises(UnknownScope, match="nobody"):
        ask(world, "violin", scopes=("created", "nobody's"))


def test_without_scopes_every_scope_is_asked_and_named(town: World) -> None:
    assert ask(town, "violin").scopes == ("busy", "quiet")
    assert ask(town, "violin", scopes=("quiet", GLOBAL)).scopes == ("quiet", GLOBAL)


def with_a_past(world: World, tmp_path: Path) -> World:
    """Give a world a past: growth, edits, a removal, a move, another scope, a passage that goes and comes back."""
    chance = random.Random(7)
    notes, chat, gone = tmp_path / "notes.md", tmp_path / "chat.turns.jsonl", tmp_path / "gone.md"
    paragraphs = [f"# {word}\n\n{sentence(chance, 70)}\n" for word in WORDS[:6]]
    write(notes, *paragraphs)
    write(chat, turn_line(sentence(chance), turn="1", speaker="Ann", at="2026-02-01T08:00:00Z"))
    write(gone, sentence(chance, 30))
    world.capture(tmp_path)
    add(chat, turn_line(sentence(chance) + "?", turn="2", speaker="Bob", at="2026-02-02T08:00:00Z"))
    write(notes, *paragraphs[:2], *paragraphs[3:], sentence(chance, 12))
    world.capture(tmp_path)
    gone.unlink()
    world.capture(tmp_path)
    write(notes, *paragraphs)
    add(chat, turn_line(sentence(chance), turn="3", speaker="Ann", at="2026-02-03T08:00:00Z"))
    world.capture(tmp_path)
    notes.rename(tmp_path / "renamed.md")
    write(tmp_path / "other.md", sentence(chance, 25))
    world.capture(tmp_path)
    (moved,) = world.rows("SELECT originator_id FROM log.events WHERE topic = 'SourceMoved'")
    world.given(moved[0], SourceRescoped("elsewhere"))
    write(tmp_path / "renamed.md", *paragraphs[1:], sentence(chance, 15))
    world.capture(tmp_path)
    world.catch_up()
    return world


@pytest.fixture
def history(world: World, tmp_path: Path) -> World:
    with_a_past(world, tmp_path).catch_up(embed=True)
    return world


def test_as_of_any_position_a_search_gives_what_a_store_replayed_up_to_there_gives(history: World) -> None:
    twin, chance = Twin.of(history), random.Random(2)
    for position in range(history.store.position() + 1):
        question = sentence(chance, 4)
        fields: dict[str, Any] = chance.choice([{}, {"scopes": (GLOBAL,)}, {"speaker": "ann"}])
        answer = ask(history, question, as_of=position, limit=100, **fields)
        assert verdict(answer) == verdict(twin.ask(question, position, limit=100, **fields)), position
        assert answer.as_of == position


def test_as_of_before_a_turn_went_on_a_hit_names_only_the_records_that_were_there(
    world: World, tmp_path: Path
) -> None:
    long = [f"The violin is {word}." for word in WORDS for _ in range(20)]
    path = write(
        tmp_path / "s.jsonl",
        claude_line("\n\n".join(long), role="assistant", uuid="u-2", message_id="m"),
    )
    before = world.capture(path).position
    add(path, claude_line("And the lantern?", role="assistant", uuid="u-3", message_id="m"))
    world.capture(path)
    world.catch_up()

    assert {hit.turns for hit in ask(world, "violin", as_of=before).hits} == {("u-2",)}
    assert {hit.turns for hit in ask(world, "violin").hits} == {("u-2", "u-3")}


def test_as_of_any_position_words_and_instant_vectors_alone_give_the_same_too(
    world: World, tmp_path: Path
) -> None:
    twin, chance = Twin.of(with_a_past(world, tmp_path)), random.Random(3)
    for position in range(0, world.store.position() + 1, 2):
        question = sentence(chance, 4)
        answer = ask(world, question, as_of=position, limit=100)
        assert verdict(answer) == verdict(twin.ask(question, position, limit=100)), position
    latest = ask(world, "violin", limit=100)
    assert latest.degraded == (f"vectors: {len(latest.hits)} pending",)


def test_position_0_gives_nothing_and_one_to_come_gives_what_is_there_now(history: World) -> None:
    assert verdict(ask(history, "violin lantern", as_of=0)) == (False, [])
    assert verdict(ask(history, "violin lantern", as_of=-3)) == (False, [])
    ahead = ask(history, "violin lantern", as_of=2**70)
    assert verdict(ahead) == verdict(ask(history, "violin lantern"))
    assert (ahead.as_of, ahead.position) == (2**70, history.store.position())


def test_neither_another_scope_nor_what_comes_later_changes_a_score(history: World, tmp_path: Path) -> None:
    chance = random.Random(5)
    here: dict[str, Any] = {"scopes": (GLOBAL,), "limit": 100}
    head = history.store.position()
    before = [ask(history, question, **here) for question in WORDS[:8]]

    write(tmp_path / "crowd.turns.jsonl", *lines_of([sentence(chance) for _ in range(300)], session="crowd"))
    history.capture(tmp_path / "crowd.turns.jsonl", scope="crowded")
    history.catch_up(embed=True)
    assert [verdict(ask(history, question, **here)) for question in WORDS[:8]] == [*map(verdict, before)]

    history.capture(tmp_path / "crowd.turns.jsonl", scope=GLOBAL)
    history.catch_up(embed=True)
    later = [ask(history, question, as_of=head, **here) for question in WORDS[:8]]
    assert [*map(verdict, later)] == [*map(verdict, before)]
    assert [*map(texts, later)] != [texts(ask(history, question, **here)) for question in WORDS[:8]]


def test_the_hits_at_a_small_limit_are_the_first_of_those_at_a_large_one(town: World) -> None:
    for question in ("violin lantern", "yesterday beside", "number 7"):
        all_hits = ask(town, question, limit=1_000_000).hits
        assert len(all_hits) > 50
        for limit in (0, 1, 5, 50):
            assert ask(town, question, limit=limit).hits == all_hits[:limit]
            assert ask(town, question, limit=limit).matched == ask(town, question).matched


def test_a_search_writes_nothing(history: World) -> None:
    def counted() -> dict[str, int]:
        tables = history.rows(
            "SELECT schemaname || '.' || tablename FROM pg_tables WHERE schemaname !~ '^(pg_|information)'"
        )
        return {name: history.rows(f"SELECT count(*) FROM {name}")[0][0] for (name,) in tables}  # noqa: S608

    before = counted()
    ask(history, "violin lantern", explain=True)
    assert counted() == before


def test_a_session_that_was_resumed_in_another_file_brings_each_turn_once(
    world: World, tmp_path: Path
) -> None:
    shared = [claude_line("The violin is in the attic.", uuid="u-1", session="first")]
    resumed = [
        claude_line("The violin is in the attic.", uuid="u-1", session="first"),
        claude_line("And the lantern?", uuid="u-2", session="second", at="2026-05-09T12:00:00.000Z"),
    ]
    write(tmp_path / "first.jsonl", *shared)
    write(tmp_path / "second.jsonl", *resumed)
    world.capture(tmp_path)
    world.catch_up(embed=True)

    assert sorted(texts(ask(world, "violin attic"))) == ["And the lantern?", "The violin is in the attic."]


def test_sessions_that_merely_number_their_turns_keep_what_both_say(world: World, tmp_path: Path) -> None:
    for session in ("a", "b"):
        write(tmp_path / f"{session}.turns.jsonl", turn_line("Yes, the violin.", session=session))
    world.capture(tmp_path)
    world.catch_up()

    assert {hit.session for hit in ask(world, "violin").hits} == {"a", "b"}


def test_neighbours_outside_of_a_filter_are_evidence_but_never_hits(world: World, tmp_path: Path) -> None:
    talk = [
        turn_line("Where is the violin lantern?", turn="1", speaker="Ann"),
        turn_line("Up there.", turn="2", speaker="Bob"),
        turn_line("Thanks a lot for telling.", turn="3", speaker="Cleo"),
        *lines_of([f"Something else entirely {number}" for number in range(20)], session="z", speaker="Bob"),
    ]
    world.capture(write(tmp_path / "a.turns.jsonl", *talk))
    world.catch_up(embed=True)

    answer = ask(world, "violin lantern", speaker="Bob", limit=100)
    assert {hit.speaker for hit in answer.hits} == {"Bob"}
    assert answer.hits[0].text == "Up there."


@pytest.fixture
def attic(world: World, tmp_path: Path) -> World:
    world.capture(
        write(
            tmp_path / "a.turns.jsonl",
            turn_line("The staging server listens on port 5433.", speaker="Ann", at="2026-05-08T10:00:00Z"),
        )
    )
    world.catch_up()
    return world


def test_passages_without_vectors_are_counted_and_their_instant_scores_stand_in(attic: World) -> None:
    answer = ask(attic, "Which port does staging use?", explain=True)
    assert answer.degraded == ("vectors: 1 pending",)
    stages = answer.hits[0].stages
    assert stages is not None
    assert stages["dense"].score is None
    assert stages["instant"].score is not None
    assert (stages["instant"].model or "").startswith("static-l2@256#")

    attic.catch_up(embed=True)
    answer = ask(attic, "Which port does staging use?", explain=True)
    assert answer.degraded == ()
    stages = answer.hits[0].stages
    assert stages is not None
    assert (stages["dense"].rank, stages["dense"].model) == (1, "word-hashes@16")


def test_only_what_is_pending_in_the_scopes_asked_is_told(attic: World, tmp_path: Path) -> None:
    attic.catch_up(embed=True)
    head = attic.store.position()
    attic.capture(write(tmp_path / "b.md", "A violin."), scope="busy")
    attic.catch_up()

    assert ask(attic, "port", scopes=(GLOBAL,)).degraded == ()
    assert ask(attic, "port", as_of=head).degraded == ()
    assert ask(attic, "port").degraded == ("vectors: 1 pending",)


def test_an_embedder_that_fails_leaves_the_other_legs_to_answer_and_is_named(attic: World) -> None:
    attic.catch_up(embed=True)

    def broken(configuration: Mapping[str, Any]) -> Any:
        raise OSError(f"no weights of {configuration['model']}\nand more")

    models = Models(static_vectors(), broken)
    question = Question("Which port does staging use?", Filters(), AT, explain=True)
    answer = search(attic.engine, models, question, attic.store.position())
    assert answer.degraded == ("vectors: no weights of word-hashes",)
    assert answer.matched
    assert answer.hits[0].text == "The staging server listens on port 5433."


def test_without_a_generation_of_vectors_the_other_legs_answer(attic: World) -> None:
    attic.catch_up(embed=True)
    with attic.engine.begin() as conn:
        conn.execute(sa.delete(control.active).where(control.active.c.projection == vectors.NAME))

    answer = ask(attic, "Which port does staging use?", explain=True)
    assert answer.degraded == ("vectors: none are kept",)
    assert answer.hits[0].stages is not None
    assert answer.hits[0].stages["dense"].model is None


@dataclass(frozen=True, slots=True)
class OtherTable:
    """The static vectors under another identity, as another table would have."""

    dimension: int = 256
    identity: str = "static-other@256"

    def tokens(self, texts: Sequence[str]) -> list[list[int]]:
        return static_vectors().tokens(texts)

    def pool(self, tokens: Sequence[Sequence[int]]) -> Any:
        return -static_vectors().pool(tokens)

    def rows(self, tokens: Sequence[int]) -> Any:
        return -static_vectors().rows(tokens)


@pytest.mark.parametrize("embedded", [True, False])
def test_another_static_table_than_the_one_that_was_indexed_with_scores_nothing(
    attic: World, *, embedded: bool
) -> None:
    attic.catch_up(embed=embedded)
    models = Models(OtherTable(), lambda configuration: attic.embedder)
    question = Question("Which port does staging use?", Filters(), AT, explain=True)
    answer = search(attic.engine, models, question, attic.store.position())

    kept = static_vectors().identity
    assert answer.degraded[0] == f"instant: static-other@256 instead of {kept}"
    assert texts(answer) == ["The staging server listens on port 5433."]
    stages = answer.hits[0].stages
    assert stages is not None
    assert (stages["instant"].score, stages["late"].score) == (None, None)
    assert stages["lexical"].score is not None


def test_what_a_filter_excludes_does_not_make_a_question_matched(world: World, tmp_path: Path) -> None:
    talk = [
        turn_line("The violin lantern is in the copper basket.", turn="1", speaker="Ann"),
        turn_line("Hm.", turn="2", speaker="Cleo"),
        turn_line("Fine.", turn="3", speaker="Bob"),
        *lines_of([f"Pepper {number}" for number in range(20)], session="z", speaker="Bob"),
    ]
    world.capture(write(tmp_path / "a.turns.jsonl", *talk))
    world.catch_up()

    question = "The violin lantern is in the copper basket."
    assert ask(world, question, speaker="Ann").matched
    answer = ask(world, question, speaker="Bob", limit=100)
    assert len(answer.hits) == 21
    assert not answer.matched


def test_an_answer_is_no_newer_than_the_catalogue_of_sources_that_its_hits_name(attic: World) -> None:
    with attic.engine.begin() as conn:
        behind = sa.update(control.generation).where(control.generation.c.projection == "sources")
        conn.execute(behind.values(position=1))

    assert ask(attic, "port").position == 1


def test_a_search_answers_the_same_on_every_server(any_postgres: Server, home: Path, tmp_path: Path) -> None:
    with opened(any_postgres, home) as world:
        write(tmp_path / "notes" / "ports.md", "Staging listens on port 5433.")
        said = ["Where is the violin?", "In the attic, Ann.", "And the lantern?"]
        write(tmp_path / "notes" / "a.turns.jsonl", *lines_of(said, speaker="Ann"))
        world.capture(tmp_path / "notes")
        world.catch_up(embed=True)

        answer = ask(world, "Which port does staging listen on?", explain=True)
        assert (texts(answer)[0], answer.matched) == ("Staging listens on port 5433.\n", True)
        assert answer.hits[0].stages is not None
        assert {"dense", "lexical", "instant", "late", "final"} <= set(answer.hits[0].stages)
        assert texts(ask(world, "violin", speaker="ann", limit=1)) == ["Where is the violin?"]
        assert texts(ask(world, "port", topic="notes")) != []
        assert ask(world, "port", as_of=0).hits == ()


def test_a_log_that_is_ahead_of_the_projections_is_told(attic: World) -> None:
    answer = ask(attic, "port", head=attic.store.position() + 7)
    assert answer.degraded[-1] == "log: 7 events not applied yet"


def test_a_hit_says_when_it_happened_and_how_long_ago(attic: World) -> None:
    (hit,) = ask(attic, "port").hits
    assert hit.event_time == "2026-05-08T10:00:00Z"
    assert hit.age_s == int((AT - datetime(2026, 5, 8, 10, tzinfo=UTC)).total_seconds())
    assert abs(hit.recorded_at - datetime.now(UTC)) < timedelta(hours=1)
    assert 0 < hit.position <= attic.store.position()
    assert (hit.trust, hit.novelty, hit.superseded, hit.kind, hit.topic) == (None, None, False, None, None)


def test_a_question_that_the_store_answers_is_matched_and_nonsense_is_not(attic: World) -> None:
    attic.catch_up(embed=True)
    assert ask(attic, "Which port does the staging server listen on?").matched
    nonsense = ask(attic, "xylograph quokka blini?")
    assert not nonsense.matched
    assert len(nonsense.hits) == 1


def test_an_empty_store_matches_nothing(world: World) -> None:
    answer = ask(world, "Which port?")
    assert (answer.hits, answer.matched, answer.scopes, answer.position) == ((), False, (), 0)


@pytest.mark.parametrize("question", ["", "   ", "\n\t"])
def test_a_question_without_anything_is_refused(world: World, question: str) -> None:
    with pytest.raises(BadRequest):
        ask(world, question)


ODD_QUESTIONS = [
    "the of and to",
    "?!... --- ***",
    "🛰️🦊",
    "Auf welchem Port läuft der Server?",
    "服务器在哪个端口上监听？",
    "على أي منفذ يعمل الخادم؟",
    "port & !staging | (5433:*) <-> 'x'",
    "'; DROP TABLE log.events; -- %s %(x)s :name {passages}",
    "port\0 5433",
    "port \ud800 5433",
    "port " * 20_000,
    " ".join(f"word{number}" for number in range(12_000)) + " port 5433",
    "\\",
    "%",
    "a" * 50_000,
]


def test_any_question_is_answered(attic: World) -> None:
    attic.catch_up(embed=True)
    for question in ODD_QUESTIONS:
        answer = ask(attic, question)
        assert answer.query == question
        assert texts(answer) == ["The staging server listens on port 5433."]
        assert answer.took_ms < 10_000


def test_of_a_long_question_the_end_counts(town: World) -> None:
    rambling = " ".join(["violin lantern"] * 5_000)
    question = f"{rambling} {' ' * 20_000} What lay beside something yesterday?"
    assert texts(ask(town, question))[0] == "It lay beside a violin yesterday"
