"""The server: MCP's requests in, the tools' answers out. Calls run in threads, and the loop stays free."""

from __future__ import annotations

import gc
import traceback
from collections.abc import Sequence
from functools import partial
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, cast

import anyio
import anyio.to_thread
from mcp import types as protocol
from mcp.server import CacheHint, Server
from mcp.server.stdio import stdio_server
from pydantic import BaseModel, ValidationError
from pydantic.json_schema import GenerateJsonSchema

from chronofile import __version__
from chronofile.infra.mcp.tool import Reply, Tool
from chronofile.infra.mcp.tools import SETS, instructions

if TYPE_CHECKING:
    from chronofile.infra.mcp.lending import Lender
    from chronofile.infra.mcp.refusals import Refusal
    from chronofile.infra.mcp.wire import Wire

CALLS_AT_ONCE = 4
"""More would wait for one another's connections."""
HEAD_START_S = 1.0
"""The memory is opened when the tools are listed; a client that remembers them from last time may not ask."""
LISTED_MS = 3_600_000
FRAMES_LOGGED_MAX = 12


def run(wire: Wire, lender: Lender, scope: str | None, tools: str) -> None:
    """Serve one client until the wire ends; `tools` is one of SETS."""
    try:
        anyio.run(_serve, wire, lender, scope, SETS[tools])
    except BaseExceptionGroup as group:
        # The client has gone, with an answer still on its way.
        if group.split((BrokenPipeError, anyio.BrokenResourceError))[1] is not None:
            raise


async def _serve(wire: Wire, lender: Lender, scope: str | None, tools: Sequence[Tool]) -> None:
    listed = anyio.Event()
    server = _server(lender, scope, tools, listed)
    gc.freeze()
    gc.enable()
    # Of its input the SDK only asks that it yields lines.
    lines = cast("anyio.AsyncFile[str]", wire.incoming)
    streams = stdio_server(lines, anyio.wrap_file(wire.outgoing))
    async with anyio.create_task_group() as tasks, streams as (incoming, outgoing):
        tasks.start_soon(_open_when, listed, lender)
        await server.run(incoming, outgoing, server.create_initialization_options())
        tasks.cancel_scope.cancel()


async def _open_when(listed: anyio.Event, lender: Lender) -> None:
    """Opening imports a good deal; begun at once it would hold up the list of tools."""
    with anyio.move_on_after(HEAD_START_S):
        await listed.wait()
    lender.begin()


def _server(lender: Lender, scope: str | None, tools: Sequence[Tool], listed: anyio.Event) -> Server[Any]:
    by_name = {tool.name: tool for tool in tools}
    offers = [_offer(tool) for tool in tools]
    at_once = anyio.CapacityLimiter(CALLS_AT_ONCE)

    async def list_tools(_context: Any, _page: Any) -> protocol.ListToolsResult:
        listed.set()
        return protocol.ListToolsResult(tools=offers)

    async def call_tool(_context: Any, call: protocol.CallToolRequestParams) -> protocol.CallToolResult:
        answered = partial(_answered, lender, scope, by_name, call.name, call.arguments or {})
        return await anyio.to_thread.run_sync(answered, abandon_on_cancel=True, limiter=at_once)

    return Server(
        "chronofile",
        title="Chronofile",
        description="Local memory of past agent sessions, chats and files, as verbatim passages.",
        version=__version__,
        instructions=instructions(tools),
        cache_hints={"tools/list": CacheHint(ttl_ms=LISTED_MS)},
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


def _offer(tool: Tool) -> protocol.Tool:
    return protocol.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.arguments.model_json_schema(schema_generator=_Untitled),
        output_schema=tool.answer.model_json_schema(mode="serialization", schema_generator=_Untitled),
        annotations=protocol.ToolAnnotations(
            title=tool.title,
            read_only_hint=not tool.saves,
            destructive_hint=tool.hides,
            idempotent_hint=True,
            open_world_hint=False,
        ),
    )


class _Untitled(GenerateJsonSchema):
    """Schemas without a title for each field, which would only repeat its name to whoever pays for the words."""

    def field_title_should_be_set(self, schema: Any) -> bool:
        return False


def _answered(
    lender: Lender, scope: str | None, tools: dict[str, Tool], name: str, arguments: dict[str, Any]
) -> protocol.CallToolResult:
    """Answer a call, whatever comes of it: a model can act on a refusal, on a broken protocol it cannot."""
    from chronofile.infra.mcp import refusals

    if (tool := tools.get(name)) is None:
        return _refused(refusals.unknown_tool(name, tools))
    try:
        asked = tool.arguments.model_validate(arguments)
    except ValidationError as error:
        return _refused(refusals.bad_arguments(error))
    try:
        with lender.lend() as memory:
            return _replied(_run(tool, memory, asked, scope))
    except Exception as error:  # noqa: BLE001  # The outermost frame of a call.
        return _refused(_explained(error))


def _run(tool: Tool, memory: Any, asked: BaseModel, scope: str | None) -> Reply | Refusal:
    from chronofile.domain.errors import UnknownScope
    from chronofile.infra.mcp import refusals

    named = getattr(asked, "scope", None)
    if named is None and "scope" in type(asked).model_fields:
        asked = asked.model_copy(update={"scope": scope})
    try:
        return tool.run(memory, asked)
    except UnknownScope:
        known = [found.scope for found in memory.topics()]
        return refusals.unknown_scope(named or scope or "", known, from_start=named is None)


def _explained(error: Exception) -> Refusal:
    from chronofile.infra.mcp import refusals

    refusal = refusals.refusal_of(error)
    if refusal.code in refusals.OURS:
        _log(error, refusal)
    return refusal


def _log(error: Exception, refusal: Refusal) -> None:
    """Log where an error came from. Its own words stay away: those of SQLAlchemy hold the texts that were sent."""
    import structlog

    frames = traceback.extract_tb(error.__traceback__)[-FRAMES_LOGGED_MAX:]
    where = " > ".join(f"{PurePath(frame.filename).name}:{frame.lineno}" for frame in frames)
    kind = type(error).__name__
    structlog.get_logger(__name__).error("call failed", kind=kind, message=refusal.message, where=where)


def _replied(reply: Reply | Refusal) -> protocol.CallToolResult:
    if not isinstance(reply, Reply):
        return _refused(reply)
    from chronofile.domain.identity import storable

    return protocol.CallToolResult(
        content=[protocol.TextContent(type="text", text=storable(reply.text) or "")],
        structured_content=_sendable(reply.structured),
    )


def _refused(refusal: Refusal) -> protocol.CallToolResult:
    """Return a refusal as text alone: clients check whatever is structured against the schema of answers."""
    return protocol.CallToolResult(
        content=[protocol.TextContent(type="text", text=refusal.as_text())], is_error=True
    )


def _sendable(value: Any) -> Any:
    """Return JSON values with U+FFFD for what JSON in UTF-8 cannot carry or readers choke on."""
    from chronofile.domain.identity import storable

    if isinstance(value, str):
        return storable(value)
    if isinstance(value, list):
        return [_sendable(item) for item in value]
    if isinstance(value, dict):
        return {storable(name): _sendable(item) for name, item in value.items()}
    return value
