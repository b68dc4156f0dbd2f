"""The commands: what they print, how they fail, and what standard output is kept free of."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from dataclasses import replace
from importlib.metadata import entry_points

import psycopg
import pytest
from psycopg.sql import SQL, Identifier

from chronofile.infra.embedded import start
from tests.builders import claude_line, turn_line
from tests.infra.command_line import CommandLine, command_line

COMMANDS = (
    "ingest", "search", "get", "sources", "topics", "status", "doctor", "config", "version", "mcp", "worker",
    "watch", "hooks", "remember", "forget", "undo", "erase", "scan", "redact", "verify",
)  # fmt: skip
PORT = "The staging server listens on port 5433."
QUESTION = "Which port does the staging server use?"
SECRET_ESCAPE = "\x1b[2J"


@pytest.fixture(scope="module")
def line(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CommandLine]:
    """A command line whose home has captured a note and a conversation."""
    with command_line(tmp_path_factory.mktemp("work")) as found:
        found.write("notes/deploy.md", f"# Deploy\n\n{PORT}\n\n\tIndented, and {SECRET_ESCAPE}coloured.\n")
        talk = [
            turn_line(
                "Which milk should I buy for Mel?", turn="t1", speaker="Ada", at="2026-05-08T10:00:00+00:00"
            ),
            turn_line(
                "Mel prefers oat milk. \ud83d", turn="t2", role="assistant", at="2026-05-08T10:01:00+00:00"
            ),
        ]
        found.write("talk.turns.jsonl", "\n".join(talk).replace("\ud83d", "\\ud83d") + "\n")
        captured = found.run("ingest", "notes", "talk.turns.jsonl", "--scope", "home", "--json")
        assert captured.status == 0, captured.err
        yield found


def test_every_command_of_the_core_has_help_with_an_example(line: CommandLine) -> None:
    listed = line.run("--help").out
    for name in COMMANDS:
        shown = line.run(name, "--help")
        assert shown.status == 0
        assert f"  {name} " in listed
        assert re.search(rf"Examples:\n +chronofile .*{name}", shown.out), name


def test_the_program_is_installed_under_its_name() -> None:
    (found,) = entry_points(group="console_scripts", name="chronofile")

    assert found.value == "chronofile.infra.cli:main"


def test_ingest_prints_the_report_of_the_contract(line: CommandLine) -> None:
    report = line.run("ingest", "notes", "--scope", "home", "--json").json

    assert (report["sources"], report["revisions"], report["unchanged"], report["rejected"]) == (0, 0, 1, [])
    assert {"batch", "redactions", "position", "pending_vectors", "omitted", "waiting_bytes"} <= set(report)


def test_ingest_reports_what_is_missing_and_captures_the_rest(line: CommandLine) -> None:
    line.write("more/new.md", "Something new.")
    line.write("more/.hidden", "Hidden.")
    (line.directory / "more/picture.bin").write_bytes(bytes(range(256)) * 8)

    ran = line.run("ingest", "nothing-here", "more", "--scope", "home")

    assert ran.status == 1
    assert "1 revision of 1 source captured" in ran.out
    assert re.search(
        r"1 rejected: missing\. There is nothing at the path that was given\.\n  .*nothing-here\b", ran.out
    )
    assert re.search(r"1 rejected: binary\. .*\n  .*picture\.bin\n", ran.out)
    assert "1 left out: dotfile." in ran.out


def test_a_missing_path_alone_still_prints_json(line: CommandLine) -> None:
    ran = line.run("ingest", "nothing-here", "--json")

    assert (ran.status, ran.json["rejected"][0]["reason"]) == (1, "missing")
    assert "named is missing" in ran.err


def test_an_ingest_that_cannot_be_made_searchable_prints_its_report_and_fails(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with command_line(tmp_path_factory.mktemp("stopped")) as line:
        line.write("notes/port.md", PORT)
        assert line.run("status").status == 0
        with start(line.home) as server, psycopg.connect(server.conninfo) as conn:
            found = conn.execute("SELECT schemaname FROM pg_tables WHERE tablename = 'posting'").fetchone()
            assert found is not None
            conn.execute(SQL("ALTER TABLE {}.posting RENAME TO elsewhere").format(Identifier(found[0])))
        ran = line.run("ingest", "notes", "--json")
        shown = line.run("ingest", "notes")

    assert ran.status == 1
    assert (ran.json["revisions"], ran.json["passages"], ran.json["stopped"]) == (1, 1, True)
    assert "lexical at position" in ran.json["note"]
    assert "What was captured is kept, but not all of it is searchable yet." in ran.err
    assert (shown.status, shown.err.count("lexical at position")) == (1, 1)
    assert "1 passage in all" in shown.out


def test_an_empty_folder_is_captured_as_nothing(line: CommandLine) -> None:
    (line.directory / "empty").mkdir()

    ran = line.run("ingest", "empty")

    assert ran.status == 0
    assert "Nothing to capture" in ran.err


def test_a_dry_run_says_what_would_be_captured(line: CommandLine) -> None:
    line.write("dry/note.md", "Not captured.")

    ran = line.run("ingest", "dry", "--dry-run")

    assert "1 source would be captured" in ran.out
    assert "in all" not in ran.out
    assert line.run("sources", "--json").out.count("dry/note.md") == 0


def test_many_rejections_are_one_line_for_each_reason_with_the_first_paths_and_the_summary_stands_last(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with command_line(tmp_path_factory.mktemp("pictures")) as line:
        line.write("many/note.md", "Something to keep.")
        for number in range(8):
            (line.directory / f"many/{number}.bin").write_bytes(bytes(range(256)) * 8)
        ran, every = line.run("ingest", "many"), line.run("ingest", "many", "-v")
        listed = line.run("ingest", "many", "--json").json["rejected"]

    *before, summary, passages = ran.out.splitlines()
    assert before[0].startswith("8 rejected: binary. ")
    assert (len(before), before[-1]) == (7, "  and 3 more: -v or --json lists them")
    assert summary.startswith("1 revision of 1 source captured")
    assert passages.startswith("1 passage in all")
    assert (every.out.count(".bin"), len(listed)) == (8, 8)


def test_records_that_gave_no_turn_are_counted_by_ingest_sources_and_status(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with command_line(tmp_path_factory.mktemp("damaged")) as line:
        unknown = '{"type": "unheard-of", "sessionId": "s"}'
        line.write("s.jsonl", "\n".join([claude_line("one"), unknown, '{"type": ', unknown]) + "\n")
        ran = line.run("ingest", "s.jsonl")
        told = line.run("ingest", "s.jsonl", "--json").json
        unwaited = line.run("ingest", "s.jsonl", "--json", "--wait", "none").json
        (source,) = line.run("sources", "--json").json
        listed, status, shown = line.run("sources"), line.run("status", "--json").json, line.run("status")

    assert "3 records gave no turn or text (unreadable or of unknown type): chronofile sources" in ran.out
    assert (told["unread_records"], unwaited["unread_records"], status["omissions"]) == (3, None, 3)
    assert source["omissions"] == {"unknown record: unheard-of": 2, "unreadable records": 1}
    assert "\n    without turn or text: 2 unknown record: unheard-of, 1 unreadable records\n" in listed.out
    assert re.search(r"omissions +3 records gave no turn", shown.out)


def test_the_whole_of_a_conversation_is_shown_turn_by_turn_with_who_said_it_and_when(
    line: CommandLine,
) -> None:
    (hit, *_) = line.run("search", "Which milk should I buy?", "--scope", "home", "--json").json["hits"]

    shown = line.run("get", hit["id"], "--source").out

    assert "Ada (user), 2026-05-08 10:00\n\n    Which milk should I buy for Mel?\n" in shown
    assert "assistant, 2026-05-08 10:01\n\n    Mel prefers oat milk." in shown


def test_search_shows_verbatim_text_with_where_it_is_from(line: CommandLine) -> None:
    ran = line.run("search", QUESTION, "--scope", "home")

    assert ran.status == 0
    assert ran.out.startswith("1. notes/deploy.md:1-5\n")
    assert f"    {PORT}\n" in ran.out
    assert "    \tIndented" in ran.out
    assert "\x1b" not in ran.out
    assert "\\x1b[2J" in ran.out


def test_search_says_who_said_it_and_when(line: CommandLine) -> None:
    ran = line.run("search", "milk for Mel", "--scope", "home", "--speaker", "ada")

    assert "session s, Ada (user), 2026-05-08 10:00" in ran.out


def test_json_has_the_exact_text_and_nothing_else_on_standard_output(line: CommandLine) -> None:
    ran = line.run("search", QUESTION, "--scope", "home", "--json", "--explain", "-vv")

    (first, *_) = ran.json["hits"]
    assert SECRET_ESCAPE in first["text"]
    assert first["lines"] == [1, 5]
    assert set(first["stages"]) >= {"lexical", "dense", "final"}
    assert len(ran.out.splitlines()) == 1


def test_explain_shows_a_table_of_stages(line: CommandLine) -> None:
    out = line.run("search", QUESTION, "--scope", "home", "--explain").out

    assert re.search(r"stage +rank +score +model", out)
    assert re.search(r"lexical +1 ", out)


def test_what_does_not_match_is_shown_with_all_alone(line: CommandLine) -> None:
    nonsense = "zyxwvut qponmlk"
    plain = line.run("search", nonsense, "--scope", "home", "--topic", "no such topic")
    everything = line.run("search", nonsense, "--scope", "home", "--all", "--limit", "1000000")

    assert (plain.status, plain.out) == (0, "")
    assert "Nothing in home matches." in plain.err
    assert everything.out.startswith("1. ")
    assert "--scope all" not in plain.err


def test_where_the_scopes_are_the_directorys_it_says_how_to_look_everywhere(
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    with command_line(tmp_path_factory.mktemp("scoped")) as line:
        line.write("kiln/.git/HEAD", "ref: refs/heads/main\n")
        line.write("kiln/glaze.md", "Celadon needs reduction.\n")
        assert line.run("ingest", "kiln").status == 0
        outside = line.run("search", "zyxwvut qponmlk")
        inside = replace(line, directory=line.directory / "kiln").run("search", "zyxwvut qponmlk")

    assert "Nothing in project:kiln, global matches." in inside.err
    assert inside.err.endswith(" --scope all looks everywhere.\n")
    assert ("matches." in outside.err, "--scope all" in outside.err) == (True, False)


def test_the_question_can_come_from_standard_input(line: CommandLine) -> None:
    ran = line.run("search", "-", "--scope", "home", "--json", stdin=QUESTION.encode())

    assert ran.json["query"] == QUESTION


def test_lone_surrogates_and_other_encodings_are_escaped(line: CommandLine) -> None:
    arguments = ("search", "oat milk", "--scope", "home")
    utf8, ascii_ = (line.run(*arguments, "--json", PYTHONIOENCODING=name) for name in ("utf-8", "ascii"))
    for_people = line.run(*arguments, PYTHONIOENCODING="ascii")

    assert utf8.json["hits"][0]["text"] == ascii_.json["hits"][0]["text"] == "Mel prefers oat milk. \ud83d"
    assert ascii_.out.isascii()
    assert "Mel prefers oat milk. \\ud83d" in for_people.out


def test_get_shows_a_passage_its_surroundings_and_its_source(line: CommandLine) -> None:
    hit = line.run("search", "oat milk", "--scope", "home", "--json").json["hits"][0]

    around = line.run("get", hit["id"], "--context", "1")
    whole = line.run("get", hit["id"], "--source", "--json").json

    assert around.out.index("Which milk") < around.out.index("Mel prefers")
    assert (whole["hit"]["id"], "oat milk" in whole["whole"]) == (hit["id"], True)


def test_sources_topics_and_status_list_what_there_is(line: CommandLine) -> None:
    sources = line.run("sources", "--scope", "home", "--json").json
    topics = line.run("topics", "--json").json
    status = line.run("status", "--json").json

    note = next(source for source in sources if source["uri"].endswith("/notes/deploy.md"))
    assert (note["state"], note["files"]) == ("captured", [str(line.directory / "notes/deploy.md")])
    assert {"scope": "home", "topic": "notes", "passages": 1} in topics
    assert status["projections"]["passages"]["lag"] == 0
    assert status["database"]["mode"] == "embedded"
    assert "notes/deploy.md" in line.run("sources").out
    assert re.search(r"home +notes +1", line.run("topics").out)
    assert re.search(r"passages +\d+", line.run("status").out)


def test_a_batch_answers_in_order_and_loses_no_line(line: CommandLine) -> None:
    questions = line.directory / "questions.jsonl"
    long = "port " * 20_000
    questions.write_bytes(
        b'\xef\xbb\xbf{"id": 1, "query": "staging port", "scope": "home", "at": "2030-01-01"}\n'
        b"garbage\n"
        b"\n"
        b'{"id": [2]}\n'
        b'{"id": "3", "query": "staging port", "scope": "nowhere"}\n'
        b'{"id": 4, "query": "\\ud800 \\u0000 staging port"}\n'
        b'{"id": 5, "query": " "}\n'
        b'{"id": 6, "query": "port", "at": "yesterday"}\n'
        b'{"id": 7, "query": "the of and"}\n'
        b'{"id": 8, "query": "\xd0\xba\xd0\xb0\xd0\xba\xd0\xbe\xd0\xb9 \xe7\xab\xaf\xe5\x8f\xa3?"}\n'
        b'{"id": 9, "query": "' + long.encode() + b'"}\n'
        b'\xff\n'
        b'{"id": 10, "query": "port", "scope": ["home", "global"]}'
    )  # fmt: skip

    ran = line.run("search", "--batch", "questions.jsonl", "--scope", "home", "--limit", "1")

    ids = [1, None, [2], "3", 4, 5, 6, 7, 8, 9, None, 10]
    failed = [answer["id"] for answer in ran.lines if "error" in answer]
    assert (ran.status, [answer["id"] for answer in ran.lines]) == (1, ids)
    assert failed == [None, [2], "3", 5, 6, None]
    assert ran.lines[0]["hits"][0]["age_s"] > 3 * 365 * 24 * 3600
    assert all(len(answer["hits"]) == 1 for answer in ran.lines if answer["id"] in (1, 4, 9, 10))
    assert "6 lines could not be answered" in ran.err


def test_a_batch_answers_each_line_as_it_comes(line: CommandLine) -> None:
    with line.started("search", "--batch", "-", "--scope", "home") as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for number in (b"1", b"2"):
            process.stdin.write(b'{"id": %s, "query": "port"}\n' % number)
            process.stdin.flush()
            assert process.stdout.readline().startswith(b'{"id": %s, ' % number)
        process.stdin.close()

    assert process.returncode == 0


def test_a_reader_that_leaves_is_no_error(line: CommandLine) -> None:
    with line.started("search", "port", "--scope", "home", "--json", "--limit", "1") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        said = process.stderr.read()

    assert (process.returncode, said) == (0, b"")


@pytest.mark.parametrize(
    ("arguments", "status", "sentence"),
    [
        (("search", "x", "--scope", "nowhere"), 1, "There is no such scope"),
        (("search", "x", "--since", "nonsense"), 2, "A time must be ISO-8601"),
        (("search", "x", "--as-of", "nonsense"), 2, "A time must be ISO-8601"),
        (("search", "x", "--limit", "-1"), 2, "--limit is a number from 0"),
        (("search", "x", "--source", "/nowhere"), 1, "There is no such source"),
        (("search", ""), 2, "the question is empty"),
        (("get", b"\xff"), 1, "There is no passage with this id"),
        (("ingest", ".", "--format", "zip"), 2, "--format is one of"),
        (("ingest", ".", "--scope", b"a\xff"), 2, "is no name for a scope"),
        (("search", "--batch", "nowhere.jsonl"), 1, "No such file"),
        (("search", "x", "--limit", "many"), 2, "--limit"),
        (("search",), 2, "either QUERY or --batch"),
        (("nonsense",), 2, "nonsense"),
        (("ingest", "notes", ""), 2, "PATH is empty"),
        (("watch", " "), 2, "PATH is empty"),
        (("get", ""), 2, "ID is empty"),
        (("undo", ""), 2, "BATCH is empty"),
        (("forget", ""), 2, "ID is empty"),
        (("remember", "x", "--correct", ""), 2, "--correct is empty"),
        (("erase", "--source", ""), 2, "--source is empty"),
        (("erase", "--scope", "", "--scope", "a"), 2, "--scope is empty"),
        (("redact", "--source", ""), 2, "--source is empty"),
        (("erase", "--finish", "--scope", "global"), 2, "--finish goes alone"),
        (("ingest", "--wait", "never"), 2, "--wait"),
        (("--embedder", "nonsense", "status"), 1, "There is no embedder of this name"),
    ],
)
def test_bad_input_is_told_in_a_sentence(
    line: CommandLine, arguments: tuple[str | bytes, ...], status: int, sentence: str
) -> None:
    ran = line.run(*arguments)

    assert (ran.status, ran.out) == (status, "")
    assert sentence in ran.err


def test_a_home_that_cannot_be_made_is_told_in_a_sentence(line: CommandLine) -> None:
    ran = line.run("status", CHRONOFILE_HOME="/proc/nowhere")

    assert (ran.status, ran.out) == (1, "")
    assert "/proc/nowhere" in ran.err


def test_a_database_that_does_not_answer_is_told_without_its_password(line: CommandLine) -> None:
    url = "postgresql://me:made-up-secret@127.0.0.1:1/nowhere"

    ran = line.run("status", "--database-url", url)

    assert (ran.status, ran.out) == (1, "")
    assert "The database does not answer" in ran.err
    assert "made-up-secret" not in ran.err


def test_flags_count_before_and_after_the_command(line: CommandLine) -> None:
    before = line.run("--home", "/made/up", "config", "--json").json
    after = line.run("--home", "/made/up", "config", "--home", "/other", "--json").json

    assert (before["home"]["value"], after["home"]["value"]) == ("/made/up", "/other")


def test_the_version_names_what_it_runs_on(line: CommandLine) -> None:
    plain, flag = line.run("version"), line.run("--version")

    assert plain.out == flag.out
    assert re.fullmatch(r"chronofile \d+\.\d+\.\d+\n", plain.out)
    assert set(line.run("version", "--json").json) == {
        "chronofile",
        "python",
        "platform",
        "postgres",
        "embedder",
    }


def test_a_capture_that_is_interrupted_says_what_is_kept_and_goes_on_later(line: CommandLine) -> None:
    for number in range(600):
        line.write(
            f"many/{number}.md", f"# Note {number}\n\nThe note of number {number} is about {number * 7}.\n"
        )
    with line.started("ingest", "many", "--scope", "many", "--wait", "all", "-v") as process:
        assert process.stderr is not None
        while b"captured" not in process.stderr.readline():
            continue
        process.send_signal(signal.SIGINT)
        out, said = process.communicate(timeout=60)

    assert (process.returncode, out) == (1, b"")
    assert b"Kept: 600 revisions of 600 sources" in said
    assert b"Traceback" not in said
    assert line.run("ingest", "many", "--scope", "many", "--json", "--wait", "words").json["unchanged"] == 600


def test_a_worker_stops_cleanly_and_one_that_drains_stops_by_itself(line: CommandLine) -> None:
    line.write("late/note.md", "The night train leaves at ten.")
    line.run("ingest", "late", "--scope", "late", "--wait", "words")
    with line.started("worker", "-v") as process:
        assert process.stderr is not None
        while b"working" not in process.stderr.readline():
            continue
        process.send_signal(signal.SIGTERM)
        out, said = process.communicate(timeout=60)
    drained = line.run("worker", "--drain", "--json")

    assert (process.returncode, b"Traceback" in said) == (0, False)
    assert re.search(rb"\d+ vectors? computed", out)
    assert (drained.status, drained.json["pending_vectors"], drained.json["stopped"]) == (0, 0, {})
