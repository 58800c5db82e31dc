"""Tools that calls in a text can refer to, and the candidates found in the text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from agent.model.protocol import ToolSpec
from agent.model.wire_formats.lenient_json import NotReadable, parse_lenient_json
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily


@dataclass(frozen=True, slots=True)
class Call:
    """One call in a text. raw: the arguments' text if it could not be parsed into `arguments`"""

    tool: str
    arguments: Mapping[str, Any] | None
    raw: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A stretch of text that looks like calls.

    explicit: its notation means nothing but a call; a JSON object or a line of Python may be a sample
    open: only the end of the text ends it
    """

    start: int
    end: int
    calls: tuple[Call, ...]
    explicit: bool
    open: bool = False


_PREFIXES = compile_lazily(
    r"^(?:functions?|tools?|default_api|multi_tool_use|repo_browser|api)[.:]", re.IGNORECASE
)
_NUMBER = compile_lazily(r"[:#]\d+$")


class KnownTools:
    """The tools on offer, found by the names that models write."""

    def __init__(self, tools: Sequence[ToolSpec]) -> None:
        self._tools = {tool.name: tool for tool in tools}
        self._plain = {_normalize_name(name): name for name in self._tools}

    def __iter__(self) -> Any:
        return iter(self._tools)

    def resolve_name(self, written: object) -> str | None:
        """Return the tool's name for a name as written; None if there is no such tool."""
        if not isinstance(written, str):
            return None
        return self._plain.get(_normalize_name(strip_decoration(written)))

    def argument_schemas(self, tool: str) -> Mapping[str, Any]:
        """Return the arguments' schemas by name."""
        found: Mapping[str, Any] = self._tools[tool].parameters.get("properties", {})
        return found

    def find_only_argument(self, tool: str) -> str | None:
        """Return the name of the only required argument; None if there is not exactly one."""
        required = self._tools[tool].parameters.get("required", [])
        names = required or list(self.argument_schemas(tool))
        return str(names[0]) if len(names) == 1 else None

    def convert_arguments(self, tool: str, texts: Mapping[str, str]) -> dict[str, Any]:
        """Convert arguments written as text between tags to the types in the tool's schema."""
        schemas = self.argument_schemas(tool) if tool in self._tools else {}
        return {name: _convert_value(text, schemas.get(name, {})) for name, text in texts.items()}


def strip_decoration(written: str) -> str:
    """Return a tool's name without the decoration of chat templates: `functions.read:0`, `` `read` ``."""
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
    except (ValueError, RecursionError):
        pass
    try:
        return parse_lenient_json(text.strip())
    except NotReadable:
        return text.strip()
