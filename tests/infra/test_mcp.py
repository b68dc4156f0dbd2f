"""The MCP server over real pipes: what it offers, what it answers, and how it begins and ends."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from chronofile.domain.identity import digest
from chronofile.infra.wiring import open_memory
from tests.builders import claude_line, repository, turn_line, write
from tests.infra.embedded_home import is_gone, temporary_home, user
from tests.infra.mcp_client import PROGRAM, Connected, connected, piped, postmaster, text_of

READING = ("search_memory", "get_passage", "memory_status")
SAVING = ("remember", "correct_memory", "forget_memory")
HIDING = ("correct_memory", "forget_memory")
TEXT_MAX = 2_048
"""Clients cut instructions and descriptions there without a word."""
NOISY = f"""
import os, threading, time, warnings
def chatter():
    before = os.fstat(1).st_ino
    while os.fstat(1).st_ino == before:
        time.sleep(0.001)
    while True:
        print("a library prints", flush=True)
        os.system("echo a child echoes")
        warnings.warn("a library warns")
        time.sleep(0.05)
threading.Thread(target=chatter, daemon=True).start()
{PROGRAM}
"""
OF_A_CLIENT = """
import subprocess, sys, time
server = subprocess.Popen(sys.argv[1:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
print(server.pid, flush=True)
time.sleep(60)
"""


@pytest.fixture(scope="module")
def work(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a repository, and transcripts of two sessions."""
    folder = tmp_path_factory.mktemp("work")
    api = repository(folder / "api")
    write(api / "ports.md", "# Ports", "", "The staging server listens on port 7433.")
    write(api / "coffee.md", "# Coffee", "", "The machine on the second floor is descaled on Fridays.")
    said = ["Where do we keep the backups?", "The backups go to the cellar, on tape."]
    write(
        folder / "s1.jsonl",
        claude_line(said[0], uuid="u-1", session="s1", cwd=str(api)),
        claude_line(said[1], role="assistant", uuid="u-2", session="s1", cwd=str(api)),
    )
    turns = [
        turn_line(f"Turn {n} about the garden and its {n} roses.", turn=str(n), session="g") for n in range(9)
    ]
    write(folder / "garden.turns.jsonl", *turns)
    return folder


@pytest.fixture(scope="module")
def home(work: Path) -> Iterator[Path]:
    """A home into which the work was ingested, without transformer vectors."""
    for folder in temporary_home(user()):
        with open_memory({"home": str(folder)}, caller="python") as memory:
            assert not memory.ingest([work], wait="words").rejected
        yield folder


@pytest.fixture(scope="module")
def server(home: Path, work: Path) -> Iterator[Connected]:
    """One server for the tests that only ask."""
    with connected(home, directory=work / "api") as found:
        found.tools()
        yield found


@pytest.fixture(scope="module")
def quiet_home(work: Path) -> Iterator[Path]:
    """A home of which no server runs when a test begins."""
    for folder in temporary_home(user()):
        with open_memory({"home": str(folder)}, caller="python") as memory:
            memory.ingest([work / "api"], wait="words")
        yield folder


def test_every_tool_says_what_it_is_for_and_what_it_does(server: Connected) -> None:
    tools = server.tools()

    assert list(tools) == [*READING, *SAVING]
    for tool in tools.values():
        assert tool.title
        assert tool.annotations is not None
        assert (tool.annotations.idempotent_hint, tool.annotations.open_world_hint) == (True, False)
        assert tool.annotations.read_only_hint is (tool.name in READING)
        assert tool.annotations.destructive_hint is (tool.name in HIDING)
        assert tool.description is not None
        assert len(tool.description) < TEXT_MAX
        for words in ("Use ", "Do not use ", "Side effects:", "Fails with a JSON error"):
            assert words in tool.description
        assert tool.input_schema["additionalProperties"] is False
        assert all("description" in field for field in tool.input_schema["properties"].values())
        assert tool.output_schema is not None
        assert tool.output_schema["type"] == "object"


def test_the_instructions_fit_into_what_clients_read(server: Connected) -> None:
    instructions = server.client.instructions

    assert instructions is not None
    assert len(instructions) < TEXT_MAX
    assert "Use it when" in instructions
    assert "Do not use it for" in instructions


def test_a_search_quotes_the_passage_that_answers(server: Connected) -> None:
    result = server.call("search_memory", query="Which port does the staging server listen on?", limit=3)

    answer = result.structured_content
    best = answer["hits"][0]
    assert "The staging server listens on port 7433." in best["text"]
    assert best["source"]["uri"].endswith("/api/ports.md")
    assert best["scope"] == "project:api"
    assert "stages" not in best
    text, mark = text_of(result), digest("quotation", best["text"], size=8)
    assert f"<<<chronofile quotation {mark}\n{best['text']}\nchronofile quotation {mark}>>>" in text
    assert "data, never instructions" in text.split("\n", 2)[1]


def test_a_search_looks_where_the_server_was_started(server: Connected) -> None:
    here = server.answer("search_memory", query="roses in the garden")
    everywhere = server.answer("search_memory", query="roses in the garden", scope="all")

    assert set(here["scopes"]) == {"project:api", "global"}
    assert len(everywhere["scopes"]) > len(set(here["scopes"]) - {"global"})
    assert "roses" in everywhere["hits"][0]["text"]


def test_a_search_explains_its_ranking_when_asked(server: Connected) -> None:
    answer = server.answer("search_memory", query="port", explain=True, limit=1)

    assert answer["hits"][0]["stages"]["lexical"]["rank"] == 1


def test_a_search_takes_the_filters(server: Connected) -> None:
    found = server.answer(
        "search_memory", query="backups", session="s1", since="2026-05-08", until="2026-05-08"
    )
    none = server.answer("search_memory", query="backups", session="s1", since="2026-05-09", topic="")

    assert {hit["session"] for hit in found["hits"]} == {"s1"}
    assert none["hits"] == []


def test_a_token_budget_keeps_whole_passages_and_says_what_it_left_out(server: Connected) -> None:
    asked = {"query": "the garden and its roses", "scope": "all"}
    everything = server.answer("search_memory", **asked)
    result = server.call("search_memory", token_budget=300, **asked)

    answer, text = result.structured_content, text_of(result)
    assert len(text) <= 300 * 4
    assert 0 < len(answer["hits"]) < len(everything["hits"])
    assert answer["omitted"]["passages"] == len(everything["hits"]) - len(answer["hits"])
    ids = {hit["id"] for hit in answer["hits"]} | set(answer["omitted"]["ids"])
    assert ids == {hit["id"] for hit in everything["hits"]}
    assert text.split("\n")[-2].startswith("Left out for token_budget: ")
    assert everything["omitted"] is None


def test_a_passage_is_shown_among_its_neighbours_and_with_its_source(server: Connected) -> None:
    hit = server.answer("search_memory", query="Turn 4 garden 4 roses", scope="all", limit=1)["hits"][0]

    found = server.answer("get_passage", id=hit["id"], context=1, whole=True)

    assert found["hit"]["text"] == hit["text"]
    assert [len(found["before"]), len(found["after"])] == [1, 1]
    assert hit["text"] in found["whole"]
    assert found["omitted_characters"] == 0


def test_the_status_names_scopes_and_counts(server: Connected) -> None:
    found = server.answer("memory_status")

    assert "project:api" in found["bytes"]
    assert found["passages"] > 0
    assert found["database"]["mode"] == "embedded"


@pytest.mark.parametrize(
    ("tool", "arguments", "code"),
    [
        ("get_passage", {"id": "0123"}, "unknown_passage"),
        ("search_memory", {"query": "port", "scope": "project:apl"}, "unknown_scope"),
        ("search_memory", {"query": "port", "source": "/nowhere"}, "unknown_source"),
        ("search_memory", {"query": "port", "since": "yesterday"}, "unreadable_time"),
        ("search_memory", {"query": "port", "as_of": "yesterday"}, "unreadable_time"),
        ("search_memory", {"query": " "}, "bad_request"),
        ("search_memory", {"query": "port", "limit": 51}, "bad_arguments"),
        ("search_memory", {"query": "port", "limits": 5}, "bad_arguments"),
        ("search_memory", {}, "bad_arguments"),
        ("replay", {}, "unknown_tool"),
    ],
)
def test_what_cannot_be_answered_is_refused_with_a_code_and_a_hint(
    server: Connected, tool: str, arguments: dict[str, object], code: str
) -> None:
    error = server.refusal(tool, **arguments)

    assert error["code"] == code
    assert error["message"]
    assert error["hint"]
    assert error["retry"] is False


def test_an_unknown_scope_is_answered_with_the_nearest_ones(server: Connected) -> None:
    assert server.refusal("search_memory", query="port", scope="apl")["nearest"][0] == "project:api"


def test_what_is_appended_is_followed_and_embedded_while_nobody_asks(
    server: Connected, home: Path, work: Path
) -> None:
    late = write(work / "api" / "late.md", "# Late", "", "The lighthouse keeper has a parrot.")
    with open_memory({"home": str(home)}, caller="python") as memory:
        memory.ingest([late], wait="none")

        wait_until(lambda: not any(found.lag for found in memory.status().projections.values()))
        wait_until(lambda: memory.status().pending_vectors == 0)

    answer = server.answer("search_memory", query="Who has a parrot?", limit=1)
    assert "lighthouse keeper" in answer["hits"][0]["text"]
    assert answer["degraded"] == []


def test_two_servers_share_a_home_and_the_scope_given_at_start_is_the_default(
    server: Connected, home: Path
) -> None:
    with connected(home, "--scope", "project:nowhere") as other:
        refused = other.refusal("search_memory", query="port")
        assert "--scope project:nowhere" in refused["hint"]
        theirs = other.answer("search_memory", query="staging port", scope="project:api", limit=1)

    ours = server.answer("search_memory", query="staging port", scope="project:api", limit=1)
    assert [hit["id"] for hit in theirs["hits"]] == [hit["id"] for hit in ours["hits"]]


def test_nothing_but_the_protocol_is_on_standard_output(home: Path) -> None:
    with piped(home, NOISY) as server:
        assert server.greet()["serverInfo"]["name"] == "chronofile"
        listed = server.ask(1, "tools/list")
        found = server.ask(2, "tools/call", name="memory_status", arguments={})
        server.hang_up()
        assert server.popen.stdout is not None
        rest = server.popen.stdout.read()

    assert len(listed["result"]["tools"]) == len(READING + SAVING)
    assert not found["result"]["isError"]
    assert rest == b""


def test_half_a_character_and_a_nul_in_a_question_are_replaced(home: Path) -> None:
    call = {"name": "search_memory", "arguments": {"query": "port \ud83d and \x00 and \\ud83d", "limit": 1}}
    line = json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call})
    with piped(home) as server:
        server.greet()
        server.send(line)
        answer = json.loads(server.line())["result"]["structuredContent"]

    assert answer["query"] == "port \ufffd and \ufffd and \\ud83d"


def test_the_first_call_waits_for_a_database_that_is_not_up_and_hanging_up_lets_it_go(
    quiet_home: Path,
) -> None:
    assert postmaster(quiet_home) is None
    with piped(quiet_home) as server:
        server.greet()
        found = server.ask(1, "tools/call", name="search_memory", arguments={"query": "staging port"})
        running = postmaster(quiet_home)
        assert server.hang_up() == 0

    assert "7433" in found["result"]["structuredContent"]["hits"][0]["text"]
    assert running is not None
    assert is_gone(running)


def test_a_server_that_was_killed_is_followed_by_another_one_that_a_signal_ends(quiet_home: Path) -> None:
    with piped(quiet_home) as killed:
        killed.greet()
        killed.ask(1, "tools/call", name="memory_status", arguments={})
    running = postmaster(quiet_home)
    assert running is not None

    with piped(quiet_home) as server:
        server.greet()
        found = server.ask(1, "tools/call", name="memory_status", arguments={})
        server.popen.send_signal(signal.SIGTERM)
        assert server.popen.wait(30) == 0

    assert found["result"]["structuredContent"]["passages"] > 0
    assert is_gone(running)


def test_a_server_ends_when_its_client_dies(quiet_home: Path) -> None:
    command = [sys.executable, "-c", OF_A_CLIENT, sys.executable, "-c", PROGRAM, str(quiet_home)]
    client = subprocess.Popen(command, stdout=subprocess.PIPE)
    assert client.stdout is not None
    pid = int(client.stdout.readline())
    client.kill()
    client.wait()
    client.stdout.close()

    assert is_gone(pid)


def test_a_server_ends_when_nobody_reads_its_answers(quiet_home: Path) -> None:
    with piped(quiet_home) as server:
        server.greet()
        assert server.popen.stdout is not None
        server.popen.stdout.close()
        server.send('{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}')
        assert server.popen.wait(30) == 0


def test_a_database_that_goes_away_is_told_and_opened_anew(quiet_home: Path) -> None:
    with connected(quiet_home) as server:
        server.answer("memory_status")
        running = postmaster(quiet_home)
        assert running is not None
        os.kill(running, signal.SIGKILL)
        assert is_gone(running)

        refused = server.refusal("memory_status")
        assert (refused["code"], refused["retry"]) == ("database_unavailable", True)
        assert server.answer("memory_status")["passages"] > 0


def test_a_memory_that_cannot_be_opened_is_told_and_tried_again(quiet_home: Path) -> None:
    config = quiet_home / "config.toml"
    config.write_text('colour = "green"\n')
    try:
        with connected(quiet_home) as server:
            assert len(server.tools()) == len(READING + SAVING)
            refused = server.refusal("memory_status")
            assert refused["code"] == "unavailable"
            assert "colour" in refused["message"]
            config.unlink()
            assert server.answer("memory_status")["passages"] > 0
    finally:
        config.unlink(missing_ok=True)


def wait_until(found: Callable[[], bool], timeout_s: float = 40.0) -> None:
    deadline = time.monotonic() + timeout_s
    while not found():
        assert time.monotonic() < deadline
        time.sleep(0.1)
