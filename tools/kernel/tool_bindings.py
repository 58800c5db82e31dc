"""Descriptions of the tools as functions of a kernel, and conversion of their results to JSON."""

from __future__ import annotations

import dataclasses
import inspect
import keyword
from collections.abc import Iterable, Mapping
from typing import Any

from tools.core.action import Observation
from tools.core.registry import Tool
from tools.kernel.frames import Frame

NAMES: Mapping[str, str] = {"list": "list_files"}
"""Tools with another name in a kernel, where their own name means something else."""

WITHHELD = frozenset({"python"})
"""Tools not callable in a kernel: it runs one block at a time."""


def describe_functions(tools: Iterable[Tool]) -> list[Frame]:
    """Return name, tool, parameters ([name] or [name, default]) and doc of each tool."""
    return [
        _describe_function(tool) for tool in tools if tool.name not in WITHHELD and tool.name.isidentifier()
    ]


def format_signature(name: str, parameters: Iterable[list[Any]]) -> str:
    """Format a signature as in the line of a def, without types."""
    return (
        f"{name}({', '.join(each[0] if len(each) == 1 else f'{each[0]}={each[1]!r}' for each in parameters)})"
    )


def convert_result(observation: Observation) -> Any:
    """Return the result of a call: the tool's own value; without one, a record of its text and facts."""
    if observation.value is not None:
        return to_json(observation.value)
    facts = {key: each for key, each in observation.data.items() if _is_field(key)}
    return _make_record("Result", {**facts, "text": observation.text})


def to_json(value: Any) -> Any:
    """Convert a value to JSON: dataclasses and named tuples become records, {"$": [name, fields, values]};
    paths and the like text.
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}
        return _make_record(
            type(value).__name__, {key: each for key, each in fields.items() if _is_field(key)}
        )
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return _make_record(type(value).__name__, value._asdict())
    if isinstance(value, Mapping):
        return {"$ " if key == "$" else str(key): to_json(each) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [to_json(each) for each in value]
    return str(value)


def _make_record(name: str, fields: Mapping[str, Any]) -> Frame:
    return {"$": [name.lstrip("_"), list(fields), [to_json(each) for each in fields.values()]]}


def _is_field(name: str) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name) and not name.startswith("_")


def _describe_function(tool: Tool) -> Frame:
    parameters: list[list[Any]] = []
    defaults = inspect.signature(tool.function).parameters
    properties = tool.parameters["properties"]
    required = set(tool.parameters.get("required", ()))
    for name in sorted(properties, key=lambda name: name not in required):
        found = defaults.get(name)
        has_default = found is not None and found.default is not inspect.Parameter.empty
        parameters.append(
            [name] if name in required else [name, to_json(found.default) if found and has_default else None]
        )
    name = NAMES.get(tool.name, tool.name)
    lines = [tool.description, ""]
    lines += [f"{key}: {each['description']}" for key, each in properties.items() if "description" in each]
    return {"name": name, "tool": tool.name, "parameters": parameters, "doc": "\n".join(lines).strip()}
