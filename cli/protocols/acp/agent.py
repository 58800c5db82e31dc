"""The agent of a connection: its requests, and the sessions that are open."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Any

from acp import PROTOCOL_VERSION, RequestError
from acp.connection import Connection
from acp.schema import (
    AgentCapabilities,
    AuthenticateRequest,
    CancelNotification,
    CloseSessionRequest,
    CloseSessionResponse,
    DeleteSessionRequest,
    DeleteSessionResponse,
    Implementation,
    InitializeResponse,
    ListSessionsRequest,
    LoadSessionRequest,
    LoadSessionResponse,
    McpCapabilities,
    NewSessionRequest,
    NewSessionResponse,
    PromptCapabilities,
    PromptRequest,
    ResumeSessionRequest,
    ResumeSessionResponse,
    SessionCapabilities,
    SessionCloseCapabilities,
    SessionDeleteCapabilities,
    SessionListCapabilities,
    SessionResumeCapabilities,
    SetSessionConfigOptionResponse,
    SetSessionConfigOptionSelectRequest,
    SetSessionModeRequest,
    SetSessionModeResponse,
)
from pydantic import BaseModel, ValidationError

from agent.app_dirs import Home
from cli.output.standard_streams import write_error
from cli.protocols.acp.client_servers import ClientServer
from cli.protocols.acp.content.live_updates import EditorInitializeRequest
from cli.protocols.acp.editor_client import EditorClient, dump_model
from cli.protocols.acp.request_errors import (
    convert_user_error,
    convert_validation_error,
    make_no_session_error,
    make_request_error,
)
from cli.protocols.acp.session import ClientSession
from cli.protocols.acp.session_opening import OpenOrder, open_runtime
from cli.protocols.acp.stdio_transport import StdioTransport
from cli.protocols.acp.stored_sessions import delete_session, list_sessions
from patchwright.version import VERSION
from sandbox.errors import UserError
from sandbox.sanitize import sanitize_text
from sandbox.secrets.child_environment import redact

MOST_SESSIONS = 64
"""Sessions of one connection that are open at once."""

FAREWELL_SECONDS = 20.0
"""Time in which sessions end when the connection does; what they did is in their logs in any case."""


class AcpAgent:
    """Serves one client. flags: options of the command line, for each session; commit: models may commit"""

    def __init__(
        self, transport: StdioTransport, home: Home, flags: Mapping[str, Any], *, commit: bool
    ) -> None:
        self._home = home
        self._flags = flags
        self._commit = commit
        self._transport = transport
        self._connection = Connection(self._handle, transport, listening=False)
        self._client = EditorClient(self._connection, transport)
        self._sessions: dict[str, ClientSession] = {}
        self._is_initialized = False
        self._opening = asyncio.Lock()

    async def serve(self) -> None:
        """Serve the client until it closes the connection; then end all sessions."""
        try:
            await self._connection.main_loop()
        finally:
            await self._end_sessions()
            await self._connection.close()

    async def _end_sessions(self) -> None:
        sessions, self._sessions = list(self._sessions.values()), {}
        ends = [asyncio.ensure_future(each.close()) for each in sessions]
        if ends:
            done, _ = await asyncio.wait(ends, timeout=FAREWELL_SECONDS)
            for each in done:
                if (error := each.exception()) is not None:
                    _report(f"a session did not end well: {type(error).__name__}: {error}")

    async def _handle(self, method: str, params: Any, is_notification: bool) -> Any:
        """Answer a message. Raises RequestError, and nothing else; never for a notification."""
        try:
            return await self._call(method, params, is_notification=is_notification)
        except RequestError as error:
            if not is_notification:
                raise
            _report(f"{sanitize_text(method[:100])}: {error}")
            return None

    async def _call(self, method: str, params: Any, *, is_notification: bool) -> Any:
        found = (_NOTIFICATIONS if is_notification else _REQUESTS).get(method)
        if found is None:
            if is_notification and method.startswith(("$/", "_")):
                return None  # optional by the protocol
            raise RequestError(-32601, f"there is no method {method[:100]!r}", {"method": method[:100]})
        model, handler = found
        if not self._is_initialized and model is not EditorInitializeRequest:
            raise RequestError(-32600, "the first request of a connection is initialize")
        try:
            request = model.model_validate(params if params is not None else {})
        except ValidationError as error:
            raise convert_validation_error(method, error) from None
        try:
            answer = await handler(self, request)
        except RequestError:
            raise
        except UserError as error:
            raise convert_user_error(error) from None
        except Exception as error:  # an internal error ends one request, not the connection
            words = redact(f"internal error: {type(error).__name__}: {error}")
            _report(f"{method}: {words}")
            raise make_request_error("internal", words) from None
        return dump_model(answer) if isinstance(answer, BaseModel) else {}

    async def _initialize(self, request: EditorInitializeRequest) -> InitializeResponse:
        self._is_initialized = True
        if request.client_capabilities is not None:
            self._client.capabilities = request.client_capabilities
        return InitializeResponse(
            protocol_version=PROTOCOL_VERSION,
            agent_info=Implementation(name="patchwright", title="Patchwright", version=VERSION),
            auth_methods=[],
            agent_capabilities=AgentCapabilities(
                load_session=True,
                prompt_capabilities=PromptCapabilities(image=True, audio=False, embedded_context=True),
                mcp_capabilities=McpCapabilities(http=True, sse=False),
                session_capabilities=SessionCapabilities(
                    list=SessionListCapabilities(),
                    delete=SessionDeleteCapabilities(),
                    resume=SessionResumeCapabilities(),
                    close=SessionCloseCapabilities(),
                ),
            ),
        )

    async def _authenticate(self, request: AuthenticateRequest) -> None:
        raise RequestError(
            -32602,
            f"there is no way to authenticate called {request.method_id[:60]!r}: keys of models are read from the"
            " environment (OPENAI_API_KEY, ANTHROPIC_API_KEY, …); `patchwright doctor` says which are found",
        )

    async def _new_session(self, request: NewSessionRequest) -> NewSessionResponse:
        session = await self._open(request.cwd, request.mcp_servers)
        self._announce_later(session)
        return NewSessionResponse(
            session_id=session.id,
            modes=session.modes.describe(),
            config_options=list(session.options.describe()),
        )

    async def _load_session(self, request: LoadSessionRequest) -> LoadSessionResponse:
        session = await self._reopen(request.session_id, request.cwd, request.mcp_servers)
        await session.replay()
        self._announce_later(session)
        return LoadSessionResponse(
            modes=session.modes.describe(), config_options=list(session.options.describe())
        )

    async def _resume_session(self, request: ResumeSessionRequest) -> ResumeSessionResponse:
        session = await self._reopen(request.session_id, request.cwd, request.mcp_servers or [])
        self._announce_later(session)
        return ResumeSessionResponse(
            modes=session.modes.describe(), config_options=list(session.options.describe())
        )

    async def _list_sessions(self, request: ListSessionsRequest) -> BaseModel:
        return await asyncio.to_thread(list_sessions, self._home, request.cwd, request.cursor)

    async def _delete_session(self, request: DeleteSessionRequest) -> DeleteSessionResponse:
        await self._release(request.session_id)
        await asyncio.to_thread(delete_session, self._home, request.session_id)
        return DeleteSessionResponse()

    async def _close_session(self, request: CloseSessionRequest) -> CloseSessionResponse:
        self._get_session(request.session_id)
        await self._release(request.session_id)
        return CloseSessionResponse()

    async def _prompt(self, request: PromptRequest) -> BaseModel:
        return await self._get_session(request.session_id).prompt(list(request.prompt))

    async def _cancel(self, request: CancelNotification) -> None:
        self._get_session(request.session_id).cancel()

    async def _set_mode(self, request: SetSessionModeRequest) -> SetSessionModeResponse:
        await self._get_session(request.session_id).set_mode(request.mode_id)
        return SetSessionModeResponse()

    async def _set_option(self, request: SetSessionConfigOptionSelectRequest) -> BaseModel:
        session = self._get_session(request.session_id)
        await session.set_option(request.config_id, request.value)
        return SetSessionConfigOptionResponse(config_options=list(session.options.describe()))

    async def _open(self, cwd: str, servers: list[ClientServer], session_id: str = "") -> ClientSession:
        async with self._opening:
            if len(self._sessions) >= MOST_SESSIONS:
                raise make_request_error(
                    "usage", f"{MOST_SESSIONS} sessions are open", "Close some: session/close."
                )
            order = OpenOrder(
                cwd=cwd, servers=servers, flags=self._flags, session=session_id, commit=self._commit
            )
            session = ClientSession(open_runtime(order, self._home), self._home, self._client)
            self._sessions[session.id] = session
            if session_id:
                await session.modes.restore()
            return session

    async def _reopen(self, session_id: str, cwd: str, servers: list[ClientServer]) -> ClientSession:
        """Return a session that is open, or open it."""
        if not session_id:
            raise make_no_session_error(session_id)
        known = self._sessions.get(session_id)
        if known is None:
            return await self._open(cwd, servers, session_id)
        if not Path(cwd).resolve().is_relative_to(known.runtime.workspace.root):
            raise make_no_session_error(session_id)
        return known

    async def _release(self, session_id: str) -> None:
        session = self._sessions.pop(session_id, None)
        if session is not None:
            await session.close()

    def _get_session(self, session_id: str) -> ClientSession:
        if (session := self._sessions.get(session_id)) is None:
            raise make_no_session_error(session_id)
        return session

    def _announce_later(self, session: ClientSession) -> None:
        """Send a session's commands behind the answer to the request that opened it."""
        asyncio.get_running_loop().call_later(0.01, session.announce)


Handler = Callable[[AcpAgent, Any], Awaitable[BaseModel | None]]

_REQUESTS: Mapping[str, tuple[type[BaseModel], Handler]] = {
    "initialize": (EditorInitializeRequest, AcpAgent._initialize),
    "authenticate": (AuthenticateRequest, AcpAgent._authenticate),
    "session/new": (NewSessionRequest, AcpAgent._new_session),
    "session/load": (LoadSessionRequest, AcpAgent._load_session),
    "session/resume": (ResumeSessionRequest, AcpAgent._resume_session),
    "session/list": (ListSessionsRequest, AcpAgent._list_sessions),
    "session/delete": (DeleteSessionRequest, AcpAgent._delete_session),
    "session/close": (CloseSessionRequest, AcpAgent._close_session),
    "session/prompt": (PromptRequest, AcpAgent._prompt),
    "session/set_mode": (SetSessionModeRequest, AcpAgent._set_mode),
    "session/set_config_option": (SetSessionConfigOptionSelectRequest, AcpAgent._set_option),
}
_NOTIFICATIONS: Mapping[str, tuple[type[BaseModel], Handler]] = {
    "session/cancel": (CancelNotification, AcpAgent._cancel),
}
"""The parameters and the handler of each method."""


def _report(problem: str) -> None:
    write_error(f"patchwright: acp: {sanitize_text(problem)}\n")
