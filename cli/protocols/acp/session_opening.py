"""Opening of a session for a client: settings of its folder, the client's MCP servers, the session's own model."""

from __future__ import annotations

import gc
import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from agent.app_dirs import Home
from agent.session.session_preview import NO_SUCH, preview_session
from agent.turn.runtime import Runtime
from agent.workspace_root import find_workspace_root
from cli.invocation import NO_MODEL, Invocation, load_invocation_settings, make_runtime
from cli.output.notices import read_resume_notice
from cli.protocols.acp.client_servers import ClientServer, read_client_servers
from cli.protocols.acp.request_errors import make_no_session_error
from cli.settings.settings_types import Settings
from sandbox.errors import Fault, UserError
from sandbox.fs.installation import build_exposure_warning
from sandbox.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenOrder:
    """What a client asks for. session: id of the one to open, "" for a new one; flags: of the command line"""

    cwd: str
    servers: Sequence[ClientServer]
    flags: Mapping[str, Any]
    session: str = ""
    commit: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenedRuntime:
    """An open session. notices: lines for the user about what is not as they may expect"""

    runtime: Runtime
    settings: Settings
    notices: tuple[str, ...]


def open_runtime(order: OpenOrder, home: Home) -> OpenedRuntime:
    """Open or create a session. Raises UserError, or RequestError where there is no such session."""
    folder = Path(order.cwd)
    if not folder.is_absolute():
        raise UserError(Fault.USAGE, f"cwd is not absolute: {order.cwd[:200]!r}", "Send the whole path.")
    root, is_git = find_workspace_root(folder, need_git=False)
    flags = dict(order.flags)
    if order.session:
        flags = {**_read_model(home, root, order.session), **flags}
    invocation = Invocation(
        folder=folder,
        flags=flags,
        session=order.session,
        offer_commit=order.commit and is_git,
        commit=False,
        attended=True,
    )
    settings = load_invocation_settings(invocation, home)
    served = read_client_servers(order.servers, settings.session.tools.mcp)
    runtime = make_runtime(replace(invocation, servers=served.servers), home, settings.session)
    gc.unfreeze()  # this process outlives the session, whose objects are to be collected when it is closed
    is_unnamed = not settings.session.model and runtime.model.name == "offline"
    notices = (
        NO_MODEL if is_unnamed else "",
        runtime.workspace.sandbox.warning,
        build_exposure_warning(root),
        read_resume_notice(runtime),
        *settings.notices,
        *served.notices,
    )
    return OpenedRuntime(runtime=runtime, settings=settings, notices=tuple(filter(None, notices)))


def _read_model(home: Home, root: Path, session: str) -> dict[str, str]:
    """Return the model of a session as a flag. Raises RequestError if there is no such session."""
    if os.sep in session or session in ("", ".", ".."):
        raise make_no_session_error(session)
    try:
        state = preview_session(home.get_project_folder(root) / "sessions" / session)
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno not in NO_SUCH:
            raise
        raise make_no_session_error(session) from None
    return {"model": state.model} if state.model else {}
