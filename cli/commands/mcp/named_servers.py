"""MCP servers by name: those of the user's settings, and of the project's where the user trusts it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from agent.app_dirs import Home
from agent.session_settings import SessionSettings
from cli.settings.environment import build_variable_name
from cli.settings.layers import load_settings
from cli.settings.settings_files import FILE, PROJECT_FILE, SERVER_FILE, locate_setting, read_settings_file
from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass
from tools.mcp.server_settings import McpServerSettings, normalize_server


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedServer:
    """One server. source: the file, and the line in it, that names it"""

    name: str
    settings: McpServerSettings
    source: str

    @property
    def transport(self) -> str:
        return "http" if self.settings.url else "stdio"


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedServers:
    """All servers here, and the settings of a session.

    left: why the project's are not among them, or not all; "" if they are
    """

    servers: tuple[NamedServer, ...]
    session: SessionSettings
    left: str = ""

    def require_server(self, name: str) -> NamedServer:
        """Return the server of a name. Raises UserError without one."""
        for each in self.servers:
            if each.name == name:
                return each
        names = ", ".join(each.name for each in self.servers) or "none"
        hint = f"Servers: {names}. To name one: patchwright mcp add {name} …"
        raise UserError(Fault.CONFIGURATION, f"no MCP server {name!r}", self.left or hint)


def find_servers(home: Home, root: Path, flags: Mapping[str, object] = {}) -> NamedServers:
    """Return the servers that a session at `root` would use. Raises UserError for invalid settings."""
    try:
        settings = load_settings(home, root, flags)
        places = [root / PROJECT_FILE, home.config / FILE]
        left = "; ".join(each for each in settings.notices if "MCP server" in each or SERVER_FILE in each)
    except UserError as error:
        settings = load_settings(home, None, flags)  # raises again if it is the user's own
        places, left = [home.config / FILE], error.message
    found = []
    for name, setting in settings.session.tools.mcp.items():
        source = _find_source(places, root, name)
        found.append(NamedServer(name=name, settings=normalize_server(setting), source=source))
    return NamedServers(servers=tuple(found), session=settings.session, left=left)


def _find_source(places: Sequence[Path], root: Path, name: str) -> str:
    """Return the first of the files that names a server, else the one that a project shares, or the environment."""
    for file in places:
        if name in read_settings_file(file).get("mcp", {}):
            return locate_setting(file, f"mcp.{name}")
    shared = root / SERVER_FILE
    return f"{str(shared)!r}" if shared.is_file() else build_variable_name("mcp")
