"""`patchwright acp`: editors and other programs drive sessions by the Agent Client Protocol, on standard streams."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from cli.commands.options import Flags, Folder, NoCommit, takes_flags

THREADS = 64
"""Threads for files and snapshots: sessions that wait for a lock must not keep others from releasing it."""


def add(app: typer.Typer) -> None:
    """Add the command to the program's."""
    app.command()(acp)


@takes_flags
def acp(
    *,
    folder: Folder = Path("."),
    flags: Annotated[Flags, "model api_base mode sandbox test_command"],
    no_commit: NoCommit = False,
    limits: Annotated[Flags, "actions max_steps max_cost max_time max_tokens"],
) -> None:
    """Serve an editor by the Agent Client Protocol (ACP).

    Messages come and go on standard input and output. The editor names the folder of each session;
    -C is only where the program starts.
    """
    raise typer.Exit(serve_client(folder, {**flags, **limits}, commit=not no_commit))


def serve_client(folder: Path, flags: Mapping[str, Any], *, commit: bool) -> int:
    """Serve the client on the standard streams until it closes its side. Returns the exit code."""
    import asyncio
    import os
    import signal

    from agent.workspace_root import resolve_folder
    from cli.commands.run.final_event import list_end_signals
    from cli.protocols.one_line_log import log_on_one_line
    from sandbox.process.bounded_end import run_loop

    os.chdir(resolve_folder(folder))
    # Only messages go to the client: what any part of the program prints goes to standard error.
    output = os.dup(1)
    os.dup2(2, 1)
    log_on_one_line("acp")

    async def serve() -> None:
        from agent.app_dirs import Home
        from cli.protocols.acp.agent import AcpAgent
        from cli.protocols.acp.stdio_transport import StdioTransport

        agent = AcpAgent(StdioTransport(0, output), Home.from_environment(), flags, commit=commit)
        task = asyncio.current_task()
        assert task is not None
        for number in (*list_end_signals(), signal.SIGINT):
            asyncio.get_running_loop().add_signal_handler(number, task.cancel)
        await agent.serve()

    try:
        run_loop(serve(), threads=THREADS)
    except asyncio.CancelledError:
        return 128 + int(signal.SIGINT)
    return 0
