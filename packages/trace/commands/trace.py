"""`patchwright trace`: a session as one web page, written to a file, opened, or served while it runs."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from cli.commands.options import Folder
from packages.trace.session_folder import find_session_folder
from sandbox.errors import Fault, UserError
from sandbox.sanitize import quote_name, sanitize_text


def add(app: typer.Typer) -> None:
    """Add the command to the program's."""
    app.command()(trace)


def trace(
    session: Annotated[
        str, typer.Argument(metavar="[ID]", help="The session; the newest of this project if not given.")
    ] = "",
    folder: Folder = Path("."),
    out: Annotated[
        str, typer.Option("--out", metavar="FILE", help="A new file; trace-ID.html here if not given.")
    ] = "",
    show: Annotated[bool, typer.Option("--open", help="Open it in the browser.")] = False,
    serve: Annotated[
        bool, typer.Option("--serve", help="Serve it on this machine, and follow a session that runs.")
    ] = False,
    port: Annotated[
        int, typer.Option("--port", min=0, max=65_535, help="Port of --serve; 0 for any free one.")
    ] = 0,
) -> None:
    """Show what happened in a session as one web page.

    Steps with time, tokens and cost, what the window held, calls with results and changes, tests, agents, attempts. The
    page needs no network and may hold all that the session saw: look at it before you give it away.
    """
    if serve and out:
        raise typer.BadParameter("--serve writes no file: give it without --out")
    found = find_session_folder(folder, session)
    raise typer.Exit(serve_page(found, port, show=show) if serve else write_page(found, out, show=show))


def write_page(folder: Path, out: str, *, show: bool) -> int:
    """Write the page of a session to a new file, for its user alone, and name it. Raises UserError."""
    from packages.trace.page.page import render_page
    from packages.trace.page.page_file import write_new_page
    from packages.trace.rows.traced_sessions import read_traces

    path = Path(out or f"trace-{folder.name}.html")
    write_new_page(path, render_page(read_traces(folder)), "Name a new file: patchwright trace --out FILE")
    print(quote_name(str(path)))
    if show:
        _open_browser(path.resolve().as_uri())
    return 0


def serve_page(folder: Path, port: int, *, show: bool) -> int:
    """Serve the page until the person stops it. Raises UserError if the port is taken."""
    from secrets import token_urlsafe

    from packages.trace.page.page_server import TracedSession, open_server

    token = token_urlsafe(32)
    try:
        server = open_server(TracedSession(folder), token, port)
    except OSError as error:
        raise UserError(
            Fault.USAGE,
            f"cannot listen at port {port}: {error.strerror}",
            "Choose another one, or 0 for any.",
        ) from None
    address = f"http://127.0.0.1:{server.server_port}/?token={token}"
    print(address, flush=True)
    print(sanitize_text(f"session {folder.name}; Ctrl-C ends it"), file=sys.stderr)
    if show:
        _open_browser(address)
    try:
        server.serve_forever()
    except KeyboardInterrupt:
        return 0
    finally:
        server.server_close()
    return 0


def _open_browser(address: str) -> None:
    import webbrowser

    try:
        webbrowser.open(address)
    except webbrowser.Error:  # the address was printed
        return
