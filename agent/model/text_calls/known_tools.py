"""The tools that calls in a text can mean, and what a piece of text that looks like a call comes to."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agent.model.protocol import ToolSpec
from agent.model.wire_formats.lenient_json import NotReadable, parse_lenient_json


@dataclass(frozen=True, slots=True)
class Call:
    """One call as it stands in a text. raw: the arguments' text where `arguments` could not be made of it"""

    tool: str
    arguments: Mapping[str, Any] | None
    raw: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A stretch of text that looks like calls.

    explicit: it is in a notation that means nothing but a call; a JSON object or a line of Python may be a sample
    open: nothing but the end of the text says that it ends there
    """

    start: int
    end: int
    calls: tuple[Call, ...]
    explicit: bool
    open: bool = False


_PREFIXES = re.compile(
    r"^(?:functions?|tools?|default_api|multi_tool_use|repo_browser|api)[.:]", re.IGNORECASE
)
_NUMBER = re.compile(r"[:#]\d+$")


class KnownTools:
    """The tools on offer, found by the names that models make of theirs."""

    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._plain = {_normalize_name(name): name for name in self._tools}

    def __iter__(self) -> Any:
        return iter(self._tools)

    def resolve_name(self, written: object) -> str | None:
        """Our name for a tool that is called so; None if none is."""
        if not isinstance(written, str):
            return None
        return self._plain.get(_normalize_name(strip_decoration(written)))

    def argument_schemas(self, tool: str) -> Mapping[str, Any]:
        """The arguments' schemas by name."""
        found: Mapping[str, Any] = self._tools[tool].parameters.get("properties", {})
        return found

    def find_only_argument(self, tool: str) -> str | None:
        """The name of the one argument that has to be given; None if there is not exactly one."""
        required = self._tools[tool].parameters.get("required", [])
        names = required or list(self.argument_schemas(tool))
        return str(names[0]) if len(names) == 1 else None

    def convert_arguments(self, tool: str, texts: Mapping[str, str]) -> dict[str, Any]:
        """Arguments that were written as text between tags, as the types that the tool wants."""
        schemas = self.argument_schemas(tool) if tool in self._tools else {}
        return {name: _convert_value(text, schemas.get(name, {})) for name, text in texts.items()}


def strip_decoration(written: str) -> str:
    """A tool's name without what templates put around it: `functions.read:0`, `` `read` ``."""
    return _NUMBER.sub("", _PREFIXES.sub("", written.strip().strip("`'\"*")))


def _normalize_name(name: str) -> str:
    return re.sub(r"[_\- ]", "", name).lower()


def _convert_value(text: str, schema: Mapping[str, Any]) -> Any:
    kind = schema.get("type", "string")
    if kind == "string":
        # One line break after the opening tag and one before the closing one belong to the tags.
        return text.removeprefix("\n").removesuffix("\n") if "\n" in text.strip() else text.strip()
    try:
        return json.loads(text, strict=False)
    except ValueError:
        pass
    try:
        return parse_lenient_json(text.strip())
    except NotReadable:
        return text.strip()
