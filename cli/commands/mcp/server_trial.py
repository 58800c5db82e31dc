"""`patchwright mcp test`: one server, started or reached as a session would, and what it offers."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from agent.app_dirs import Home, make_private_folder
from agent.exit_codes import Exit
from agent.session_settings import SessionSettings
from agent.workspace_root import find_workspace_root
from cli.commands.mcp.named_servers import NamedServer, find_servers
from cli.output.standard_streams import print_json
from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass
from sandbox.process.bounded_end import run_loop
from sandbox.sanitize import sanitize_text

if TYPE_CHECKING:
    from tools.core.workspace import Workspace


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """Result of a start. server, version: as it says; sandbox: "" for a server behind an address

    rights: what it may do beyond reading the workspace
    reason: why it does not work, "" if it does
    """

    name: str
    transport: str
    sandbox: str = ""
    server: str = ""
    version: str = ""
    revision: str = ""
    tools: int = 0
    resources: int = 0
    prompts: int = 0
    seconds: float = 0.0
    rights: str = ""
    reason: str = ""


def try_server(folder: Path, name: str, flags: Mapping[str, object], *, as_json: bool) -> int:
    """Try a server, and print the result. Returns the exit code. Raises UserError if it does not work."""
    home, (root, _) = Home.from_environment(), find_workspace_root(folder, need_git=False)
    found = find_servers(home, root, flags)
    trial = _run_trial(home, root, found.session, found.require_server(name))
    # The reason names the command where the server, or the one that gives its tokens, wants a sign-in.
    needs_sign_in = f"patchwright mcp login {name}" in trial.reason
    if as_json:
        print_json(asdict(trial))
        return int(
            Exit.CREDENTIALS if needs_sign_in else Exit.MODEL_UNREACHABLE if trial.reason else Exit.DONE
        )
    if trial.reason:
        fault = Fault.CREDENTIALS if needs_sign_in else Fault.MODEL_UNREACHABLE
        raise UserError(fault, f"the MCP server {name!r} does not work: {trial.reason}")
    print(sanitize_text(_format_trial(trial)))
    return int(Exit.DONE)


def _run_trial(home: Home, root: Path, session: SessionSettings, server: NamedServer) -> Trial:
    with tempfile.TemporaryDirectory(dir=make_private_folder(home.cache / "work"), prefix="mcp-") as scratch:
        workspace = _create_workspace(home, root, session, Path(scratch))
        if not server.settings.url and workspace.sandbox.name == "container":
            raise UserError(
                Fault.CONFIGURATION,
                f"the MCP server {server.name!r} is a program, and none can be started in a container",
                "Try it with another sandbox: --sandbox auto",
            )
        return run_loop(_start_once(home, workspace, server))


def _create_workspace(home: Home, root: Path, session: SessionSettings, scratch: Path) -> Workspace:
    """Return a workspace with the sandbox of a session, which leaves nothing behind."""
    from sandbox.backends.deny_read import apply_read_denials
    from sandbox.backends.selection import choose_sandbox
    from sandbox.fs.workspace_tree import Tree
    from sandbox.policy.decision import Mode
    from sandbox.view.visible_paths import resolve_visible_paths
    from tools.core.artifacts import Artifacts
    from tools.core.tool_folders import ToolFolders
    from tools.core.workspace import Workspace

    access = session.access
    sandbox = choose_sandbox(
        root,
        access.sandbox,
        cache=home.cache,
        spill=scratch,
        hidden=(home.data, home.config),
        network=access.mode is Mode.FULL,
        image=access.container_image,
        hosts=access.network if access.mode is Mode.WORKSPACE else (),
        visible=resolve_visible_paths(access.visible_paths),
    )
    return Workspace(
        root=root,
        files=Tree(root, access.rules.denies_reading),
        sandbox=apply_read_denials(sandbox, root, access.rules),
        artifacts=Artifacts(scratch / "artifacts"),
        settings=session.tools,
        folders=ToolFolders(cache=scratch, kept=home.get_project_folder(root) / "servers"),
        rules=access.rules,
        journal=scratch / "journal",
        mode=access.mode,
    )


async def _start_once(home: Home, workspace: Workspace, named: NamedServer) -> Trial:
    from tools.mcp.server_tools import McpServers
    from tools.shell.server_pipes import ServerGone

    server = McpServers(workspace, {named.name: named.settings}, sign_ins=home.sign_ins).get(named.name)
    assert server is not None
    started, sandbox = time.monotonic(), "" if named.settings.url else workspace.sandbox.name
    try:
        await server.start()
        identity = server.identity
        return Trial(
            name=named.name,
            transport=named.transport,
            sandbox=sandbox,
            server=identity.name if identity else "",
            version=identity.version if identity else "",
            revision=identity.revision if identity else "",
            tools=len(server.tools),
            resources=len(server.resources),
            prompts=len(server.prompts),
            seconds=round(time.monotonic() - started, 3),
            rights=server.rights,
        )
    except ServerGone as gone:
        return Trial(name=named.name, transport=named.transport, sandbox=sandbox, reason=str(gone))
    finally:
        await server.close()


def _format_trial(trial: Trial) -> str:
    from tools.core.text import format_count

    about = " ".join(filter(None, (trial.server, trial.version))) or "a server without a name"
    place = f"in the sandbox {trial.sandbox}" if trial.sandbox else "behind its address"
    offers = [
        format_count(number, noun)
        for number, noun in ((trial.tools, "tool"), (trial.resources, "resource"), (trial.prompts, "prompt"))
    ]
    return (
        f"{trial.name} works: {about.replace(chr(10), ' ')}, {place}, revision {trial.revision}\n"
        f"{', '.join(offers)}; {trial.seconds:.2f} s" + (f"; {trial.rights}" if trial.rights else "")
    )
