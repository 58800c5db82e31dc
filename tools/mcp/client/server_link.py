"""One connection to a server: the SDK's client in a task of its own, in which its scopes begin and end."""

from __future__ import annotations

import asyncio
import logging
import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Any, TypeVar

from mcp import MCPError
from mcp.client import (
    CacheConfig,
    Client,
    IncomingMessage,
    InMemoryResponseCacheStore,
)
from mcp.client.subscriptions import SubscriptionLost
from mcp_types import (
    CONNECTION_CLOSED,
    HEADER_MISMATCH,
    URL_ELICITATION_REQUIRED,
    CallToolResult,
    Implementation,
    InputRequiredResult,
    InputResponses,
    PromptListChangedNotification,
    ResourceListChangedNotification,
    ToolListChangedNotification,
)
from mcp_types.version import MODERN_PROTOCOL_VERSIONS

from patchwright.version import VERSION
from sandbox.lazy_dataclass import dataclass
from tools.core.surroundings import Surroundings
from tools.mcp.client.contents import collect_pictures, format_prompt, format_resource, format_result
from tools.mcp.client.failures import describe_failure
from tools.mcp.client.http_transport import HttpTransport
from tools.mcp.client.message_bounds import MessageBounds
from tools.mcp.client.server_requests import ServerRequests
from tools.mcp.client.server_tasks import TaskHandle, TasksExtension, call_as_task, finish_task, resolve_input
from tools.mcp.client.stdio_transport import StdioTransport
from tools.mcp.descriptions import (
    MOST_TOOLS,
    PromptDescription,
    ResourceDescription,
    ServerIdentity,
    ToolDescription,
    replace_surrogates,
    trim_text,
)
from tools.mcp.questions import Asker
from tools.mcp.server_place import HttpPlace, ServerPlace
from tools.mcp.time_limit import TimeLimit
from tools.shell.server_pipes import ServerGone

MOST_PAGES = 32
CLOSE_SECONDS = 3.0
"""Time for a server to end; behind it the connection is cut."""

REASON_SECONDS = 0.5

MOST_CACHED = 32
"""Lists and resources kept as long as the server said, each at most as long as a message."""

T = TypeVar("T")

for _name in ("mcp", "client", "httpx2", "httpcore2"):
    # Their warnings quote servers, and would be printed: no other handler is installed.
    logging.getLogger(_name).addHandler(logging.NullHandler())
    logging.getLogger(_name).propagate = False


@dataclass(frozen=True, slots=True, kw_only=True)
class CallResult:
    """Result of a call. failed: reported by the server"""

    text: str
    failed: bool
    pictures: tuple[bytes, ...] = ()


class ServerLink:
    """A connection, made by `connect`. All its methods raise ServerGone.

    changed: called when the server's lists have changed; ask: returns who can be asked, None for nobody
    """

    def __init__(
        self,
        at: Surroundings,
        name: str,
        place: ServerPlace,
        *,
        changed: Callable[[], None],
        ask: Callable[[], Asker | None],
    ) -> None:
        self._at = at
        self._name = name
        self._changed = changed
        self._requests = ServerRequests(at, name, ask)
        self._bounds = MessageBounds()
        self._transport = self._create_transport(place)
        self._stop = asyncio.Event()
        self._ready: asyncio.Future[Client] = asyncio.get_running_loop().create_future()
        self._serving: asyncio.Task[None] | None = None

    @property
    def is_alive(self) -> bool:
        return self._serving is not None and not self._serving.done() and not self._bounds.problem

    @property
    def notice(self) -> str:
        """What the user should know of a server that runs, as a clause; "" if there is nothing."""
        if not self._bounds.other_line:
            return ""
        return (
            f"lines on its standard output that are no messages are skipped, as {self._bounds.other_line!r}"
        )

    @property
    def last_errors(self) -> str:
        """The last lines of a program's standard error so far; "" for none, and for a server behind an address."""
        return self._transport.last_errors if isinstance(self._transport, StdioTransport) else ""

    @property
    def identity(self) -> ServerIdentity | None:
        """The server at the other end, None before the connection is ready."""
        if not self._ready.done() or self._ready.cancelled() or self._ready.exception() is not None:
            return None
        client = self._ready.result()
        info = client.server_info
        return ServerIdentity(
            name=replace_surrogates(info.name) if info else "",
            version=replace_surrogates(info.version) if info else "",
            revision=client.protocol_version,
            instructions=trim_text((client.instructions or "").strip()),
        )

    async def connect(self) -> None:
        """Connect and agree on a revision of the protocol."""
        self._serving = asyncio.create_task(self._serve())
        await asyncio.shield(self._ready)

    async def close(self) -> None:
        """End the connection, and a program at its other end; safe to call twice."""
        self._stop.set()
        if self._serving is None:
            return
        # Before it is connected it does not look whether it is to stop.
        await asyncio.wait([self._serving], timeout=CLOSE_SECONDS if self._ready.done() else 0)
        if not self._serving.done():
            self._serving.cancel()
            await asyncio.wait([self._serving])
        if self._ready.done() and not self._ready.cancelled():
            self._ready.exception()  # retrieved: nobody may have waited for it

    async def list_tools(self, seconds: float) -> list[ToolDescription]:
        """Return the tools of all pages."""

        async def list_page(client: Client, cursor: str | None) -> tuple[list[ToolDescription], str | None]:
            page = await client.list_tools(cursor=cursor, cache_mode="refresh")
            tools = [
                ToolDescription(
                    name=each.name,
                    description=each.description or "",
                    schema=each.input_schema,
                    needs_task=each.execution is not None and each.execution.task_support == "required",
                )
                for each in page.tools
            ]
            return tools, page.next_cursor

        found: dict[str, ToolDescription] = {}
        for each in await self._list(list_page, seconds):
            found[each.name] = each
        return list(found.values())[:MOST_TOOLS]

    async def list_resources(self, seconds: float) -> list[ResourceDescription]:
        """Return the resources of all pages, none where the server has no resources."""
        if not self._offers("resources"):
            return []

        async def list_page(
            client: Client, cursor: str | None
        ) -> tuple[list[ResourceDescription], str | None]:
            page = await client.list_resources(cursor=cursor)
            return [
                ResourceDescription(uri=str(each.uri), name=each.name, description=each.description or "")
                for each in page.resources
            ], page.next_cursor

        return await self._list(list_page, seconds)

    async def list_prompts(self, seconds: float) -> list[PromptDescription]:
        """Return the prompts of all pages, none where the server has no prompts."""
        if not self._offers("prompts"):
            return []

        async def list_page(client: Client, cursor: str | None) -> tuple[list[PromptDescription], str | None]:
            page = await client.list_prompts(cursor=cursor)
            return [
                PromptDescription(
                    name=each.name,
                    description=each.description or "",
                    arguments={given.name: bool(given.required) for given in each.arguments or ()},
                )
                for each in page.prompts
            ], page.next_cursor

        return await self._list(list_page, seconds)

    async def call_tool(
        self, name: str, arguments: Mapping[str, Any], seconds: float, *, needs_task: bool = False
    ) -> CallResult:
        """Call a tool; questions of the server in between stop the clock."""

        async def call(client: Client) -> CallToolResult:
            if needs_task:
                return await call_as_task(client.session, name, arguments, self._requests.show_progress)

            async def send(
                responses: InputResponses | None, state: str | None
            ) -> CallToolResult | InputRequiredResult:
                result = await client.session.call_tool(
                    name,
                    dict(arguments),
                    progress_callback=self._requests.show_progress,
                    input_responses=responses,
                    request_state=state,
                    allow_input_required=True,
                    allow_claimed=True,
                )
                if isinstance(result, TaskHandle):
                    return await finish_task(client.session, result, self._requests.show_progress)
                assert isinstance(result, CallToolResult | InputRequiredResult)
                return result

            try:
                first = await send(None, None)
            except MCPError as error:
                if error.code != URL_ELICITATION_REQUIRED or not await self._requests.open_addresses(error):
                    raise
                first = await send(None, None)
            return await resolve_input(client, first, send)

        result = await self.run(call, seconds, may_ask=True)
        pictures = collect_pictures(result)
        return CallResult(text=format_result(result), failed=bool(result.is_error), pictures=pictures)

    async def read_resource(self, uri: str, seconds: float) -> str:
        """Return the text of a resource."""

        async def read(client: Client) -> str:
            return format_resource(await client.read_resource(uri))

        return await self.run(read, seconds, may_ask=True)

    async def get_prompt(self, name: str, arguments: Mapping[str, str], seconds: float) -> str:
        """Return the text of a prompt."""

        async def get(client: Client) -> str:
            return format_prompt(await client.get_prompt(name, dict(arguments)))

        return await self.run(get, seconds, may_ask=True)

    async def run(
        self, make: Callable[[Client], Awaitable[T]], seconds: float, *, may_ask: bool = False
    ) -> T:
        """Run requests within a time limit; cancelled ones are cancelled at the server, too.

        may_ask: the server may ask the person meanwhile. It may not while its lists are requested: it causes that.
        """
        client = await asyncio.shield(self._ready)
        if isinstance(self._transport, HttpTransport):
            self._transport.status = 0
        try:
            async with TimeLimit(seconds) as limit:
                if may_ask:
                    self._requests.begin_request(limit)
                try:
                    return await make(client)
                finally:
                    self._requests.end_request(limit)
        except TimeoutError:
            raise ServerGone(f"it did not answer within {seconds:g} s") from None
        except asyncio.CancelledError:
            raise
        except ServerGone:
            raise
        except Exception as error:
            if isinstance(error, MCPError) and error.code == HEADER_MISMATCH:
                self._changed()
            if isinstance(error, MCPError) and error.code == CONNECTION_CLOSED:
                await self._wait_for_reason()
            raise ServerGone(self._describe(error)) from None

    async def _serve(self) -> None:
        """Hold the connection until it is closed, or fails."""
        client = Client(
            self._transport,
            client_info=Implementation(name="patchwright", version=VERSION),
            list_roots_callback=self._requests.list_roots,
            elicitation_callback=self._requests.elicit,
            message_handler=self._handle_message,
            extensions=[TasksExtension()],
            cache=CacheConfig(
                store=InMemoryResponseCacheStore(max_entries=MOST_CACHED),
                partition="session",
                target_id=self._name,
            ),
        )
        try:
            async with client:
                self._ready.set_result(client)
                await self._follow_changes(client)
                await self._stop.wait()
        except asyncio.CancelledError:
            self._fail(ServerGone("it was ended"))
            raise
        except ServerGone as gone:
            self._fail(gone)
        except (Exception, BaseExceptionGroup) as error:
            self._fail(ServerGone(self._describe(error)))

    async def _wait_for_reason(self) -> None:
        """Wait until the connection knows why it was closed: requests learn first that it was."""
        if self._serving is not None and not self._bounds.problem:
            await asyncio.wait([self._serving], timeout=REASON_SECONDS)

    def _fail(self, gone: ServerGone) -> None:
        if self._bounds.other_line and re.fullmatch(r"it ended with exit status \d+", str(gone)):
            gone = ServerGone(f"{gone}: {self._bounds.other_line}")  # some say why on their standard output
        self._bounds.fail(str(gone))
        if not self._ready.done():
            self._ready.set_exception(gone)

    def _describe(self, error: BaseException) -> str:
        status = self._transport.status if isinstance(self._transport, HttpTransport) else 0
        return describe_failure(error, server=self._name, problem=self._bounds.problem, status=status)

    def _create_transport(self, place: ServerPlace) -> StdioTransport | HttpTransport:
        if isinstance(place, HttpPlace):
            return HttpTransport(place.url, place.headers, place.auth, self._bounds)
        return StdioTransport(self._at, place, self._bounds)

    def _offers(self, feature: str) -> bool:
        client = self._ready.result() if self._ready.done() else None
        return client is not None and getattr(client.server_capabilities, feature, None) is not None

    async def _list(
        self, list_page: Callable[[Client, str | None], Awaitable[tuple[list[T], str | None]]], seconds: float
    ) -> list[T]:
        async def list_all(client: Client) -> list[T]:
            found: list[T] = []
            cursor: str | None = None
            for _ in range(MOST_PAGES):
                page, cursor = await list_page(client, cursor)
                found += page
                if cursor is None:
                    break
            return found

        return await self.run(list_all, seconds)

    async def _follow_changes(self, client: Client) -> None:
        """Subscribe to changes of the lists, where the revision has subscriptions."""
        offered = client.server_capabilities
        if client.protocol_version not in MODERN_PROTOCOL_VERSIONS:
            return
        tools, prompts, resources = (
            bool(each and each.list_changed) for each in (offered.tools, offered.prompts, offered.resources)
        )
        if not (tools or prompts or resources):
            return
        with suppress(MCPError, SubscriptionLost):  # lists stay as they are until a restart
            async with client.listen(
                tools_list_changed=tools, prompts_list_changed=prompts, resources_list_changed=resources
            ) as subscription:
                listening = asyncio.create_task(self._read_changes(subscription))
                try:
                    await self._stop.wait()
                finally:
                    listening.cancel()
                    await asyncio.wait([listening])

    async def _read_changes(self, subscription: Any) -> None:
        with suppress(SubscriptionLost):
            async for _ in subscription:
                self._changed()

    async def _handle_message(self, message: IncomingMessage) -> None:
        lists = (ToolListChangedNotification, PromptListChangedNotification, ResourceListChangedNotification)
        if isinstance(message, lists):
            self._changed()
