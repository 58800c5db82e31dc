"""MCP servers of a plugin: their definitions, and the places where a session finds them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from agent.app_dirs import Home
from agent.extension.plugins.plugin_manifest import SCHEMA
from agent.extension.plugins.plugin_store import Plugin, build_variables, create_state_folder, list_plugins
from sandbox.errors import UserError
from sandbox.fs.regular_file import SETTINGS, read_regular_file
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from sandbox.process.command_line import VARIABLE, CommandLine, fill_in_variables
from tools.mcp.server_place import ServerPlace, make_http_place
from tools.mcp.server_settings import McpServerSettings, check_server, check_url

NEUTRAL_FILE = "mcp.json"

_NEUTRAL_SCHEMA = SCHEMA.replace("plugin.schema", "mcp.schema")
_RESERVED = ("PLUGIN_ROOT", "PLUGIN_DATA")
_HTTP_FIELDS = {"type", "url", "headers"}
_STDIO_FIELDS = {"type", "command", "args", "env", "cwd"}
_NAME = compile_lazily(r"[\w.-]{1,64}")
_OWN_PLACES = compile_lazily(r"\$\{(?:CLAUDE_)?PLUGIN_(ROOT|DATA)\}|\$\{CLAUDE_(PROJECT)_DIR\}")


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginServer:
    """A server, as its file writes it: started by `command`, or behind `url`.

    is_neutral: by the rules of Agent Plugins, in which nothing but two placeholders is expanded
    """

    name: str
    command: str = ""
    url: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()
    environment: Mapping[str, str] = field(default_factory=dict)
    folder: str = ""
    is_neutral: bool = False

    @property
    def variables(self) -> list[str]:
        """The user's variables whose values it gets."""
        if self.is_neutral:
            return []
        places = (self.command, *self.arguments, self.url)
        values = (*self.environment.values(), *self.headers.values(), *places)
        found = [each[1] for value in values for each in VARIABLE.finditer(value)]
        return [each for each in dict.fromkeys(found) if not _OWN_PLACES.fullmatch(f"${{{each}}}")]


def read_servers(plugin: Plugin, left: list[str]) -> list[PluginServer]:
    """Return the servers of a plugin. left: receives unused servers with the reason, a line each"""
    found: dict[str, PluginServer] = {}
    for path in plugin.list_places("servers"):
        name = path.relative_to(plugin.folder).as_posix()
        try:
            table = json.loads(read_regular_file(path, SETTINGS) or b"{}")
        except (UserError, ValueError, RecursionError) as error:
            left.append(f"{name}: its servers are not used: {error}")
            continue
        is_neutral = name == NEUTRAL_FILE
        if not isinstance(table, dict) or (is_neutral and table.get("$schema") != _NEUTRAL_SCHEMA):
            left.append(f"{name}: its servers are not used: it is not for {_NEUTRAL_SCHEMA}")
            continue
        given = table.get("mcpServers", {} if is_neutral or name.endswith("plugin.json") else table)
        for each, entry in given.items() if isinstance(given, dict) else ():
            try:
                found.setdefault(each, _parse_server(each, entry, is_neutral=is_neutral))
            except ValueError as error:
                left.append(f"{name}: the server {each!r} is not used: {error}")
    return list(found.values())


def load_plugin_servers(home: Home, root: Path) -> Mapping[str, ServerPlace | str]:
    """Return the places of the servers of all plugins, for the workspace at `root`, by `plugin:server`.

    The value of one that is refused is the reason.
    """
    return {name: place for each in list_plugins(home) for name, place in build_places(each, root)}


def build_places(plugin: Plugin, root: Path) -> Iterator[tuple[str, ServerPlace | str]]:
    """Yield the servers' names, with the plugin's in front, and where each is, or why it is refused."""
    for each in read_servers(plugin, []):
        create_state_folder(plugin)
        try:
            yield f"{plugin.name}:{each.name}", _build_place(plugin, each, root)
        except ValueError as error:
            yield f"{plugin.name}:{each.name}", str(error)


def _parse_server(name: str, entry: object, *, is_neutral: bool) -> PluginServer:
    if not _NAME.fullmatch(name):
        raise ValueError("its name has other characters than letters, digits, -, _ and .")
    if not isinstance(entry, dict):
        raise ValueError("it is no table")
    kind = entry.get("type", "" if is_neutral else "http" if "url" in entry else "stdio")
    if kind in ("http", "streamable-http"):
        return _parse_remote(name, entry, is_neutral=is_neutral)
    if kind != "stdio":
        raise ValueError(f"it is of type {kind!r}: only commands and streamable HTTP are supported")
    command = entry.get("command")
    if not isinstance(command, str) or not command:
        raise ValueError("it has no `command`")
    arguments, environment = _read_texts(entry, "args"), _read_table(entry, "env")
    folder = entry.get("cwd", "")
    if not isinstance(folder, str):
        raise ValueError("its `cwd` is no text")
    if is_neutral:
        _check_neutral(entry, command, environment, folder)
    return PluginServer(
        name=name,
        command=command,
        arguments=arguments,
        environment=environment,
        folder=folder,
        is_neutral=is_neutral,
    )


def _parse_remote(name: str, entry: Mapping[str, Any], *, is_neutral: bool) -> PluginServer:
    """Return a server behind an address. Raises ValueError."""
    if is_neutral and (unknown := set(entry) - _HTTP_FIELDS):
        raise ValueError(f"it has unknown fields: {', '.join(sorted(unknown))}")
    url, headers = entry.get("url"), _read_table(entry, "headers")
    if not isinstance(url, str):
        raise ValueError("it has no `url`")
    check_server(McpServerSettings(url=url, headers=dict(headers)))
    return PluginServer(name=name, url=url, headers=headers, is_neutral=is_neutral)


def _check_neutral(
    entry: Mapping[str, Any], command: str, environment: Mapping[str, str], folder: str
) -> None:
    """Check the rules of section 7.2.1. Raises ValueError."""
    if unknown := set(entry) - _STDIO_FIELDS:
        raise ValueError(f"it has unknown fields: {', '.join(sorted(unknown))}")
    if not command.startswith("./") and "/" in command:
        raise ValueError(f"its command {command!r} is neither a name nor a path that begins with ./")
    if ".." in Path(command).parts:
        raise ValueError(f"its command {command!r} leads out of the plugin")
    if reserved := set(environment) & set(_RESERVED):
        raise ValueError(f"it sets {', '.join(sorted(reserved))}")
    if folder and not re.match(r"\./|\$\{PLUGIN_(?:ROOT|DATA)\}(?:/|$)", folder):
        raise ValueError(f"its cwd {folder!r} is not in the plugin")


def _read_texts(entry: Mapping[str, Any], key: str) -> tuple[str, ...]:
    given = entry.get(key, [])
    if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
        raise ValueError(f"its `{key}` are no texts")
    return tuple(given)


def _read_table(entry: Mapping[str, Any], key: str) -> Mapping[str, str]:
    given = entry.get(key, {})
    if not isinstance(given, dict) or not all(isinstance(each, str) for each in given.values()):
        raise ValueError(f"its `{key}` is no table of texts")
    return given


def _build_place(plugin: Plugin, server: PluginServer, root: Path) -> ServerPlace:
    places = {"ROOT": str(plugin.folder), "DATA": str(plugin.state), "PROJECT": str(root)}

    def expand(text: str) -> str:
        return _OWN_PLACES.sub(lambda match: places[match[1] or match[2]], text)

    def expand_value(text: str) -> str:
        if server.is_neutral:
            return expand(text)
        parts = _OWN_PLACES.split(text)  # a folder of ours may have any name
        return "".join(
            fill_in_variables(part) if at % 3 == 0 else places[part] if part else ""
            for at, part in enumerate(parts)
        )

    if server.url:
        url = expand_value(server.url)
        check_url(url)
        headers = {name: expand_value(value) for name, value in server.headers.items()}
        return make_http_place(url, server.headers, headers)
    command = server.command if server.is_neutral else expand_value(server.command)
    if command.startswith("./"):
        command = str(plugin.folder / command)
    folder = _find_folder(plugin, server, expand(server.folder), root)
    values = {key: expand_value(value) for key, value in server.environment.items()}
    return CommandLine(
        argv=(command, *map(expand_value, server.arguments)),
        environment={**values, **build_variables(plugin)},
        folder=folder,
        readable=(plugin.folder,),
        writable=(plugin.state,),
    )


def _find_folder(plugin: Plugin, server: PluginServer, given: str, root: Path) -> Path:
    """Return the folder in which a server starts. Raises ValueError for one outside the plugin and the workspace."""
    if not given:
        return plugin.folder if server.is_neutral else root
    found = (plugin.folder / given).resolve()
    allowed: Sequence[Path] = (plugin.folder, plugin.state, *(() if server.is_neutral else (root,)))
    if not any(found.is_relative_to(each.resolve()) for each in allowed):
        raise ValueError(f"its cwd {server.folder!r} leads out of the plugin")
    return found
