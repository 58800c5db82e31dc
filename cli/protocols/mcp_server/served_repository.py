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
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from agent.app_dirs import Home, make_private_folder
from agent.assemble import assemble_runtime
from agent.session.session_preview import NO_SUCH, SessionPreview, preview_session
from agent.session_request import SessionRequest
from agent.session_settings import SessionSettings
from agent.turn.runtime import Runtime
from agent.workspace_root import find_workspace_root
from cli.invocation import NO_MODEL, Invocation, load_invocation_settings, make_runtime
from cli.protocols.mcp_server.client_approver import ClientApprover
from cli.protocols.mcp_server.open_call import OpenCall
from cli.settings.settings_types import Settings
from patchwright.version import VERSION
from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass
from sandbox.policy.decision import Approval, Mode

FOLDER = "mcp"
"""Folder in the cache with the sessions of calls at work."""

STALE_SECONDS = 86_400.0
"""Age of a call's session that nothing can be at work in any more."""

SYSTEM = "A client of the MCP server calls single tools in this session."
"""System prompt of a session that has no model."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOrder:
    """A run. session: id of the one to go on with, "" for a new one; offline: without the configured model"""

    session: str = ""
    offline: bool = False
    commit: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedRun:
    """The session of a run. settings: of its folder; unfinished: its last turn has no end

    notices: lines for the user about settings that are not as they may expect
    """

    runtime: Runtime
    settings: Settings
    notices: tuple[str, ...]
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
        _remove_stale_calls(home.cache / FOLDER)
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
        folder = Path(tempfile.mkdtemp(prefix="call-", dir=make_private_folder(self.home.cache / FOLDER)))
        try:
            request = SessionRequest(
                working=self.folder,
                offer_commit=False,
                version=VERSION,
                sessions=folder,
                tools=frozenset(tools),
                system=SYSTEM,
            )
            runtime = assemble_runtime(settings, request, self.home)
            try:
                _settle_approval(runtime, call)
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
        if order.offline:
            flags["model"] = "offline"
        state = self._preview_session(order.session) if order.session else None
        if state is not None and state.model:
            flags.setdefault("model", state.model)
        invocation = Invocation(
            folder=self.folder,
            flags=flags,
            session=order.session,
            commit=order.commit,
            offer_commit=order.commit,
            attended=True,
        )
        settings = load_invocation_settings(invocation, self.home)
        runtime = make_runtime(invocation, self.home, settings.session)
        gc.unfreeze()  # this process outlives the session, whose objects are to be collected when it is closed
        _settle_approval(runtime, call)
        is_unnamed = not settings.session.model and runtime.model.name == "offline"
        notices = (NO_MODEL if is_unnamed else "", runtime.workspace.sandbox.warning, *settings.notices)
        return OpenedRun(
            runtime=runtime,
            settings=settings,
            notices=tuple(filter(None, notices)),
            unfinished=state is not None and state.unfinished,
        )

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


def _settle_approval(runtime: Runtime, call: OpenCall) -> None:
    """Let the client's user be asked; where the client cannot ask, all that would be asked about is denied.

    "auto" becomes "never" then, which gives the same verdicts with advice; "ask" stays, so that no more is allowed.
    """
    if call.can_ask:
        runtime.loop.gateway.approver = ClientApprover(call)
    elif runtime.policy.approval is Approval.AUTO:
        runtime.policy.approval = Approval.NEVER


def _remove_stale_calls(folder: Path) -> None:
    """Remove what calls of killed servers left."""
    for each in folder.glob("call-*"):
        with suppress(OSError):  # another server was quicker
            if time.time() - each.stat().st_mtime > STALE_SECONDS:
                shutil.rmtree(each, ignore_errors=True)
