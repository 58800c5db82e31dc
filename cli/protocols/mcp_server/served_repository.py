"""The repository of a server: sessions that its calls open, with the user's settings, sandbox, policy and rules.

Every call opens a session of its own and sees the files as they are then. A call of a single tool has a session
without a log that stays; a run has one like any other.
"""

from __future__ import annotations

import asyncio
import gc
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from agent.app_dirs import Home, make_private_folder
from agent.assemble import assemble_runtime
from agent.session.session_preview import NO_SUCH, SessionPreview, preview_session
from agent.session_request import SessionRequest
from agent.session_settings import SessionSettings
from agent.turn.runtime import Runtime
from agent.workspace_root import find_workspace_root
from cli.invocation import Invocation, load_invocation_settings, make_runtime
from cli.protocols.mcp_server.client_approver import ClientApprover
from cli.protocols.mcp_server.open_call import OpenCall
from cli.settings.settings_types import Settings
from patchwright.version import VERSION
from sandbox.errors import Fault, UserError
from sandbox.policy.decision import Approval, Mode

SYSTEM = "A client of the MCP server calls single tools in this session."
"""System prompt of a session that has no model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOrder:
    """A run. session: id of the one to go on with, "" for a new one; model: another than that of the settings"""

    session: str = ""
    model: str = ""
    commit: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedRun:
    """The session of a run. settings: of its folder; unfinished: its last turn has no end"""

    runtime: Runtime
    settings: Settings
    unfinished: bool


class ServedRepository:
    """A folder and the options of the command line. may_commit: runs may commit if their caller asks for it"""

    def __init__(
        self, folder: Path, home: Home, flags: Mapping[str, Any], *, reads_only: bool, may_commit: bool
    ) -> None:
        self.folder = folder
        self.home = home
        self.flags = {**flags, "mode": "read-only"} if reads_only else dict(flags)
        self.root, self.is_git = find_workspace_root(folder, need_git=False)
        self.reads_only = reads_only or self._load_settings(self.flags).access.mode is Mode.READ_ONLY
        self._may_commit = may_commit
        self._writer = asyncio.Lock()

    @asynccontextmanager
    async def write_in_turn(self, call: OpenCall) -> AsyncIterator[None]:
        """Let a call write once those before it have ended."""
        if self._writer.locked():
            call.report("waiting for a call that writes")
        async with self._writer:
            yield

    @asynccontextmanager
    async def open_actions(
        self, call: OpenCall, *tools: str, mode: Mode | None = None
    ) -> AsyncIterator[Runtime]:
        """Open a session for actions of some tools, and remove it afterwards. Raises UserError.

        mode: a narrower one than that of the settings
        """
        settings = self._load_settings({**self.flags, "model": "offline"})
        if mode is not None:
            settings = replace(settings, access=replace(settings.access, mode=mode))
        folder = Path(tempfile.mkdtemp(prefix="call-", dir=make_private_folder(self.home.cache / "mcp")))
        try:
            request = SessionRequest(
                working=self.folder,
                offer_commit=False,
                version=VERSION,
                sessions=folder,
                tools=frozenset(tools),
                system=SYSTEM,
                approver=ClientApprover(call) if call.can_ask else None,
            )
            runtime = assemble_runtime(_attend(settings, call), request, self.home)
            try:
                runtime.workspace.progress = call.report
                yield runtime
            finally:
                await runtime.close()
                shutil.rmtree(self.home.cache / "work" / runtime.session.id, ignore_errors=True)
        finally:
            shutil.rmtree(folder, ignore_errors=True)  # leftovers are only a cache

    def open_run(self, order: RunOrder, call: OpenCall) -> OpenedRun:
        """Open the session of a run. Raises UserError."""
        if order.commit and not self._may_commit:
            raise UserError(Fault.USAGE, "this server does not commit", "It was started with --no-commit.")
        if order.commit and not self.is_git:
            raise UserError(Fault.NOT_A_REPOSITORY, f"not in a git repository: {str(self.root)!r}")
        flags = dict(self.flags)
        if order.model:
            flags["model"] = order.model
        state = self._preview_session(order.session) if order.session else None
        if state is not None and state.model:
            flags.setdefault("model", state.model)
        invocation = Invocation(
            folder=self.folder,
            flags=flags,
            session=order.session,
            commit=order.commit,
            offer_commit=order.commit,
            attended=call.can_ask,
        )
        settings = load_invocation_settings(invocation, self.home)
        runtime = make_runtime(invocation, self.home, settings.session)
        gc.unfreeze()  # this process outlives the session, whose objects are to be collected when it is closed
        if call.can_ask:
            runtime.loop.gateway.approver = ClientApprover(call)
        unfinished = state is not None and state.unfinished
        return OpenedRun(runtime=runtime, settings=settings, unfinished=unfinished)

    def _preview_session(self, session: str) -> SessionPreview:
        """Return the state of a session of this project. Raises UserError if there is none."""
        error = UserError(
            Fault.USAGE, f"no session {session[:100]!r} in this project", "List them: patchwright sessions"
        )
        if os.sep in session or "\0" in session or session in (".", ".."):
            raise error
        try:
            return preview_session(self.home.get_project_folder(self.root) / "sessions" / session)
        except (OSError, ValueError) as problem:
            if isinstance(problem, OSError) and problem.errno not in NO_SUCH:
                raise
            raise error from None

    def _load_settings(self, flags: Mapping[str, Any]) -> SessionSettings:
        invocation = Invocation(folder=self.folder, flags=flags, commit=False, offer_commit=False)
        settings = load_invocation_settings(invocation, self.home).session
        tools = replace(settings.tools, language_servers={}, mcp={})  # their start takes longer than a call
        return replace(settings, tools=tools, commit="never")


def _attend(settings: SessionSettings, call: OpenCall) -> SessionSettings:
    """Return the settings with approvals by the client's user, or by nobody where the client cannot ask."""
    if call.can_ask:
        return settings
    return replace(settings, access=replace(settings.access, approval=Approval.NEVER))
