"""`code`: queries of the workspace's code index, for a model. Implementation modules are imported on first use."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Literal, TypeVar

from sandbox.errors import UserError
from tools.core.action import Observation, ToolFailure
from tools.core.registry import tool
from tools.core.workspace import Workspace
from tools.fs.search import build_exclusion_options

if TYPE_CHECKING:
    from tools.code.index.code_index import Index
    from tools.code.index.query_answers import Answer

Answered = TypeVar("Answered")

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
"""Tokens of a map that a model requests."""


@tool(effect="read")
async def code(action: Action, target: str, *, at: Workspace) -> Observation:
    """Ask the code index about a name (Cart.total), path (outline, imports, tests) or text (similar, map, and
    locate: the places of an issue or stack trace).
    """
    try:
        note = ""
        if at.servers is not None:
            from tools.code.lsp.server_answers import answer_with_server

            exact, note = await answer_with_server(
                at, at.servers, lambda question: query_index(at, question), action, target
            )
            if exact is not None:
                return Observation(text=exact.text, data={"code": exact.data})
        found = await asyncio.to_thread(_answer_action, at, action, target)
    except UserError as error:
        raise ToolFailure(f"code: {error.message}. {error.hint}".rstrip(". ")) from None
    return Observation(text=f"{found.text}\n{note}" if note else found.text, data={"code": found.data})


def _answer_action(at: Workspace, action: str, target: str) -> Answer:
    from tools.code.index.query_answers import Answer, answer_query
    from tools.code.localization import build_map_answer, localize_text

    def run_query(index: Index) -> Answer:
        if action == "locate":
            found = localize_text(index, target)
            return Answer(text=found.text, data=found.data, empty=not found.files)
        if action == "map":
            return build_map_answer(index, target, MAP_TOKENS, _weigh_session_files(at))
        return answer_query(index, action, target)

    return query_index(at, run_query)


CHANGED, READ, LATELY = 0.5, 0.15, 12
"""Weights of a file that the session changed and of one that the model read, relative to the first localized file's,
and how many of the latter count: the most recent ones.
"""


def _weigh_session_files(at: Workspace) -> dict[str, float]:
    near = dict.fromkeys(list(at.read_versions)[-LATELY:], READ)
    return near | dict.fromkeys(at.changes, CHANGED)


def query_index(at: Workspace, question: Callable[[Index], Answered]) -> Answered:
    """Bring the workspace's index up to date and return its answer. Raises UserError."""
    from tools.code.index.code_index import ask_index

    return ask_index(
        at.root, at.folders.shared or at.folders.cache, tuple(build_exclusion_options(at)), question
    )
