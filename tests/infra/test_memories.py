"""Memories: what somebody asks to be kept is appended once, found at once, and hidden when it is to be forgotten."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from chronofile.domain import streams
from chronofile.domain.errors import BadRequest
from chronofile.domain.events import MemoryCorrected, MemoryForgotten, MemoryRemembered, ScopeCreated
from chronofile.domain.identity import decoded, encoded
from chronofile.domain.memories import (
    MemoryConflict,
    MemoryIsForgotten,
    NotAMemory,
    TextErased,
    UnknownMemory,
    WrongToken,
)
from chronofile.domain.scopes import GLOBAL
from chronofile.infra.config import load
from chronofile.infra.memories import Remembered
from chronofile.infra.memory import Memory
from chronofile.infra.models import LoadedModels
from chronofile.infra.wiring import memory_of
from tests.builders import repository, write
from tests.world import WordHashes, static_vectors

PORT, OTHER_PORT = "The staging server listens on 8443.", "The staging server listens on 9443."
UNKNOWN = "0" * 32


@contextmanager
def opened(conninfo: str, home: Path, **environment: str) -> Iterator[Memory]:
    variables = {f"CHRONOFILE_{name.upper()}": value for name, value in environment.items()}
    config = load({"home": str(home), "database_url": conninfo}, variables)
    models = LoadedModels(lambda name: WordHashes(), static_vectors)
    with memory_of(config, caller="python", models=models) as memory:
        yield memory


@pytest.fixture
def memory(conninfo: str, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    monkeypatch.chdir(tmp_path)
    with opened(conninfo, home) as found:
        yield found


def events(memory: Memory, identifier: str) -> list[object]:
    return [recorded.event for recorded in memory._parts.store.read(streams.memory(identifier))]


def texts(memory: Memory, query: str = "staging server", **fields: object) -> list[str]:
    found = memory.search(query, scope="all", **fields)  # type: ignore[arg-type]
    return [hit.text for hit in found.hits]


def everything_stored(memory: Memory) -> str:
    """Return all that the log holds: its events as they are written, and its contents."""
    with memory._parts.engine.connect() as conn:
        states = conn.exec_driver_sql("SELECT state FROM log.events").scalars().all()
        keys = conn.exec_driver_sql("SELECT key FROM log.content").scalars().all()
        contents = memory._parts.contents.read(conn, list(keys)).values()
    return "\n".join(decoded(bytes(found)) for found in (*states, *contents))


def test_what_is_remembered_is_found_by_the_next_search(memory: Memory) -> None:
    found = memory.remember(PORT, kind="decision")
    answer = memory.search("Which port does the staging server use?")

    (hit,) = answer.hits
    assert (hit.text, hit.kind, hit.scope, hit.session) == (PORT, "decision", GLOBAL, None)
    assert (hit.source.uri, hit.source.format) == (f"memory:{found.id}", "memory")
    assert (answer.matched, hit.position) == (True, found.position)
    assert found == Remembered(found.id, GLOBAL, "decision", found.position, True, 0, False)
    assert [hit.text for hit in memory.search("staging port", kind="decision").hits] == [PORT]
    assert memory.search("staging port", kind="note").hits == ()


def test_the_log_names_the_text_and_does_not_hold_it(memory: Memory) -> None:
    found = memory.remember(PORT)

    (event,) = events(memory, found.id)
    assert isinstance(event, MemoryRemembered)
    assert (event.text, event.original, event.actor) == (
        memory._parts.contents.text_key(PORT),
        None,
        "python",
    )
    states = memory._parts.engine.connect().exec_driver_sql("SELECT state FROM log.events").scalars()
    assert not any(encoded(PORT) in bytes(state) for state in states)


def test_the_same_text_is_remembered_once_and_in_another_scope_or_kind_again(memory: Memory) -> None:
    first, again = memory.remember(PORT), memory.remember(PORT)
    others = [memory.remember(PORT, scope="project:api"), memory.remember(PORT, kind="fact")]

    assert (again.id, again.created, again.position) == (first.id, False, first.position)
    assert len({first.id, *(other.id for other in others)}) == 3


def test_a_key_stands_for_one_text_in_its_scope(memory: Memory) -> None:
    first = memory.remember(PORT, key="staging-port")
    again = memory.remember(PORT, key="staging-port", kind="fact")
    elsewhere = memory.remember(OTHER_PORT, key="staging-port", scope="project:api")

    assert (again.id, again.kind, again.created) == (first.id, "note", False)
    assert elsewhere.created
    with pytest.raises(MemoryConflict, match=first.id):
        memory.remember(OTHER_PORT, key="staging-port")
    assert len(events(memory, first.id)) == 1


def test_a_call_that_is_repeated_after_a_correction_is_no_conflict(memory: Memory) -> None:
    first = memory.remember(PORT, key="staging-port")
    memory.correct(first.id, OTHER_PORT)

    again = memory.remember(PORT, key="staging-port")

    assert (again.id, again.created) == (first.id, False)
    assert texts(memory) == [OTHER_PORT]


def test_a_text_without_a_key_that_was_corrected_is_remembered_beside_the_correction(memory: Memory) -> None:
    first = memory.remember(PORT)
    memory.correct(first.id, OTHER_PORT)

    again, once_more = memory.remember(PORT), memory.remember(PORT)

    assert (again.created, once_more.created) == (True, False)
    assert first.id != again.id == once_more.id
    assert sorted(texts(memory)) == [PORT, OTHER_PORT]


def test_many_that_remember_one_thing_at_once_append_it_once(memory: Memory) -> None:
    found: list[Remembered] = []
    start = threading.Barrier(4)

    def remember() -> None:
        start.wait()
        found.append(memory.remember(PORT, scope="project:new", key="k"))

    threads = [threading.Thread(target=remember) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len({one.id for one in found}) == 1
    assert sorted(one.created for one in found) == [False, False, False, True]
    assert len(events(memory, found[0].id)) == 1
    assert len(memory._parts.store.read(streams.scope("project:new"))) == 1


def test_the_scope_is_the_given_one_or_that_of_the_working_directory_or_global(
    memory: Memory, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = repository(tmp_path / "api")
    memory.ingest([write(root / "docs" / "a.md", "A text.")], wait="none")

    outside = memory.remember(PORT)
    monkeypatch.chdir(root / "docs")
    inside, given = memory.remember(PORT), memory.remember(PORT, scope="person:mel")

    assert [found.scope for found in (outside, inside, given)] == [GLOBAL, "project:api", "person:mel"]
    assert [found.scope_created for found in (outside, inside, given)] == [False, False, True]
    created = memory._parts.store.read(streams.scope("person:mel"))
    assert [type(recorded.event) for recorded in created] == [ScopeCreated]
    assert not memory.remember(OTHER_PORT, scope="person:mel").scope_created


@pytest.mark.parametrize(
    "wrong",
    [
        {"text": " \n"},
        {"text": "a" * 100_001},
        {"kind": "A decision"},
        {"kind": ""},
        {"scope": "all"},
        {"scope": ""},
        {"key": " "},
    ],
)
def test_what_makes_no_sense_is_refused_and_nothing_is_appended(
    memory: Memory, wrong: dict[str, str]
) -> None:
    with pytest.raises(BadRequest):
        memory.remember(**{"text": PORT, **wrong})

    assert memory._parts.store.position() == 0


def test_the_longest_text_is_kept_to_its_last_character(memory: Memory) -> None:
    text = "staging " + "server " * 15_000
    found = memory.remember(text[:99_999] + "!")

    (entry,) = memory.forget(found.id, dry_run=True).memories
    assert entry.text is not None
    assert (len(entry.text), entry.text[-1]) == (100_000, "!")
    assert len(texts(memory, limit=200)) > 100


def test_halves_of_characters_and_nuls_are_replaced(memory: Memory) -> None:
    found = memory.remember("staging \ud83d\x00 server")

    assert texts(memory) == ["staging \ufffd\ufffd server"]
    assert memory.remember("staging \ud83d\x00 server").id == found.id


def made_up_token() -> str:
    """Put together only here, so that nothing which looks for secrets finds one in this file."""
    return "gh" + "p_" + "Ab3" * 12


def test_a_secret_is_taken_out_before_anything_is_stored(memory: Memory) -> None:
    text = f"The deploy key of staging is {made_up_token()}, ask Mel."
    found, again = memory.remember(text, key="k"), memory.remember(text, key="k")
    forgotten = memory.forget(found.id, reason=f"leaked {made_up_token()}")

    assert (found.redactions, again.id, again.created) == (1, found.id, False)
    assert made_up_token() not in everything_stored(memory)
    entry = forgotten.memories[0]
    assert entry.text is not None
    assert entry.text.startswith("The deploy key of staging is [redacted: ")
    event = events(memory, found.id)[0]
    assert isinstance(event, MemoryRemembered)
    assert (sum(event.redactions.values()), event.original) == (1, memory._parts.contents.text_key(text))


def test_two_texts_that_differ_by_their_secret_alone_are_two(memory: Memory) -> None:
    other = made_up_token()[:-3] + "Zz9"
    memory.remember(f"The key is {made_up_token()}.", key="k")

    with pytest.raises(MemoryConflict):
        memory.remember(f"The key is {other}.", key="k")


def test_with_redaction_off_a_text_is_kept_as_it_is(conninfo: str, home: Path) -> None:
    with opened(conninfo, home, redaction="off") as memory:
        found = memory.remember(f"The key is {made_up_token()}.")

        assert found.redactions == 0
        assert made_up_token() in everything_stored(memory)


def test_a_text_that_was_erased_is_not_stored_again(memory: Memory) -> None:
    found = memory.remember(OTHER_PORT)
    with memory._parts.store.cursor() as cursor:
        key = memory._parts.contents.text_key(PORT)
        cursor.execute("INSERT INTO log.erased_content (key, erasure) VALUES (%s, 'e')", (key,))

    for attempt in (
        lambda: memory.remember(PORT),
        lambda: memory.correct(found.id, PORT),
        lambda: memory.forget(found.id, reason=PORT),
    ):
        with pytest.raises(TextErased):
            attempt()
    assert PORT not in everything_stored(memory)
    assert len(events(memory, found.id)) == 1


def test_of_an_erased_memory_the_text_is_gone_and_its_key_stays_taken(memory: Memory) -> None:
    found = memory.remember(PORT, key="k")
    token = memory.forget(found.id, dry_run=True).token
    memory.erase(memories=[found.id])

    (entry,) = memory.forget(found.id, dry_run=True).memories
    assert (entry.text, texts(memory), texts(memory, as_of=found.position)) == (None, [], [])
    with pytest.raises(WrongToken):
        memory.forget(found.id, token=token)
    with pytest.raises(TextErased):
        memory.remember(PORT, key="k")
    with pytest.raises(MemoryConflict, match="use another key"):
        memory.remember(OTHER_PORT, key="k")
    memory.remember(OTHER_PORT, key="l")
    assert texts(memory) == [OTHER_PORT]


def test_a_correction_shows_the_new_text_and_as_of_before_the_former(memory: Memory) -> None:
    found = memory.remember(PORT)
    corrected = memory.correct(f"memory:{found.id}", OTHER_PORT)
    again = memory.correct(found.id, OTHER_PORT)

    assert (corrected.id, corrected.changed, again.changed) == (found.id, True, False)
    assert again.position == corrected.position > found.position
    assert texts(memory) == [OTHER_PORT]
    assert texts(memory, as_of=found.position) == [PORT]
    (hit,) = memory.search("staging").hits
    assert hit.source.revision == 2
    assert [type(event) for event in events(memory, found.id)] == [MemoryRemembered, MemoryCorrected]


def test_a_memory_is_named_by_the_id_of_its_passage_too(memory: Memory) -> None:
    found = memory.remember(PORT)
    (hit,) = memory.search("staging").hits

    assert memory.correct(hit.id, OTHER_PORT).id == found.id
    (hit,) = memory.search("staging").hits
    assert memory.forget([hit.id, found.id, f"memory:{found.id}"]).forgotten == (found.id,)


def test_what_is_forgotten_is_hidden_from_now_on_and_there_as_of_before(memory: Memory) -> None:
    found = memory.remember(PORT)
    forgotten = memory.forget([found.id], reason="The server is gone.")

    assert (forgotten.forgotten, forgotten.already) == ((found.id,), ())
    assert texts(memory) == []
    assert texts(memory, as_of=found.position) == [PORT]
    event = events(memory, found.id)[-1]
    assert isinstance(event, MemoryForgotten)
    assert event.reason == memory._parts.contents.text_key("The server is gone.")
    again = memory.forget(found.id)
    assert (again.forgotten, again.already) == ((), (found.id,))
    assert len(events(memory, found.id)) == 2
    with pytest.raises(MemoryIsForgotten):
        memory.correct(found.id, OTHER_PORT)


def test_what_was_forgotten_is_there_again_when_it_is_remembered(memory: Memory) -> None:
    found = memory.remember(PORT)
    memory.forget(found.id)
    again = memory.remember(PORT)

    assert (again.id, again.created) == (found.id, True)
    assert texts(memory) == [PORT]


def test_of_a_list_with_an_unknown_id_nothing_is_forgotten_and_all_unknown_ones_are_named(
    memory: Memory,
) -> None:
    found = memory.remember(PORT)

    with pytest.raises(UnknownMemory) as caught:
        memory.forget([UNKNOWN, found.id, "memory:nothing"])

    assert caught.value.identifiers == (UNKNOWN, "memory:nothing")
    assert texts(memory) == [PORT]
    with pytest.raises(BadRequest):
        memory.forget([])


def test_a_passage_of_a_file_is_no_memory(memory: Memory, tmp_path: Path) -> None:
    memory.ingest([write(tmp_path / "a.md", "The staging server is blue.")], wait="words")
    (hit,) = memory.search("staging").hits

    for attempt in (lambda: memory.forget(hit.id), lambda: memory.correct(hit.id, PORT)):
        with pytest.raises(NotAMemory, match="chronofile undo"):
            attempt()


def test_a_preview_forgets_nothing_and_its_token_forgets_exactly_what_it_showed(memory: Memory) -> None:
    one, two = memory.remember(PORT, kind="fact"), memory.remember(OTHER_PORT)

    preview = memory.forget([one.id, two.id], dry_run=True)
    assert [(entry.text, entry.kind, entry.scope) for entry in preview.memories] == [
        (PORT, "fact", GLOBAL),
        (OTHER_PORT, "note", GLOBAL),
    ]
    assert preview.forgotten == ()
    for wrong in ([one.id], [two.id], [one.id, two.id, memory.remember("Another staging.").id]):
        with pytest.raises(WrongToken):
            memory.forget(wrong, token=preview.token)
    done = memory.forget([two.id, one.id], token=preview.token)
    again = memory.forget([one.id, two.id], token=preview.token)

    assert set(done.forgotten) == {one.id, two.id}
    assert (again.forgotten, set(again.already)) == ((), {one.id, two.id})


def test_a_token_does_not_outlive_a_correction(memory: Memory) -> None:
    found = memory.remember(PORT)
    token = memory.forget(found.id, dry_run=True).token
    memory.correct(found.id, OTHER_PORT)

    with pytest.raises(WrongToken):
        memory.forget(found.id, token=token)
    assert texts(memory) == [OTHER_PORT]
