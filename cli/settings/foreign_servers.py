"""MCP servers as `.mcp.json` and the settings of other agents write them, and as settings of ours."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

from sandbox.lazy_pattern import compile_lazily
from sandbox.process.command_line import VARIABLE
from tools.mcp.server_settings import McpServerSettings, check_server

_REFERENCE = compile_lazily(r"\$(?:[A-Za-z_][A-Za-z0-9_]*|\{[A-Za-z_][A-Za-z0-9_]*\})")
_REMOTE_TYPES = ("", "http", "streamable-http", "streamable_http")

_SWITCHES: Mapping[str, bool] = {"enabled": True, "disabled": False}
"""Fields that switch a server off, each with the value at which it is on."""

_KEPT_TOOLS = ("enabled_tools", "includeTools")
_LEFT_TOOLS = ("disabled_tools", "excludeTools", "disabledTools")
"""Fields that name the only tools of a server that are used, and those that are not."""

_TIMES: Mapping[str, tuple[str, float]] = {
    "startup_timeout_sec": ("start_timeout", 1),
    "startup_timeout_ms": ("start_timeout", 0.001),
    "tool_timeout_sec": ("call_timeout", 1),
    "timeout": ("call_timeout", 0.001),
}
"""Fields with a time limit, each with our field and the factor that makes it seconds."""

_PLACES = ("command", "args", "env", "env_vars", "type", "url", "httpUrl", "serverUrl")
_HEADERS = ("headers", "http_headers", "env_http_headers", "bearer_token_env_var")
_REMARKS = ("name", "description", "$comment", "_comment")
_KNOWN = {*_SWITCHES, *_KEPT_TOOLS, *_LEFT_TOOLS, *_TIMES, *_PLACES, *_HEADERS, *_REMARKS}


def read_foreign_server(entry: Mapping[str, Any]) -> str | dict[str, Any]:
    """Return an entry as the value of a setting below `mcp`. Raises ValueError that says what is not supported.

    Values that are references to variables stay references.
    """
    for field, value in _SWITCHES.items():
        if entry.get(field, value) is not value:
            raise ValueError(f"it is switched off by `{field}`")
    setting = _read_place(entry) | _read_times(entry) | _read_tools(entry)
    check_server(McpServerSettings(**setting))
    return str(*setting.values()) if set(setting) in ({"command"}, {"url"}) else setting


def list_unused_fields(entry: Mapping[str, Any]) -> list[str]:
    """Return the fields of an entry that change what a server is or may do, and that nothing here corresponds to."""
    return sorted(str(each) for each in entry if each not in _KNOWN)


def _read_place(entry: Mapping[str, Any]) -> dict[str, Any]:
    command = entry.get("command")
    if isinstance(command, str) and command:
        given = entry.get("args")
        words = [command, *map(str, given if isinstance(given, list) else [])]
        for text in words:
            _check_variables(text)
        passed = {name: f"${name}" for name in _read_passed_variables(entry)}
        variables = "".join(
            f"{name}={_check_value(name, value)} "
            for name, value in (passed | _read_table(entry, "env")).items()
        )
        return {"command": f"{variables}{shlex.join(words)}"}
    url = entry.get("httpUrl") or entry.get("url") or entry.get("serverUrl")
    if not isinstance(url, str) or not url:
        raise ValueError("it has neither a command nor an address")
    if str(entry.get("type", "")).lower() not in _REMOTE_TYPES:
        raise ValueError(
            f"it is of the type {entry['type']!r}: only commands and streamable HTTP are supported"
        )
    headers = _read_table(entry, "headers") or _read_table(entry, "http_headers")
    headers |= {name: f"${variable}" for name, variable in _read_table(entry, "env_http_headers").items()}
    if isinstance(variable := entry.get("bearer_token_env_var"), str):
        headers["Authorization"] = f"Bearer ${variable}"
    for text in (url, *headers.values()):
        _check_variables(text)
    return {"url": url, "headers": headers} if headers else {"url": url}


def _read_passed_variables(entry: Mapping[str, Any]) -> list[str]:
    """Return the names of variables that the server gets as they are. Raises ValueError for those of elsewhere."""
    found = []
    for each in entry.get("env_vars") or ():
        name = each.get("name") if isinstance(each, dict) and each.get("source", "local") == "local" else each
        if not isinstance(name, str):
            raise ValueError("its `env_vars` are not all names of variables of this machine")
        found.append(name)
    return found


def _read_times(entry: Mapping[str, Any]) -> dict[str, float]:
    found: dict[str, float] = {}
    for field, (ours, factor) in _TIMES.items():
        value = entry.get(field)
        if isinstance(value, int | float) and value > 0 and not isinstance(value, bool):
            found[ours] = round(value * factor, 3)
    return found


def _read_tools(entry: Mapping[str, Any]) -> dict[str, list[str]]:
    """Return the limits to a server's tools. Raises ValueError for those that cannot be understood."""
    kept, left = _collect_names(entry, _KEPT_TOOLS), _collect_names(entry, _LEFT_TOOLS)
    if kept is not None:  # `tool(argument)` limits nothing but the name where it is read
        kept = [each.partition("(")[0] for each in kept]
    if kept is not None and not set(kept) - set(left or ()):
        raise ValueError("none of its tools is switched on")
    return ({"tools": kept} if kept is not None else {}) | ({"without_tools": left} if left else {})


def _collect_names(entry: Mapping[str, Any], fields: Sequence[str]) -> list[str] | None:
    given = [entry[field] for field in fields if entry.get(field) is not None]
    if not all(isinstance(each, list) and all(isinstance(name, str) for name in each) for each in given):
        raise ValueError(
            f"its `{'` or `'.join(field for field in fields if field in entry)}` is no list of names"
        )
    return list(dict.fromkeys(name for each in given for name in each)) if given else None


def hide_header_values(name: str, setting: str | dict[str, Any]) -> tuple[str | dict[str, Any], list[str]]:
    """Return a server without the values of its headers, which may be keys, and the variables that take their place."""
    if isinstance(setting, str) or "headers" not in setting:
        return setting, []
    headers, variables = {}, []
    for header, value in setting["headers"].items():
        if not (has_reference(value) or _REFERENCE.search(value)):
            variables.append(re.sub(r"[^A-Za-z0-9]+", "_", f"{name}_{header}").upper())
            value = f"${variables[-1]}"
        headers[header] = value
    return {**setting, "headers": headers}, variables


def has_reference(value: str) -> bool:
    """Return whether a value is a variable, or put together from some, which hold what is secret of it."""
    return _REFERENCE.fullmatch(value) is not None or VARIABLE.search(value) is not None


def _read_table(entry: Mapping[str, Any], key: str) -> dict[str, str]:
    given = entry.get(key)
    return {str(name): str(value) for name, value in given.items()} if isinstance(given, dict) else {}


def _check_value(name: str, value: str) -> str:
    """Return a variable's value as a word of a command line. Raises ValueError for a variable of another kind."""
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]*", name):
        raise ValueError(f"it sets a variable called {name!r}")
    if _REFERENCE.fullmatch(value):
        return value
    _check_variables(value)
    return shlex.quote(value)


def _check_variables(text: str) -> None:
    """Raise ValueError for `${…}` that is no variable of the environment, such as `${input:key}`."""
    if (at := VARIABLE.sub("", text).find("${")) >= 0:
        rest = VARIABLE.sub("", text)[at:]
        raise ValueError(f"{rest[: rest.find('}') + 1] or rest!r} is no variable that can be filled in")
