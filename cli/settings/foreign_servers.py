"""MCP servers as `.mcp.json` and the settings of other agents write them, and as settings of ours."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from typing import Any

from tools.mcp.server_settings import McpServerSettings, check_server

_REFERENCE = re.compile(r"\$(?:[A-Za-z_][A-Za-z0-9_]*|\{[A-Za-z_][A-Za-z0-9_]*\})")
_REMOTE_TYPES = ("", "http", "streamable-http", "streamable_http")


def read_foreign_server(entry: Mapping[str, Any]) -> str | dict[str, Any]:
    """Return an entry as the value of a setting below `mcp`. Raises ValueError that says what is not supported.

    Values that are references to variables stay references.
    """
    command = entry.get("command")
    if isinstance(command, str) and command:
        given = entry.get("args")
        words = [command, *map(str, given if isinstance(given, list) else [])]
        variables = "".join(
            f"{name}={_check_value(name, value)} " for name, value in _read_table(entry, "env").items()
        )
        return f"{variables}{shlex.join(words)}"
    url = entry.get("httpUrl") or entry.get("url") or entry.get("serverUrl")
    if not isinstance(url, str) or not url:
        raise ValueError("it has neither a command nor an address")
    if str(entry.get("type", "")).lower() not in _REMOTE_TYPES:
        raise ValueError(
            f"it is of the type {entry['type']!r}: only commands and streamable HTTP are supported"
        )
    headers = _read_table(entry, "headers") or _read_table(entry, "http_headers")
    if isinstance(variable := entry.get("bearer_token_env_var"), str):
        headers = {**headers, "Authorization": f"Bearer ${variable}"}
    if "${" in url or any("${" in _REFERENCE.sub("", value) for value in headers.values()):
        raise ValueError("its address or a header is put together from variables")
    check_server(McpServerSettings(url=url, headers=headers))
    return {"url": url, "headers": headers} if headers else url


def hide_header_values(name: str, setting: str | dict[str, Any]) -> tuple[str | dict[str, Any], list[str]]:
    """Return a server without the values of its headers, which may be keys, and the variables that take their place."""
    if isinstance(setting, str):
        return setting, []
    headers, variables = {}, []
    for header, value in setting["headers"].items():
        if not _REFERENCE.search(value):
            variables.append(re.sub(r"[^A-Za-z0-9]+", "_", f"{name}_{header}").upper())
            value = f"${variables[-1]}"
        headers[header] = value
    return {**setting, "headers": headers}, variables


def _read_table(entry: Mapping[str, Any], key: str) -> dict[str, str]:
    given = entry.get(key)
    return {str(name): str(value) for name, value in given.items()} if isinstance(given, dict) else {}


def _check_value(name: str, value: str) -> str:
    """Return a variable's value as a word of a command line. Raises ValueError for a part that is a reference."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise ValueError(f"it sets a variable called {name!r}")
    if _REFERENCE.fullmatch(value):
        return value
    if "${" in value:
        raise ValueError(f"the value of {name} is put together from variables")
    return shlex.quote(value)
