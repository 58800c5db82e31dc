"""`patchwright mcp`: name MCP servers, try them, sign in to those behind an address; and be one for other agents."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from cli.commands.mcp import serve
from cli.commands.options import Folder, Sandbox, collect_flags


class ListOutput(StrEnum):
    """Formats of a list."""

    text = "text"
    json = "json"


def add(app: typer.Typer) -> None:
    """Add the group of commands to the program's."""
    app.add_typer(mcp_app, name="mcp")
    mcp_app.callback(invoke_without_command=True)(mcp)
    mcp_app.command("add")(add_)
    mcp_app.command("list")(list_)
    mcp_app.command()(remove)
    mcp_app.command()(login)
    mcp_app.command()(logout)
    mcp_app.command("test")(try_)
    serve.add_to(mcp_app)


mcp_app = typer.Typer(rich_markup_mode=None, help="Servers of the Model Context Protocol.")

Name = Annotated[str, typer.Argument(metavar="NAME", help="The server's name in the settings.")]
OutputOption = Annotated[ListOutput, typer.Option("--output", "-o", help="Format of standard output.")]
Project = Annotated[bool, typer.Option("--project", help="In the project's patchwright.toml, not in yours.")]


def mcp(context: typer.Context, folder: Folder = Path("."), output: OutputOption = ListOutput.text) -> None:
    """Servers of the Model Context Protocol."""
    if context.invoked_subcommand is None:
        list_(folder, output)


def add_(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name of your choice.")],
    place: Annotated[
        list[str], typer.Argument(metavar="URL | -- COMMAND…", help="Its address, or the program to start.")
    ],
    env: Annotated[
        list[str] | None,
        typer.Option(
            "--env", metavar="KEY[=VALUE]", help="A variable of the program; without a value: your own."
        ),
    ] = None,
    header: Annotated[
        list[str] | None,
        typer.Option("--header", metavar="'NAME: VALUE'", help="A header; $KEY in it is your variable."),
    ] = None,
    project: Project = False,
    folder: Folder = Path("."),
) -> None:
    """Name a server in your settings; comments in them stay."""
    from cli.commands.mcp.server_entries import add_server

    raise typer.Exit(add_server(folder, name, place, env or [], header or [], in_project=project))


def list_(folder: Folder = Path("."), output: OutputOption = ListOutput.text) -> None:
    """List the servers, and to which you are signed in."""
    from cli.commands.mcp.server_entries import list_servers

    raise typer.Exit(list_servers(folder, as_json=output is ListOutput.json))


def remove(name: Name, project: Project = False, folder: Folder = Path(".")) -> None:
    """Remove a server from the settings, and its sign-in."""
    from cli.commands.mcp.server_entries import remove_server

    raise typer.Exit(remove_server(folder, name, in_project=project))


def login(
    name: Name,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address, and open no browser.")
    ] = False,
    client_id: Annotated[
        str,
        typer.Option("--client-id", metavar="ID", help="A client registered by hand, or its document's URL."),
    ] = "",
    client_secret: Annotated[
        str,
        typer.Option("--client-secret", metavar="KEY", help="The variable that holds that client's secret."),
    ] = "",
    seconds: Annotated[
        float, typer.Option("--time", metavar="SECONDS", min=1, help="Time limit for you to sign in.")
    ] = 300,
    folder: Folder = Path("."),
) -> None:
    """Sign in to a server behind an address, in the browser (OAuth 2.1).

    The tokens are kept in the desktop's keyring, or in a file that only you can read, and sent to this address alone.
    """
    from cli.commands.mcp.server_sign_in import ClientOptions, sign_in_to_server

    client = ClientOptions(identity=client_id, secret_variable=client_secret)
    raise typer.Exit(sign_in_to_server(folder, name, client, opens_browser=not no_browser, seconds=seconds))


def logout(name: Name) -> None:
    """Remove the tokens of a server, and revoke them."""
    from cli.commands.mcp.server_sign_in import sign_out_of_server

    raise typer.Exit(sign_out_of_server(name))


def try_(
    name: Name,
    folder: Folder = Path("."),
    sandbox: Sandbox = None,
    output: OutputOption = ListOutput.text,
) -> None:
    """Start or reach a server as a session does.

    Says what it is and offers, in how many seconds. Exit 0 if it works.
    """
    from cli.commands.mcp.server_trial import try_server

    flags = collect_flags(sandbox=sandbox)
    raise typer.Exit(try_server(folder, name, flags, as_json=output is ListOutput.json))
