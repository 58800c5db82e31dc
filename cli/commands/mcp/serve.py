"""`patchwright mcp serve`: other agents use the code map, the offline engine and whole runs, by the MCP."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cli.commands.options import Flags, Folder, NoCommit, takes_flags

if TYPE_CHECKING:
    from cli.protocols.mcp_server.served_repository import ServedRepository

THREADS = 64
"""Threads for files, the index and snapshots: calls that wait for a lock must not keep others from releasing it."""


def add_to(group: typer.Typer) -> None:
    """Add the command to the group."""
    group.command()(serve)


@takes_flags
def serve(
    *,
    folder: Folder = Path("."),
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Offer only tools that read and run nothing.")
    ] = False,
    http: Annotated[
        bool, typer.Option("--http", help="Serve HTTP at 127.0.0.1, not standard input and output.")
    ] = False,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65535, help="Port for --http; 0 for a free one.")
    ] = 0,
    token_file: Annotated[
        Path | None,
        typer.Option("--token-file", metavar="FILE", help="The token for --http; made if it does not exist."),
    ] = None,
    flags: Annotated[Flags, "model api_base sandbox test_command"],
    no_commit: NoCommit = False,
    limits: Annotated[Flags, "actions max_steps max_cost max_time max_tokens"],
) -> None:
    """Serve this repository's tools to other agents by the Model Context Protocol (MCP).

    Its code map, tests, offline repair, patches, reviews, and whole runs with approvals.
    """
    if not http and (port or token_file is not None):
        raise typer.BadParameter("--port and --token-file need --http")
    raise typer.Exit(
        serve_repository(
            folder,
            {**flags, **limits},
            reads_only=read_only,
            commit=not no_commit,
            port=port if http else None,
            file=token_file,
        )
    )


def serve_repository(
    folder: Path,
    flags: Mapping[str, Any],
    *,
    reads_only: bool,
    commit: bool,
    port: int | None = None,
    file: Path | None = None,
) -> int:
    """Serve clients until the input ends, or a signal. Returns the exit code. Raises UserError.

    port: for HTTP, None for the standard streams; file: of the token
    """
    import asyncio
    import os
    import signal

    from agent.app_dirs import Home
    from cli.protocols.one_line_log import log_on_one_line

    # Only messages go to the client: what any part of the program prints goes to standard error.
    output = os.dup(1)
    os.dup2(2, 1)
    log_on_one_line("mcp")

    from cli.protocols.mcp_server.served_repository import ServedRepository
    from sandbox.process.bounded_end import run_loop

    repository = ServedRepository(
        folder, Home.from_environment(), flags, reads_only=reads_only, may_commit=commit
    )
    try:
        if port is None:
            run_loop(_serve_streams(repository, output), threads=THREADS)
        else:
            run_loop(_serve_http(repository, port, file), threads=THREADS)
    except asyncio.CancelledError:
        return 128 + int(signal.SIGINT)
    return 0


async def _serve_streams(repository: ServedRepository, output: int) -> None:
    import asyncio

    from cli.protocols.mcp_server.server import RepositoryServer
    from cli.protocols.mcp_server.stdio_serving import serve_stdio

    task = asyncio.current_task()
    assert task is not None
    _handle_signals(task.cancel)
    await serve_stdio(RepositoryServer(repository), 0, output)


async def _serve_http(repository: ServedRepository, port: int, file: Path | None) -> None:
    from cli.output.standard_streams import write_error
    from cli.protocols.mcp_server.http_serving import PATH, bind_loopback, serve_http
    from cli.protocols.mcp_server.server import RepositoryServer
    from cli.protocols.mcp_server.token_file import make_token, read_token

    token = read_token(file) if file is not None else make_token()
    listener = bind_loopback(port)
    write_error(f"patchwright: mcp: http://127.0.0.1:{listener.getsockname()[1]}{PATH}\n")
    if file is None:
        write_error(f"patchwright: mcp: token {token}\n")
    await serve_http(RepositoryServer(repository), listener, token, _handle_signals)


def _handle_signals(stop: Any) -> None:
    """Call `stop` on every signal that ends a command."""
    import asyncio
    import signal

    from cli.commands.run.final_event import list_end_signals

    for number in (*list_end_signals(), signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(number, stop)
