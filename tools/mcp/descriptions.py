"""Tools, resources and prompts as servers describe them: untrusted, cut to bounds before anything else reads them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from itertools import accumulate
from typing import Any

from sandbox.lazy_dataclass import dataclass
from tools.core.text import clip

MOST_TOOLS = 128
"""Tools of one server: more would fill the model's window before the first request."""

MOST_ENTRIES = 500
"""Resources, and prompts, of one server: they are only completed and looked up."""

MOST_SCHEMA_CHARACTERS = 256 << 10
"""Of all tools of one server, as JSON: for the same reason as the number of tools."""

DEEPEST_SCHEMA = 64
"""Levels of one tool's schema: the parsers of some providers end at a hundred."""

LONGEST_TOOL_NAME = 128
"""Characters that the protocol allows; longer ones would fill the question for approval."""

LONGEST_CURSOR = 4_096
"""Characters of a cursor, which is sent back."""

LONGEST_URI = 2_048
LONGEST_TEXT = 8_000
"""Characters of a description, or of a server's instructions."""

MOST_ARGUMENTS = 32
"""Arguments of one prompt."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServerIdentity:
    """A server's own name and version, "" where it tells none, and the revision of the protocol in use.

    instructions: what it says about the use of its tools
    """

    name: str
    version: str
    revision: str
    instructions: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolDescription:
    """One tool, as its server describes it. schema: JSON schema of its arguments; needs_task: it is called as a task"""

    name: str
    description: str
    schema: Mapping[str, Any]
    needs_task: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceDescription:
    """One resource, as its server describes it."""

    uri: str
    name: str
    description: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class PromptDescription:
    """One prompt, as its server describes it. arguments: name → whether it is required"""

    name: str
    description: str
    arguments: Mapping[str, bool]


def trim_listing(method: str, result: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return the result of a request for a list with nothing but valid, bounded entries; None if it is none.

    The protocol would have one wrong entry spoil the whole list.
    """
    key, trim = LISTINGS[method]
    entries = result.get(key)
    if not isinstance(entries, list):
        return None
    kept: list[dict[str, Any]] = []
    size = 0
    for each in entries:
        if (entry := trim(each)) is None:
            continue
        size += len(json.dumps(entry.get("inputSchema", {})))
        if len(kept) == (MOST_TOOLS if key == "tools" else MOST_ENTRIES) or size > MOST_SCHEMA_CHARACTERS:
            break
        kept.append(entry)
    page: dict[str, Any] = {key: kept}
    cursor = result.get("nextCursor")
    if isinstance(cursor, str) and 0 < len(cursor) <= LONGEST_CURSOR:
        page["nextCursor"] = cursor
    return page | {each: result[each] for each in ("resultType", "ttlMs", "cacheScope") if each in result}


def replace_surrogates(text: str) -> str:
    """Replace halves of characters, which JSON can spell and no file or request can hold."""
    return text if text.isascii() else text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def _trim_tool(tool: object) -> dict[str, Any] | None:
    """Return the fields of a tool that are used; None for one that is for views alone."""
    if not isinstance(tool, Mapping) or (name := _read_name(tool)) is None or _is_for_views(tool):
        return None
    schema = {"properties": {}, **_parse_schema(tool.get("inputSchema")), "type": "object"}
    trimmed = {"name": name, "description": _read_description(tool), "inputSchema": schema}
    execution = tool.get("execution")
    if isinstance(execution, Mapping) and execution.get("taskSupport") == "required":
        trimmed["execution"] = {"taskSupport": "required"}
    return trimmed


def _is_for_views(tool: Mapping[Any, Any]) -> bool:
    """Return whether only views of MCP Apps may call a tool (`_meta.ui.visibility` without "model")."""
    meta = tool.get("_meta")
    ui = meta.get("ui") if isinstance(meta, Mapping) else None
    visibility = ui.get("visibility") if isinstance(ui, Mapping) else None
    return isinstance(visibility, list) and "model" not in visibility


def _trim_resource(resource: object) -> dict[str, Any] | None:
    if not isinstance(resource, Mapping) or not isinstance(uri := resource.get("uri"), str):
        return None
    if not 0 < len(uri) <= LONGEST_URI or not uri.isprintable() or any(each.isspace() for each in uri):
        return None
    name = _read_name(resource) or uri
    return {"uri": uri, "name": name, "description": _read_description(resource)}


def _trim_prompt(prompt: object) -> dict[str, Any] | None:
    if not isinstance(prompt, Mapping) or (name := _read_name(prompt)) is None:
        return None
    given = prompt.get("arguments")
    arguments = [
        {"name": argument, "required": each.get("required") is True}
        for each in (given if isinstance(given, list) else ())[:MOST_ARGUMENTS]
        if isinstance(each, Mapping) and (argument := _read_name(each)) is not None
    ]
    return {"name": name, "description": _read_description(prompt), "arguments": arguments}


LISTINGS: Mapping[str, tuple[str, Callable[[object], dict[str, Any] | None]]] = {
    "tools/list": ("tools", _trim_tool),
    "resources/list": ("resources", _trim_resource),
    "prompts/list": ("prompts", _trim_prompt),
}
"""Requests for lists: the key of the entries in their results, and how an entry is trimmed."""


def _read_name(entry: Mapping[Any, Any]) -> str | None:
    name = entry.get("name")
    if not isinstance(name, str) or not 0 < len(name) <= LONGEST_TOOL_NAME:
        return None
    return replace_surrogates(name)


def _read_description(entry: Mapping[Any, Any]) -> str:
    return trim_text(entry.get("description") or entry.get("title") or "")


def trim_text(text: object) -> str:
    """Return a text of a server cut to its bound, with a mark of the cut."""
    return replace_surrogates(clip(str(text), LONGEST_TEXT))


def _parse_schema(schema: object) -> dict[str, Any]:
    """Return the schema of a tool's arguments; an empty one, which allows all, if it would spoil every request."""
    if not isinstance(schema, Mapping):
        return {}
    shape = {key: each for key, each in schema.items() if key != "$schema"}
    properties, required = shape.get("properties", {}), shape.get("required", [])
    if not isinstance(properties, Mapping) or not all(
        isinstance(each, dict | bool) for each in properties.values()
    ):
        return {}
    if not isinstance(required, list) or not all(isinstance(each, str) for each in required):
        return {}
    try:
        text = json.dumps(shape, ensure_ascii=False)
    except RecursionError:
        return {}
    depth = max(accumulate((character in "{[") - (character in "}]") for character in text))
    return shape if depth <= DEEPEST_SCHEMA and text == replace_surrogates(text) else {}
