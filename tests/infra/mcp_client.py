"""Clients of the MCP server: the SDK's own over a real pipe, and the bare pipe."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client, StdioServerParameters
from mcp.client.stdio import get_default_environment
from mcp.types import CallToolResult, TextContent, Tool

from chronofile.infra.embedded import data_folder_for

WAIT_S = 30.0
COMMAND = "from chronofile.infra.cli import main; main()"
PROGRAM = """
import sys
from chronofile.infra.mcp import serve
serve({"home": sys.argv[1]}, scope=None, tools="core")
"""


@dataclass(slots=True)
class Connected:
    """The SDK's client, connected to a server that it started."""

    portal: BlockingPortal
    client: Client

    def tools(self) -> dict[str, Tool]:
        return {tool.name: tool for tool in self.portal.call(self.client.list_tools).tools}

    def call(self, name: str, **arguments: Any) -> CallToolResult:
        """Call a tool. The client checks what comes back against the output schema that was listed."""
        result: CallToolResult = self.portal.call(self.client.call_tool, name, arguments)
        return result

    def answer(self, name: str, **arguments: Any) -> dict[str, Any]:
        result = self.call(name, **arguments)
        assert not result.is_error, text_of(result)
        structured: dict[str, Any] = result.structured_content
        return structured

    def refusal(self, name: str, **arguments: Any) -> dict[str, Any]:
        result = self.call(name, **arguments)
        assert result.is_error
        error: dict[str, Any] = json.loads(text_of(result))["error"]
        return error


@contextmanager
def connected(home: Path, *flags: str, directory: Path | None = None) -> Iterator[Connected]:
    """Start `chronofile mcp` as clients do: in the environment that they leave, in some working directory."""
    arguments = ["-c", COMMAND, "mcp", "--home", str(home), *flags]
    server = StdioServerParameters(command=sys.executable, args=arguments, cwd=directory or home)
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(Client(server, read_timeout_seconds=WAIT_S)) as client,
    ):
        yield Connected(portal, client)


@dataclass(slots=True)
class Piped:
    """A server at the other end of a bare pipe."""

    popen: subprocess.Popen[bytes]

    def send(self, line: str) -> None:
        assert self.popen.stdin is not None
        self.popen.stdin.write(line.encode() + b"\n")
        self.popen.stdin.flush()

    def line(self) -> str:
        assert self.popen.stdout is not None
        return self.popen.stdout.readline().decode()

    def ask(self, number: int, method: str, **parameters: Any) -> dict[str, Any]:
        self.send(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": parameters}))
        answer: dict[str, Any] = json.loads(self.line())
        assert answer["id"] == number
        return answer

    def greet(self) -> dict[str, Any]:
        """Shake hands as clients did before 2026."""
        who = {"name": "made-up", "version": "1"}
        asked = self.ask(0, "initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=who)
        self.send('{"jsonrpc": "2.0", "method": "notifications/initialized"}')
        result: dict[str, Any] = asked["result"]
        return result

    def hang_up(self) -> int:
        """Close the server's standard input, and return its exit status."""
        assert self.popen.stdin is not None
        self.popen.stdin.close()
        return self.popen.wait(WAIT_S)


@contextmanager
def piped(home: Path, program: str = PROGRAM, arguments: Sequence[str] = ()) -> Iterator[Piped]:
    """Run a program that serves the home; kill it at the end if it still runs."""
    command = [sys.executable, "-c", program, str(home), *arguments]
    popen = subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=get_default_environment()
    )
    try:
        yield Piped(popen)
    finally:
        popen.kill()
        popen.wait(WAIT_S)
        for stream in (popen.stdin, popen.stdout):
            if stream is not None:
                with suppress(BrokenPipeError):
                    stream.close()


def text_of(result: CallToolResult) -> str:
    [content] = result.content
    assert isinstance(content, TextContent)
    return content.text


def postmaster(home: Path) -> int | None:
    """Return the process of the home's Postgres, None where none runs."""
    try:
        lines = (data_folder_for(home) / "postmaster.pid").read_text().split("\n")
        os.kill(int(lines[0]), 0)
    except (FileNotFoundError, ProcessLookupError):
        return None
    return int(lines[0])
