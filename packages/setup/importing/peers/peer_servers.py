"""MCP servers as other agents write them, in the form that they share, which is read further by `add_servers`."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from packages.setup.importing.import_plan import ImportPlan, add_servers, get_names
from packages.setup.importing.peers.peer_files import Table, find_value, read_table
from sandbox.lazy_pattern import compile_lazily

_LOCAL = ("local", "stdio")
_PLAIN = compile_lazily(r"\$([A-Za-z_][A-Za-z0-9_]*)")
_MARKED = {"env:": compile_lazily(r"\$\{env:(\w+)\}"), "{env:": compile_lazily(r"\{env:(\w+)\}")}
_OTHER = compile_lazily(r"\$\{(?!env:|userHome\})[^}]*\}?")
_COMPUTED = compile_lazily(r"\$\(|`|\{file:")


def list_servers(peer: Table, settings: Table, folder: Path, plan: ImportPlan) -> tuple[dict[str, Any], str]:
    """Return an agent's servers by their names, and the file that they are in."""
    given: Table = peer.get("servers", {})
    source = folder / given.get("file", peer["files"][-1])
    if "file" not in given:
        source = next((folder / each for each in peer["files"] if (folder / each).is_file()), source)
    found = find_value(read_table(source, plan) if "file" in given else settings, given.get("key", ""))
    if isinstance(found, list):
        found = {str(each.get("name")): each for each in found if isinstance(each, dict)}
    servers = {str(name): each for name, each in found.items()} if isinstance(found, dict) else {}
    return servers, str(source)


def add_peer_servers(plan: ImportPlan, peer: Table, servers: Table, settings: Table, source: str) -> None:
    """Take servers that are on; those that are off, and what cannot be taken, are named."""
    known = {}
    for name, entry in servers.items():
        if reason := _explain_kind(peer, entry):
            plan.left.append(f"{source}: the MCP server {name!r}: {reason}")
        else:
            known[name] = _convert(peer, entry)
    add_servers(plan, known, source, _explain_off(peer, settings))


def _explain_kind(peer: Table, entry: object) -> str:
    if not isinstance(entry, Mapping):
        return "it is no table"
    texts = [entry.get("command"), entry.get("cmd"), entry.get("args"), entry.get("url"), entry.get("uri")]
    if _COMPUTED.search(str(texts)):
        return "a part of it is computed by a command, or comes from a file"
    if peer.get("variables") == "env:" and (other := _OTHER.search(str(entry))):
        return f"{other[0]} is no variable that can be filled in"
    if "variables" not in peer and "${" in str(entry):
        return "`${…}` in it is text there, and would be a variable here"
    reasons: Mapping[str, str] = peer["servers"].get("ignored", {})
    kind = str(entry.get("type"))
    if entry.get("enabled", True) is True and kind in reasons:
        return reasons[kind]
    return ""


def _convert(peer: Table, entry: Table) -> dict[str, Any]:
    given = peer["servers"]
    fields, factors = given.get("fields", {}), given.get("factors", {})
    found = {fields.get(key, key): value for key, value in entry.items() if fields.get(key, key)}
    for key, factor in factors.items():
        if isinstance(found.get(key), int | float):
            found[key] = found[key] * factor
    command = found.get("command")
    if isinstance(command, list) and command:
        found["command"], found["args"] = str(command[0]), [*command[1:], *(found.get("args") or [])]
    elif peer["title"] == "Mistral Vibe" and isinstance(command, str):
        found["command"], *words = shlex.split(command) or [""]
        found["args"] = [*words, *(found.get("args") or [])]
    if found.get("type") in (*_LOCAL, "remote"):
        del found["type"]
    if found.get("enabled_tools") == ["*"] or (peer["title"] == "Goose" and not found.get("enabled_tools")):
        found.pop("enabled_tools", None)  # all of them
    auth = found.get("auth")
    if isinstance(auth, dict) and auth.get("type", "static") == "static":
        found |= {key: each for key, each in auth.items() if key != "type"}
        del found["auth"]
    if isinstance(variable := found.pop("api_key_env", None), str) and variable:
        header = str(found.pop("api_key_header", "Authorization"))
        form = str(found.pop("api_key_format", "Bearer {token}"))
        found["headers"] = {header: form.replace("{token}", f"${{{variable}}}"), **found.get("headers", {})}
    return {key: _mark_variables(value, peer.get("variables", "")) for key, value in found.items()}


def _mark_variables(value: Any, form: str) -> Any:
    """Return a value with variables of the environment as `${NAME}`."""
    if isinstance(value, dict):
        return {key: _mark_variables(each, form) for key, each in value.items()}
    if isinstance(value, list):
        return [_mark_variables(each, form) for each in value]
    if not isinstance(value, str) or not form:
        return value
    value = value.replace("${userHome}", "${HOME}") if form == "env:" else value
    pattern = _PLAIN if form == "$" else _MARKED.get(form)
    return pattern.sub(r"${\1}", value) if pattern is not None else value


def _explain_off(peer: Table, settings: Table) -> Callable[[str, Mapping[str, Any]], str]:
    given = peer["servers"]
    off = {name.lower(): key for key in given.get("off", ()) for name in _get_names(settings, key)}
    only = find_value(settings, given.get("only", ""))
    rules = find_value(settings, given.get("permissions", ""))

    def explain(name: str, entry: Mapping[str, Any]) -> str:
        if key := off.get(name.lower()):
            return f"it is switched off by `{key}`"
        if isinstance(only, list) and only and name.lower() not in {str(each).lower() for each in only}:
            return f"it is switched off by `{given['only']}`, which does not name it"
        for rule in rules if isinstance(rules, list) else ():
            if isinstance(rule, dict) and _fits_server(rule.get("matches"), entry):
                return (
                    "" if rule.get("action") == "allow" else f"it is switched off by `{given['permissions']}`"
                )
        return ""

    return explain


def _fits_server(matches: object, entry: Mapping[str, Any]) -> bool:
    line = " ".join(map(str, [entry.get("command", ""), *get_names(entry, "args")])).strip()
    texts = {"command": line, "url": str(entry.get("url") or "")}
    conditions = matches if isinstance(matches, dict) else {}
    return all(texts.get(key) and fnmatchcase(texts[key], str(each)) for key, each in conditions.items())


def _get_names(settings: Table, key: str) -> list[str]:
    found = find_value(settings, key)
    return [str(each) for each in found] if isinstance(found, list) else []
