"""The commands `remember`, `forget` and `undo`: what they print, and how they fail."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.infra.command_line import CommandLine, command_line

PORT, OTHER_PORT = "The staging server listens on 8443.", "The staging server listens on 9443."


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CommandLine]:
    with command_line(tmp_path_factory.mktemp("work")) as found:
        yield found


def test_a_memory_is_remembered_found_corrected_and_forgotten(line: CommandLine) -> None:
    saved = line.run("remember", PORT, "--kind", "decision", "--json").json
    again = line.run("remember", PORT, "--kind", "decision")
    shown = line.run("search", "Which port does the staging server use?")
    corrected = line.run("remember", "--correct", saved["id"], OTHER_PORT)
    searched = line.run("search", "staging server", "--json").json
    forgotten = line.run("forget", saved["id"], "--reason", "It is gone.")
    nothing = line.run("search", "staging server", "--json").json

    assert set(saved) == {"id", "scope", "kind", "position", "created", "redactions", "scope_created"}
    assert (saved["created"], saved["scope"], saved["kind"]) == (True, "global", "decision")
    assert again.out == f"Remembered already: {saved['id']} (decision in global, position 1)\n"
    assert PORT in shown.out
    assert corrected.out.startswith(f"Corrected: {saved['id']} ")
    assert [hit["text"] for hit in searched["hits"]] == [OTHER_PORT]
    assert forgotten.out.startswith(f"Forgotten: {saved['id']} (decision in global, just now)\n")
    assert OTHER_PORT in forgotten.out
    assert nothing["hits"] == []


def test_a_text_can_come_from_standard_input_and_loses_only_the_end_of_its_last_line(
    line: CommandLine,
) -> None:
    saved = line.run("remember", "-", "--json", stdin=b"  Two lines\n  of a poem.\n").json

    preview = line.run("forget", saved["id"], "--dry-run", "--json").json
    assert preview["memories"][0]["text"] == "  Two lines\n  of a poem."
    assert preview["forgotten"] == []
    assert "Would be forgotten" in line.run("forget", saved["id"], "--dry-run").out


def test_a_new_scope_is_told_so_that_a_slip_of_the_pen_is_seen(line: CommandLine) -> None:
    first = line.run("remember", "A text.", "--scope", "project:apl")
    second = line.run("remember", "Another text.", "--scope", "project:apl")

    assert "The scope project:apl is new." in first.err
    assert "is new" not in second.err


def test_a_key_with_another_text_fails_and_names_the_memory(line: CommandLine) -> None:
    saved = line.run("remember", "One.", "--key", "k", "--json").json
    ran = line.run("remember", "Two.", "--key", "k")

    assert (ran.status, ran.out) == (1, "")
    assert saved["id"] in ran.err


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (["remember", "  "], 2),
        (["remember", "x", "--kind", ""], 2),
        (["remember", "x", "--correct", "0" * 32, "--key", "k"], 2),
        (["forget"], 2),
        (["forget", "0" * 32], 1),
        (["undo", "0" * 32], 1),
        (["undo", "--dry-run"], 2),
    ],
)
def test_what_makes_no_sense_fails_with_one_sentence(
    line: CommandLine, arguments: list[str], status: int
) -> None:
    ran = line.run(*arguments)

    assert (ran.status, ran.out) == (status, "")
    assert ran.err


def test_an_import_is_undone_and_brought_back(line: CommandLine) -> None:
    line.write("wrong/a.md", "The parrot belongs to the neighbours.")
    batch = line.run("ingest", "wrong", "--json").json["batch"]

    planned = line.run("undo", batch, "--dry-run")
    undone = line.run("undo", batch[:8], "--json")
    listed = line.run("undo")
    again = line.run("ingest", "wrong", "--json").json
    hidden = line.run("search", "parrot", "--json").json["hits"]
    twice = line.run("undo", batch)
    restored = line.run("undo", undone.json["batch"])
    shown = line.run("search", "parrot", "--json").json["hits"]

    assert planned.out.startswith(
        f"This would hide what batch {batch} captured.\n  1 source: 1 revision hidden\n"
    )
    assert {"batch", "of", "action", "sources", "revisions_hidden", "position"} <= set(undone.json)
    assert (undone.json["of"], undone.json["action"], undone.json["passages_hidden"]) == (batch, "hidden", 1)
    assert f"hidden by {undone.json['batch']}" in listed.out
    assert (again["batch"], again["unchanged"]) == (None, 1)
    assert [hit["text"] for hit in hidden if "parrot" in hit["text"]] == []
    assert (twice.status, undone.json["batch"] in twice.err) == (1, True)
    assert restored.out.startswith(
        f"Restored what batch {batch} captured.\n  1 source: 1 revision shown again\n"
    )
    assert [hit["text"] for hit in shown if "parrot" in hit["text"]] != []


def test_without_a_batch_the_last_ones_are_listed(line: CommandLine) -> None:
    line.write("listed/a.md", "One.")
    batch = line.run("ingest", "listed", "--json").json["batch"]

    newest = line.run("undo", "--json").json[0]

    assert (newest["id"], newest["tool"], newest["revisions"], newest["reverted"]) == (
        batch,
        "ingest",
        1,
        False,
    )
    assert line.run("undo").out.splitlines()[1].startswith(batch)
