"""`code`: what the index of the workspace's code knows, for a model. The machinery is imported when it is used."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Literal

from sandbox.errors import UserError
from tools.action import Observation, ToolFailure
from tools.registry import tool
from tools.search import closed
from tools.workspace import Workspace

if TYPE_CHECKING:
    from tools.codebase.answers import Answer

Action = Literal[
    "outline",
    "find",
    "show",
    "references",
    "callers",
    "callees",
    "imports",
    "similar",
    "tests",
    "locate",
    "map",
]


MAP_TOKENS = 1500
"""Of a map that a model asks for."""


@tool(effect="read")
async def code(action: Action, target: str, *, at: Workspace) -> Observation:
    """Ask the code index: where a name is defined, used, called; a file's outline, imports, tests; locate: which
    files and functions an issue or stack trace speaks of; map: what matters for a topic.

    target: a name ("Cart.total"), a path (outline, imports, tests) or a text (similar, locate, map)
    """
    try:
        found = await asyncio.to_thread(_ask, at, action, target)
    except UserError as error:
        raise ToolFailure(f"code: {error.message}. {error.hint}".rstrip(". ")) from None
    return Observation(text=found.text, data={"code": found.data})


def _ask(at: Workspace, action: str, target: str) -> Answer:
    from tools.codebase.answers import Answer, answer
    from tools.codebase.index import Index, ask
    from tools.localization import locate, map_answer

    def question(index: Index) -> Answer:
        if action == "locate":
            found = locate(index, target)
            return Answer(text=found.text, data=found.data, empty=not found.files)
        if action == "map":
            return map_answer(index, target, MAP_TOKENS)
        return answer(index, action, target)

    return ask(at.root, at.settings.shared or at.settings.cache, tuple(closed(at)), question)
