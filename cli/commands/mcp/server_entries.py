"""Entries of MCP servers in settings files: add, list and remove them."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from agent.app_dirs import Home
from agent.exit_codes import Exit
from agent.workspace_root import find_workspace_root
from cli.commands.mcp.named_servers import NamedServer, find_servers
from cli.output.standard_streams import print_json
from cli.settings.setting_sources import (
    store_project_setting,
    store_setting,
    unset_project_setting,
    unset_setting,
)
from sandbox.errors import Fault, UserError
from sandbox.lazy_pattern import compile_lazily
from sandbox.sanitize import sanitize_text
from tools.mcp.oauth.token_store import TokenStore

_VARIABLE = compile_lazily(r"[A-Za-z_][A-Za-z0-9_]*")


def add_server(
    folder: Path,
    name: str,
    place: Sequence[str],
    variables: Sequence[str],
    headers: Sequence[str],
    *,
    in_project: bool,
) -> int:
    """Write the entry of a server. Returns the exit code. Raises UserError; the file is unchanged then."""
    home, (root, _) = Home.from_environment(), find_workspace_root(folder, need_git=False)
    if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", name):
        raise UserError(Fault.USAGE, f"{name!r} is no name of a server: letters, digits, - and _ only")
    text = _format_entry(place, variables, headers)
    key = f"mcp.{name}"
    file = store_project_setting(root, key, text) if in_project else store_setting(home, key, text)
    print(sanitize_text(f"{name} is named in {file}; new sessions use it"))
    if in_project:
        print(f"It counts for those who trust the project: patchwright trust -C {shlex.quote(str(root))}")
    elif _is_address(place):
        print(f"If it asks for a sign-in: patchwright mcp login {name}")
    return int(Exit.DONE)


def list_servers(folder: Path, *, as_json: bool) -> int:
    """Print the servers. Returns the exit code. Raises UserError for invalid settings."""
    home, (root, _) = Home.from_environment(), find_workspace_root(folder, need_git=False)
    found = find_servers(home, root)
    rows = [_describe_server(home, each) for each in found.servers]
    if as_json:
        print_json(rows)
    else:
        _print_rows(rows)
        if not rows:
            print("no MCP servers; patchwright mcp add names one", file=sys.stderr)
    if found.left:
        print(sanitize_text(f"not used: {found.left}"), file=sys.stderr)
    return int(Exit.DONE)


def remove_server(folder: Path, name: str, *, in_project: bool) -> int:
    """Remove the entry of a server and its tokens. Returns the exit code. Raises UserError if there is none."""
    home, (root, _) = Home.from_environment(), find_workspace_root(folder, need_git=False)
    key = f"mcp.{name}"
    file = unset_project_setting(root, key) if in_project else unset_setting(home, key)
    TokenStore(home.sign_ins).delete(name)
    print(sanitize_text(f"{name} is no longer named in {file}"))
    return int(Exit.DONE)


def _is_address(place: Sequence[str]) -> bool:
    return len(place) == 1 and place[0].startswith(("http://", "https://"))


def _format_entry(place: Sequence[str], variables: Sequence[str], headers: Sequence[str]) -> str:
    """Return the TOML value of an entry. Raises UserError."""
    import json

    def quote(text: str) -> str:
        return json.dumps(text, ensure_ascii=False)

    if not _is_address(place):
        if headers:
            raise UserError(
                Fault.USAGE, "a program has no headers: pass what it needs by --env", "--header is for a URL."
            )
        return quote(" ".join([*map(_format_variable, variables), shlex.join(place)]))
    if variables:
        raise UserError(
            Fault.USAGE, "a server behind an address gets no variables", "Send it a header: --header."
        )
    if not headers:
        return quote(place[0])
    pairs = [_split_header(each) for each in headers]
    table = ", ".join(f"{quote(name)} = {quote(value)}" for name, value in pairs)
    return f"{{url = {quote(place[0])}, headers = {{{table}}}}}"


def _format_variable(text: str) -> str:
    """Return KEY=VALUE as in a command line; KEY alone passes the user's own variable on."""
    key, equals, value = text.partition("=")
    if not _VARIABLE.fullmatch(key):
        raise UserError(Fault.USAGE, f"--env {text!r} begins with no name of a variable", "--env KEY=VALUE")
    return f"{key}={shlex.quote(value)}" if equals else f"{key}=${key}"


def _split_header(text: str) -> tuple[str, str]:
    name, colon, value = text.partition(":")
    if not colon or not name.strip() or not value.strip():
        raise UserError(
            Fault.USAGE, f"--header {text!r} is no header", "--header 'Authorization: Bearer $TICKETS_KEY'"
        )
    if "$" not in value and re.search(r"(?i)authorization|cookie|key|token|secret", name):
        print(
            sanitize_text(
                f"The value of {name} is now in the settings. To keep it out of them, put it into a variable and "
                f"write that one's name, in single quotes: --header '{name}: $KEY'"
            ),
            file=sys.stderr,
        )
    return name.strip(), value.strip()


def _describe_server(home: Home, server: NamedServer) -> dict[str, Any]:
    settings = server.settings
    signed_in = bool(settings.url) and TokenStore(home.sign_ins).read(server.name, settings.url) is not None
    return {
        "name": server.name,
        "transport": server.transport,
        "place": settings.url or settings.command,
        "source": server.source,
        "signed_in": signed_in,
    }


def _print_rows(rows: Sequence[dict[str, Any]]) -> None:
    from cli.output.tables import Column, print_table

    cells = [
        tuple(
            sanitize_text(text).replace("\n", " ")
            for text in (
                each["name"],
                each["transport"],
                "signed in" if each["signed_in"] else "",
                each["place"],
                each["source"],
            )
        )
        for each in rows
    ]
    columns = [
        Column(title="server", style=lambda text: "bold"),
        Column(title="transport"),
        Column(title="sign-in", style=lambda text: "green"),
        Column(title="program or address", wraps=True),
        Column(title="named in", wraps=True),
    ]
    print_table(columns, cells, ["  ".join(filter(None, row)) for row in cells])
