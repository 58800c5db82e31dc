"""Edit formats that a model may write: the tool that accepts each, and its description to the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from sandbox.lazy_dataclass import dataclass
from tools.core.registry import Tool
from tools.core.tool_settings import Format


@dataclass(frozen=True, slots=True, kw_only=True)
class FormatSpec:
    """An edit format.

    tool: accepts edits in it
    creates: new files can be written in it
    called, example: for a text format: its name and the shortest example, as sent to the model
    """

    tool: str
    creates: bool = False
    called: str = ""
    example: str = ""


WAYS: Mapping[Format, FormatSpec] = {
    "replace": FormatSpec(tool="edit"),
    "symbol": FormatSpec(tool="edit_symbol"),
    "lines": FormatSpec(tool="edit_lines"),
    "patch": FormatSpec(
        tool="apply_patch",
        creates=True,
        called="",
        example="""\
*** Begin Patch
*** Update File: cart.py
@@ class Cart
     def total(self):
-        return 0
+        return sum(self.prices)
*** Add File: tax.py
+RATE = 0.2
*** End Patch""",
    ),
    "blocks": FormatSpec(
        tool="apply_patch",
        creates=True,
        called="SEARCH/REPLACE blocks; an empty SEARCH makes a file",
        example="""\
shop/cart.py
<<<<<<< SEARCH
        return 0
=======
        return sum(self.prices)
>>>>>>> REPLACE""",
    ),
    "diff": FormatSpec(
        tool="apply_patch",
        creates=True,
        called="a unified diff",
        example="""\
--- a/shop/cart.py
+++ b/shop/cart.py
@@ -7,2 +7,2 @@
     def total(self):
-        return 0
+        return sum(self.prices)""",
    ),
    "whole": FormatSpec(tool="write", creates=True),
}

FORMATS: tuple[Format, ...] = tuple(WAYS)

EDITORS = frozenset(way.tool for way in WAYS.values())
"""Names of the tools that accept edits."""


def describe_edit_tool(tool: Tool, formats: Sequence[Format]) -> Tool | None:
    """Return the edit tool as described to a model that writes in these formats, None if it accepts none of
    them.

    The description does not limit the tool: it parses every format, since a model falls back on what it was
    trained on.
    """
    mine = [WAYS[each] for each in formats if WAYS[each].tool == tool.name]
    if not mine:
        return None
    if tool.name == "write":
        return _add_alternatives(tool, formats)
    return _add_examples(tool, mine) if mine[0].example else tool


def _add_alternatives(tool: Tool, formats: Sequence[Format]) -> Tool:
    others = list(dict.fromkeys(WAYS[each].tool for each in formats if WAYS[each].tool != tool.name))
    if not others:
        return tool
    return replace(tool, description=f"{tool.description} For a part use {', '.join(others)}.")


def _add_examples(tool: Tool, ways: Sequence[FormatSpec]) -> Tool:
    names = " or ".join(way.called for way in ways if way.called)
    shown = "\n\n".join(way.example for way in ways)
    [argument] = tool.parameters["properties"]
    properties = {argument: {"type": "string", **({"description": names} if names else {})}}
    return replace(
        tool,
        description=f"{tool.description} Example:\n\n{shown}",
        parameters={**tool.parameters, "properties": properties},
    )
