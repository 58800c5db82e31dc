"""One MCP server of a session: started when it is needed, started again when it has ended, its lists kept."""

from __future__ import annotations

import asyncio
import importlib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from sandbox.policy.decision import Mode
from sandbox.process.command_line import CommandLine
from tools.core.surroundings import Surroundings
from tools.mcp.descriptions import PromptDescription, ResourceDescription, ServerIdentity, ToolDescription
from tools.mcp.questions import Asker
from tools.mcp.sandbox_causes import explain_cause, names_read_only
from tools.mcp.server_place import HttpPlace, ServerPlace
from tools.mcp.server_rights import describe_rights
from tools.mcp.server_settings import CALL_SECONDS, START_SECONDS
from tools.shell.server_pipes import ServerGone

if TYPE_CHECKING:
    import httpx2

    from tools.mcp.client.server_link import CallResult, ServerLink

LIST_SECONDS = 5.0
"""For the list of resources, and for that of prompts."""

RELIST_SECONDS = 1.0
"""Between two requests for the lists of a server that says again and again that they have changed."""

T = TypeVar("T")

_YES, _NO = "yes, for this session", "no"


class McpServer:
    """One server by its name in the settings.

    place: where it is, or why it is refused
    tools, resources, prompts: from its last start, or since it said that they changed
    why: reason that it is not running; "" if it runs or was never started
    ask: who can be asked by the server, None for nobody
    """

    def __init__(
        self,
        at: Surroundings,
        name: str,
        place: ServerPlace | str,
        *,
        start_seconds: float = START_SECONDS,
        call_seconds: float = CALL_SECONDS,
        sign_ins: Path | None = None,
        uses_tool: Callable[[str], bool] = lambda name: True,
    ) -> None:
        self.name = name
        self.tools: Sequence[ToolDescription] = ()
        self.resources: Sequence[ResourceDescription] = ()
        self.prompts: Sequence[PromptDescription] = ()
        self.why = ""
        self.ask: Asker | None = None
        self._at = at
        self._place = place
        self._start_seconds = start_seconds
        self._call_seconds = call_seconds
        self._sign_ins = sign_ins
        self._uses_tool = uses_tool
        self._link: ServerLink | None = None
        self._starting = asyncio.Lock()
        self._relisting: asyncio.Task[None] | None = None
        self._has_changed = False
        self._was_asked = False

    @property
    def alive(self) -> bool:
        return self._link is not None and self._link.is_alive

    @property
    def notice(self) -> str:
        """What the user should know of it while it runs, as a clause; "" if there is nothing."""
        return self._link.notice if self._link is not None else ""

    @property
    def identity(self) -> ServerIdentity | None:
        """Its name, version and revision while it is connected."""
        return self._link.identity if self._link is not None else None

    async def start(self) -> None:
        """Start the server if needed, and list what it offers. Raises ServerGone."""
        async with self._starting:
            if self.alive:
                return
            await self.close()
            try:
                async with asyncio.timeout(self._start_seconds):
                    link = self._link = await self._create_link()
                    await link.connect()
                    self.tools = await self._list_tools(link)
                await self._take_other_lists(link)
            except TimeoutError:
                said = self._link.last_errors if self._link is not None else ""
                why = f"it told no tools within {self._start_seconds:g} s"
                await self._fail_start(f"{why}: {said}" if said else why, is_late=True)
            except ServerGone as gone:
                await self._fail_start(str(gone))
            except asyncio.CancelledError:
                await self.close()
                raise
            self.why = ""

    async def try_start(self) -> None:
        """Start the server if needed; on failure `why` has the reason."""
        with suppress(ServerGone):
            await self.start()

    async def call(self, tool: ToolDescription, arguments: Mapping[str, Any]) -> CallResult:
        """Call a tool as it was described; a server that has ended is restarted. Raises ServerGone."""
        result = await self._call(tool, arguments)
        if result.failed and await self._ask_to_write(result.text):
            result = await self._call(tool, arguments)
        return result

    def explain_cause(self, text: str) -> str:
        """Return which bound of the sandbox a text of the server names, and the setting that opens it; "" for none."""
        return explain_cause(self._at, self.name, self._place, text)

    @property
    def rights(self) -> str:
        """What it may do beyond reading the workspace, as a clause; "" for nothing."""
        return describe_rights(self._place)

    async def read_resource(self, uri: str) -> str:
        """Return the text of a resource. Raises ServerGone."""
        await self.start()
        return await self._use(lambda link: link.read_resource(uri, self._call_seconds))

    async def get_prompt(self, name: str, arguments: Mapping[str, str]) -> str:
        """Return the text of a prompt. Raises ServerGone."""
        await self.start()
        return await self._use(lambda link: link.get_prompt(name, arguments, self._call_seconds))

    async def close(self) -> None:
        """Stop the server; a later call restarts it."""
        relisting, self._relisting = self._relisting, None
        if relisting is not None:
            relisting.cancel()
            await asyncio.wait([relisting])
        link, self._link = self._link, None
        if link is not None:
            await link.close()

    async def _call(self, tool: ToolDescription, arguments: Mapping[str, Any]) -> CallResult:
        await self.start()
        if tool not in self.tools:  # what the user approved, and the model read, is another one
            raise ServerGone(f"{tool.name} is another tool now, or none; a new session takes what there is")
        return await self._use(
            lambda link: link.call_tool(tool.name, arguments, self._call_seconds, needs_task=tool.needs_task)
        )

    async def _ask_to_write(self, text: str) -> bool:
        """Ask the person, once, whether a server that could not write may; return whether it was restarted so.

        The server's words only bring the question up: what is asked, and what a yes opens, is fixed.
        """
        place = self._place
        if self.ask is None or self._was_asked or not isinstance(place, CommandLine) or place.is_writer:
            return False
        if self._at.mode is Mode.READ_ONLY or not names_read_only(text):
            return False
        self._was_asked = True
        question = (
            f"The MCP server {self.name} could not write. Let it write in the workspace, for this session? "
            f'(always: `writable = ["."]` in [mcp.{self.name}])'
        )
        if (await self.ask.ask(question, (_YES, _NO))).strip() != _YES:
            return False
        self._place = replace(place, is_writer=True)
        await self.close()
        return True

    async def _create_link(self) -> ServerLink:
        """Return a connection that is not open; the first one imports the SDK, beside all that runs.

        Raises ServerGone for a server that is refused.
        """
        if isinstance(self._place, str):
            raise ServerGone(self._place)
        module = await asyncio.to_thread(importlib.import_module, "tools.mcp.client.server_link")
        place = self._place
        if isinstance(place, HttpPlace):
            place = replace(place, auth=await load_sign_in(self._sign_ins, self.name, place.url))
        if (
            isinstance(place, CommandLine) and self._at.mode is Mode.FULL
        ):  # in which every call is allowed, too
            place = replace(place, is_writer=True)
        link: ServerLink = module.ServerLink(
            self._at, self.name, place, changed=self._note_change, ask=lambda: self.ask
        )
        return link

    async def _list_tools(self, link: ServerLink) -> Sequence[ToolDescription]:
        """Return the tools of the server that are used. Raises ServerGone."""
        found = await link.list_tools(self._start_seconds)
        return [each for each in found if self._uses_tool(each.name)]

    async def _take_other_lists(self, link: ServerLink) -> None:
        """Take the lists of resources and prompts; only tools are worth a failure, or a long wait."""
        with suppress(ServerGone):
            self.resources = await link.list_resources(LIST_SECONDS)
        with suppress(ServerGone):
            self.prompts = await link.list_prompts(LIST_SECONDS)

    async def _use(self, make: Callable[[ServerLink], Awaitable[T]]) -> T:
        assert self._link is not None
        try:
            return await make(self._link)
        except ServerGone as gone:
            if not self.alive:
                self.why = str(gone)
            raise

    def _note_change(self) -> None:
        """Have the lists requested again: calls compare tools with those that were approved."""
        self._has_changed = True
        if self._relisting is None or self._relisting.done():
            self._relisting = asyncio.create_task(self._relist())

    async def _relist(self) -> None:
        while self._has_changed and (link := self._link) is not None and link.is_alive:
            self._has_changed = False
            with suppress(ServerGone):
                self.tools = await self._list_tools(link)
                await self._take_other_lists(link)
            await asyncio.sleep(RELIST_SECONDS)

    async def _fail_start(self, why: str, *, is_late: bool = False) -> None:
        cause = explain_cause(self._at, self.name, self._place, why, is_late=is_late)
        why = f"{why}; {cause}" if cause else why
        self.why = why
        await self.close()
        raise ServerGone(why)


async def load_sign_in(folder: Path | None, name: str, url: str) -> httpx2.Auth | None:
    """Return the authentication of a server by its stored sign-in, None without one. No browser is opened."""
    if folder is None:
        return None
    from tools.mcp.oauth.stored_auth import load_auth

    return await load_auth(folder, name, url)


__all__ = ["McpServer", "ServerGone"]
