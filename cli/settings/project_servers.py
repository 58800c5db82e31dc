"""The MCP servers of a project's `.mcp.json`, which other agents share: used once the user trusts them."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import field
from itertools import pairwise
from pathlib import Path, PurePath
from typing import Any

from agent.app_dirs import Home
from agent.extension.project_trust import describe_untrusted, is_trusted
from cli.settings.foreign_servers import list_unused_fields, read_foreign_server
from cli.settings.settings_files import SERVER_FILE
from sandbox.errors import UserError
from sandbox.fs.regular_file import SETTINGS
from sandbox.fs.untrusted_file import read_workspace_file
from sandbox.lazy_dataclass import dataclass
from sandbox.policy.trust import Definition


@dataclass(frozen=True, slots=True)
class ProjectServers:
    """values: of the setting `mcp`; notices: what of the file is not used, and why, a line each"""

    values: Mapping[str, Any] = field(default_factory=dict)
    notices: tuple[str, ...] = ()


def load_project_servers(home: Home, root: Path) -> ProjectServers:
    """Return the servers of the project at `root`, none that the user does not trust as they are."""
    notices: list[str] = []
    found = _read_servers(root, notices)
    if not found:
        return ProjectServers({}, tuple(notices))
    if not is_trusted(home, root, SERVER_FILE, _list_definitions(found)):
        return ProjectServers({}, (describe_untrusted(len(found), "MCP server", root),))
    return ProjectServers(found, tuple(notices))


def find_servers_to_trust(root: Path) -> tuple[Definition, ...]:
    """Return the servers of the project's file that need the user's trust."""
    return _list_definitions(_read_servers(root, []))


def _read_servers(root: Path, notices: list[str]) -> dict[str, Any]:
    try:
        content = read_workspace_file(root, SERVER_FILE, SETTINGS)
        table = json.loads(content) if content is not None else {}
    except (UserError, ValueError, RecursionError) as error:
        notices.append(f"{SERVER_FILE} is not used: {error}")
        return {}
    servers = table.get("mcpServers") if isinstance(table, dict) else None
    found: dict[str, Any] = {}
    for name, entry in servers.items() if isinstance(servers, dict) else ():
        try:
            if not name.isascii() or not name.replace("-", "").replace("_", "").isalnum():
                raise ValueError("its name has other characters than letters, digits, - and _")
            setting = read_foreign_server(entry if isinstance(entry, dict) else {})
            command = setting if isinstance(setting, str) else setting.get("command")
            if command and _is_ours(command):
                raise ValueError("it is Patchwright itself, for other agents")
            found[name] = setting
            if unused := list_unused_fields(entry):
                notices.append(f"{SERVER_FILE}: of the MCP server {name!r} is not used: {', '.join(unused)}")
        except ValueError as error:
            notices.append(f"{SERVER_FILE}: the MCP server {name!r} is not used: {error}")
    return found


def _is_ours(command: str) -> bool:
    """Return whether a command line is `patchwright mcp serve`, also as a module of an interpreter or by `uvx`."""
    words = shlex.split(command)
    names = [PurePath(word).name for word in words]
    served = next((at for at, pair in enumerate(pairwise(words)) if pair == ("mcp", "serve")), None)
    return served is not None and "patchwright" in names[:served]


def _list_definitions(found: Mapping[str, Any]) -> tuple[Definition, ...]:
    import hashlib

    definitions = []
    for name, setting in sorted(found.items()):
        text = json.dumps(setting, sort_keys=True, ensure_ascii=False)
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        definitions.append(Definition(kind="setting", name=f"{SERVER_FILE} {name}", runs=text, digest=digest))
    return tuple(definitions)
