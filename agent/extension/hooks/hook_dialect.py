"""Hooks in the formats of other agents: what they are told and what they answer, by the table `hook_dialects.toml`.

A hook has the field `dialect`, such as `cursor beforeShellExecution`: the agent that it was written for, and its event
there. It is told the event under its names, beside Claude Code's, and its answer is read as Claude Code's.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, MutableMapping, MutableSequence, Sequence
from datetime import UTC, datetime
from functools import cache
from pathlib import Path
from typing import Any

Table = Mapping[str, Any]

_SERVER_TOOL = "mcp__"


@cache
def load_dialects() -> Mapping[str, Table]:
    """Return the formats by their agents' names."""
    from sandbox.parsed_data import parse_toml

    return parse_toml(Path(__file__).with_name("hook_dialects.toml").read_text("utf-8"))


def find_dialect(name: str) -> tuple[Table, Table]:
    """Return a format, and its event, of a hook's `dialect`. Raises ValueError for one that is not known."""
    agent, _, event = name.partition(" ")
    dialect = load_dialects().get(agent, {})
    found = dialect.get("events", {}).get(event)
    if found is None:
        raise ValueError(f"its dialect {name!r} is not known")
    return dialect, found


def name_tools(name: str, names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of a tool with those that the other agent has for it."""
    dialect, _ = find_dialect(name)
    theirs = [_rename_tool(dialect, each) for each in names]
    return tuple(dict.fromkeys((*names, *theirs)))


def fits_subject(name: str, pattern: str, given: Table) -> bool:
    """Return whether the text that the hook's own matcher is for fits it."""
    place = find_dialect(name)[1].get("subject", "")
    text = _find_place(given, place)
    return not pattern or text is None or re.search(pattern, str(text), re.IGNORECASE) is not None


def translate_input(name: str, given: Table) -> dict[str, Any]:
    """Return what a hook is told: our input, with the other agent's fields and names."""
    dialect, event = find_dialect(name)
    now = datetime.now(UTC)
    told: dict[str, Any] = {**given, "hook_event_name": name.partition(" ")[2]}
    is_counted = dialect.get("clock") == "milliseconds"
    told["timestamp"] = int(now.timestamp() * 1000) if is_counted else now.isoformat()
    is_renamed = not event.get("claude", False)
    if is_renamed and isinstance(tool := given.get("tool_name"), str):
        told["tool_name"] = _rename_tool(dialect, tool)
    if is_renamed and isinstance(values := given.get("tool_input"), Mapping):
        names = dialect.get("inputs", {})
        told["tool_input"] = {**values, **{names[key]: each for key, each in values.items() if key in names}}
    for theirs, place in {**dialect.get("told", {}), **event.get("lift", {})}.items():
        if (value := _find_place(told, place)) is not None:
            _set_place(told, theirs, value)
    return told


def build_environment(name: str, told: Table) -> dict[str, str]:
    """Return the variables that a program is given by the other agent. told: input of the hook"""
    places: Mapping[str, str] = find_dialect(name)[0].get("environment", {})
    found = {key: each[1:] if each[0] == "=" else _find_place(told, each) for key, each in places.items()}
    return {key: str(value) for key, value in found.items() if value is not None and "\0" not in str(value)}


def translate_answer(name: str, found: Table) -> Table:
    """Return the JSON of a hook as Claude Code's; what has no meaning here is told to the person."""
    answers: Table = find_dialect(name)[0].get("answers", {})
    answer: dict[str, Any] = {
        key: dict(each) if isinstance(each, dict) else each for key, each in found.items()
    }
    told = [str(found["systemMessage"])] if found.get("systemMessage") else []
    for theirs, rule in answers.items():
        value = _find_place(found, theirs)
        if value is None:
            continue
        if "left" in rule:
            told.append(f"{theirs} of a hook is not used: {rule['left']}")
            continue
        known = rule.get("values", {})
        _set_place(answer, rule["place"], known.get(str(value).lower(), value))
        answer |= rule.get("adds", {})
    return {**answer, "systemMessage": "\n".join(told)} if told else answer


def ends_turn(name: str, code: int) -> bool:
    """Return whether an exit code ends the turn."""
    return code in find_dialect(name)[0].get("halts", ())


def _rename_tool(dialect: Table, tool: str) -> str:
    if tool.startswith(_SERVER_TOOL) and tool.count("__") > 1:
        server, _, rest = tool.removeprefix(_SERVER_TOOL).partition("__")
        return str(dialect.get("servers", "mcp__{server}__{tool}").format(server=server, tool=rest))
    return str(dialect.get("tools", {}).get(tool, tool))


def _find_place(table: object, place: str) -> Any:
    """Return a value by its place, such as `tool_input.command`; None if there is none."""
    for part in place.split("."):
        table = table.get(part) if isinstance(table, Mapping) else None
    return table


def _set_place(table: MutableMapping[str, Any], place: str, value: object) -> None:
    """Set a value by its place, in which a number is one in a list. What is there and no table stays."""
    *above, last = place.split(".")
    inside: Any = table
    for part, below in zip(above, place.split(".")[1:], strict=True):
        empty: Any = [] if below.isdecimal() else {}
        if isinstance(inside, MutableSequence):
            inside += [empty] * (int(part) + 1 - len(inside))
            inside = inside[int(part)]
        elif isinstance(inside, MutableMapping):
            inside = inside.setdefault(part, empty)
    if isinstance(inside, MutableSequence) and last.isdecimal():
        inside += [None] * (int(last) + 1 - len(inside))
        inside[int(last)] = value
    elif isinstance(inside, MutableMapping):
        inside[last] = value
