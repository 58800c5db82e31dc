"""The server of the protocol: lists the tools, runs their calls, carries progress and questions to the client."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

import anyio
from mcp.server.caching import CacheHint
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.request_state import RequestStateBoundary, RequestStateSecurity
from mcp.shared.exceptions import MCPError
from mcp_types import (
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    ElicitRequest,
    ElicitRequestFormParams,
    ElicitResult,
    InputRequiredResult,
    ListResourcesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
    Resource,
    TextContent,
    TextResourceContents,
    Tool,
    ToolAnnotations,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from pydantic import ValidationError

from cli.output.standard_streams import write_error
from cli.protocols.mcp_server.call_table import ANSWER_SECONDS, CallTable
from cli.protocols.mcp_server.offered.code_tools import MapArguments, show_map
from cli.protocols.mcp_server.offered.tool_table import choose_tools
from cli.protocols.mcp_server.open_call import AskedForm, OpenCall
from cli.protocols.mcp_server.served_repository import ServedRepository
from cli.protocols.mcp_server.served_tool import ServedTool, build_schema
from cli.protocols.mcp_server.tool_result import ToolResult
from patchwright.version import VERSION
from sandbox.errors import UserError
from sandbox.sanitize import sanitize_text
from sandbox.secrets.child_environment import redact

Context = ServerRequestContext[Any, Any]

NAME = "patchwright"

INSTRUCTIONS = (
    "Tools for the repository that this server was started in. map, symbols and localize answer from an index of its"
    " code; run_tests, repair and apply work in a sandbox under the user's settings; run gives a whole task to"
    " Patchwright. Paths are relative to the repository."
)

MAP_ADDRESS = "patchwright://map"

ANSWER = "answer"
"""Key of a question in an interim result."""

LIST_TTL = 3_600_000
"""Milliseconds for which clients may keep the list of tools: it does not change while the server runs."""

HEARTBEAT_SECONDS = 10.0
"""Time without progress after which a call says that it is at work."""

_GONE = (anyio.BrokenResourceError, anyio.ClosedResourceError, MCPError)
"""The client, or its request, is gone; or it does not accept a message."""


class RepositoryServer:
    """Serves one repository to any number of clients. sdk: the SDK's server, for a transport

    tools: those that are offered, by name; None for those that the repository's rights allow
    """

    def __init__(self, repository: ServedRepository, tools: Mapping[str, ServedTool] | None = None) -> None:
        self._repository = repository
        self._tools = choose_tools(reads_only=repository.reads_only) if tools is None else tools
        self._calls = CallTable()
        self._listed = [_describe_tool(each) for each in self._tools.values()]
        self.sdk: Server[Any] = Server(
            NAME,
            version=VERSION,
            title="Patchwright",
            instructions=INSTRUCTIONS,
            cache_hints={"tools/list": CacheHint(ttl_ms=LIST_TTL, scope="private")},
            on_list_tools=self._list_tools,
            on_call_tool=self._call_tool,
            on_list_resources=self._list_resources,
            on_read_resource=self._read_resource,
        )
        security = RequestStateSecurity.ephemeral(ttl=ANSWER_SECONDS)
        self.sdk.middleware.append(RequestStateBoundary(security, default_audience=NAME))

    async def close(self) -> None:
        """End all calls that are at work."""
        await self._calls.close()

    async def _list_tools(self, ctx: Context, params: PaginatedRequestParams | None) -> ListToolsResult:
        return ListToolsResult(tools=self._listed)

    async def _call_tool(
        self, ctx: Context, params: CallToolRequestParams
    ) -> CallToolResult | InputRequiredResult:
        tool = self._tools.get(params.name)
        if tool is None:
            names = ", ".join(self._tools)
            raise MCPError(INVALID_PARAMS, f"there is no tool {params.name[:100]!r}; there are {names}")
        try:
            if params.request_state is not None:
                call, asked = self._calls.resume(params.request_state)
                asked.set_answer(_read_answer((params.input_responses or {}).get(ANSWER)))
            else:
                call = self._start_call(ctx, tool, params.arguments or {})
            return await self._follow_call(ctx, call)
        except UserError as error:
            return _build_error(error)

    def _start_call(self, ctx: Context, tool: ServedTool, given: Mapping[str, Any]) -> OpenCall:
        """Start the work of a new call. Raises UserError for arguments that do not fit."""
        arguments = tool.parse_arguments(given)
        call = OpenCall(can_ask=_can_ask_forms(ctx))
        self._calls.add(call)
        call.start(tool.run(arguments, self._repository, call))
        return call

    async def _follow_call(self, ctx: Context, call: OpenCall) -> CallToolResult | InputRequiredResult:
        """Carry a call's progress and questions to its client until it ends, or waits for an answer."""
        is_suspended = False
        try:
            while (item := await _wait_for_item(ctx, call)) is not None:
                if isinstance(item, str):
                    await _report_progress(ctx, call, item)
                elif ctx.protocol_version in MODERN_PROTOCOL_VERSIONS:
                    self._calls.suspend(call, item)
                    is_suspended = True
                    return _request_input(call, item)
                else:
                    item.set_answer(await _ask_client(ctx, item))
            return _build_result(await _get_result(call))
        except (
            BaseException
        ):  # cancelled, or the connection or the SDK fails: nobody hears of the work any more
            with anyio.CancelScope(shield=True):
                await call.end()
            raise
        finally:
            if not is_suspended:
                self._calls.remove(call)

    async def _list_resources(
        self, ctx: Context, params: PaginatedRequestParams | None
    ) -> ListResourcesResult:
        described = "The main files and the symbols that others use, as they are now"
        found = Resource(
            uri=MAP_ADDRESS,
            name="map",
            title="Map of the code",
            description=described,
            mime_type="text/plain",
        )
        return ListResourcesResult(resources=[found])

    async def _read_resource(self, ctx: Context, params: ReadResourceRequestParams) -> ReadResourceResult:
        if str(params.uri) != MAP_ADDRESS:
            raise MCPError(INVALID_PARAMS, f"there is no resource {str(params.uri)[:200]!r}")
        call = OpenCall(can_ask=False)
        try:
            self._calls.add(call)
            call.start(show_map(MapArguments(), self._repository, call))
            while await call.wait_for_item() is not None:
                pass
            text = (await _get_result(call)).text
        except UserError as error:
            raise MCPError(INVALID_PARAMS, redact(error.message)) from None
        except BaseException:  # a lost connection, too: no work goes on unseen; raised again
            with anyio.CancelScope(shield=True):
                await call.end()
            raise
        finally:
            self._calls.remove(call)
        content = TextResourceContents(uri=MAP_ADDRESS, mime_type="text/plain", text=_clean_text(text))
        return ReadResourceResult(contents=[content])


def _describe_tool(tool: ServedTool) -> Tool:
    return Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=build_schema(tool.arguments),
        output_schema=build_schema(tool.result),
        annotations=ToolAnnotations(
            title=tool.title,
            read_only_hint=tool.reads_only,
            destructive_hint=tool.destructive,
            idempotent_hint=tool.idempotent or tool.reads_only,
            open_world_hint=tool.open_world,
        ),
    )


def _can_ask_forms(ctx: Context) -> bool:
    """Whether the client shows forms; one that names no mode of elicitation is of a revision that had only forms."""
    capabilities = ctx.session.client_capabilities
    elicitation = capabilities.elicitation if capabilities is not None else None
    return elicitation is not None and (elicitation.form is not None or elicitation.url is None)


async def _wait_for_item(ctx: Context, call: OpenCall) -> str | AskedForm | None:
    """Return the next line of progress or question, None at the end; meanwhile tell the client that there is work.

    Clients give up a request of which they hear nothing.
    """
    while True:
        with anyio.move_on_after(HEARTBEAT_SECONDS):
            return await call.wait_for_item()
        await _report_progress(ctx, call, f"at work for {time.monotonic() - call.began:.0f} s")


async def _report_progress(ctx: Context, call: OpenCall, line: str) -> None:
    call.reported += 1
    try:
        await ctx.session.report_progress(call.reported, None, _clean_text(line))
    except _GONE:  # the work goes on; its session can be resumed
        return


def _build_form_request(asked: AskedForm) -> ElicitRequestFormParams:
    return ElicitRequestFormParams(message=asked.message, requested_schema=dict(asked.schema))


async def _ask_client(ctx: Context, asked: AskedForm) -> Mapping[str, Any] | None:
    """Ask by a request to the client; None if it refuses, is gone or does not answer in time."""
    form = _build_form_request(asked)
    try:
        with anyio.fail_after(ANSWER_SECONDS):
            answer = await ctx.session.elicit_form(form.message, form.requested_schema, ctx.request_id)
    except (*_GONE, TimeoutError, ValidationError):
        return None
    return _read_answer(answer)


def _request_input(call: OpenCall, asked: AskedForm) -> InputRequiredResult:
    request = ElicitRequest(params=_build_form_request(asked))
    return InputRequiredResult(input_requests={ANSWER: request}, request_state=call.token)


def _read_answer(answer: object) -> Mapping[str, Any] | None:
    if not isinstance(answer, ElicitResult) or answer.action != "accept":
        return None
    return answer.content or {}


async def _get_result(call: OpenCall) -> ToolResult:
    """Return the result of a call that has ended. Raises UserError, also for an internal error."""
    try:
        return await call.get_result()
    except UserError:
        raise
    except Exception as error:  # a fault in one call must not end the server
        from sandbox.errors import Fault

        words = redact(f"internal error: {type(error).__name__}: {error}")[:500]
        write_error(f"patchwright: mcp: {sanitize_text(words)}\n")
        raise UserError(Fault.USAGE, words) from None


def _build_result(result: ToolResult) -> CallToolResult:
    return CallToolResult(
        content=[TextContent(text=_clean_text(result.text))],
        structured_content=_redact_strings(result.data.model_dump(mode="json")),
        is_error=result.failed,
    )


def _clean_text(text: str) -> str:
    return sanitize_text(redact(text))


def _redact_strings(value: Any) -> Any:
    """Return a JSON value whose strings, keys included, hold no secret."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, dict):
        return {redact(key): _redact_strings(each) for key, each in value.items()}
    return [_redact_strings(each) for each in value] if isinstance(value, list) else value


def _build_error(error: UserError) -> CallToolResult:
    text = _clean_text("\n".join(filter(None, (error.message, error.hint))))
    return CallToolResult(content=[TextContent(text=text)], is_error=True)
