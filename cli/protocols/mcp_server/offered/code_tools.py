"""`localize`, `symbols`, `map`: questions to the code index, and faults ranked by failing tests."""

from __future__ import annotations

import asyncio
from typing import Any, Literal

from pydantic import BaseModel, Field

from cli.protocols.mcp_server.bounded_json import bound_json
from cli.protocols.mcp_server.offered.actions import run_action
from cli.protocols.mcp_server.open_call import OpenCall
from cli.protocols.mcp_server.served_repository import ServedRepository
from cli.protocols.mcp_server.served_tool import Arguments, ServedTool
from cli.protocols.mcp_server.tool_result import ToolResult
from sandbox.errors import Fault, UserError
from sandbox.policy.decision import Mode
from tools.core.action import Observation
from tools.core.registry import tool
from tools.core.workspace import Workspace

LEAST_TOKENS, MOST_TOKENS = 100, 6_000
"""Bounds of a map; with more it would be cut as any observation is."""

LONGEST_TEXT = 100_000
"""Characters of an issue or a stack trace."""

Query = Literal["outline", "find", "show", "references", "callers", "callees", "imports", "similar", "tests"]


class SymbolsArguments(Arguments):
    """Arguments of `symbols`."""

    query: Query = Field(description="What to ask")
    target: str = Field(
        default="",
        max_length=LONGEST_TEXT,
        description='A name ("Cart.total"); a path for outline, imports and tests; a text for similar',
    )


class CodeAnswer(BaseModel):
    """Answer of the code index. truncated: the answer is longer than what is returned"""

    found: bool
    answer: Any = Field(description="Definitions, uses, files or an outline, by the query")
    truncated: bool = False


class MapArguments(Arguments):
    """Arguments of `map`."""

    topic: str = Field(
        default="", max_length=LONGEST_TEXT, description="What the map is about; empty for the whole project"
    )
    tokens: int = Field(
        default=2000, ge=LEAST_TOKENS, le=MOST_TOKENS, description="Size of the map in tokens, about"
    )


class LocalizeArguments(Arguments):
    """Arguments of `localize` in a server that only reads."""

    text: str = Field(
        min_length=1, max_length=LONGEST_TEXT, description="An issue, a question or a stack trace"
    )


class LocalizeFaultArguments(Arguments):
    """Arguments of `localize`: either of them."""

    text: str = Field(
        default="", max_length=LONGEST_TEXT, description="An issue, a question or a stack trace"
    )
    tests: list[str] = Field(
        default=[],
        max_length=200,
        description='Failing test ids, files or folders to run, or ["all"]; instead of a text',
    )


class Localization(BaseModel):
    """Places, the likeliest first. Of a text: files and functions; of failing tests: suspects, which are statements."""

    files: list[dict[str, Any]] = []
    functions: list[dict[str, Any]] = []
    suspects: list[dict[str, Any]] = []
    reason: str = Field(default="", description="Why there are no suspects")
    truncated: bool = False


@tool(effect="read", name="map")
async def code_map(topic: str, tokens: int, *, at: Workspace) -> Observation:
    """Show the main files and the symbols that others use."""
    from tools.code.code_tool import query_index
    from tools.code.localization import build_map_answer

    found = await asyncio.to_thread(query_index, at, lambda index: build_map_answer(index, topic, tokens))
    return Observation(text=found.text, data={"code": found.data})


async def query_symbols(
    arguments: SymbolsArguments, repository: ServedRepository, call: OpenCall
) -> ToolResult:
    """Answer a query of the code index."""
    async with repository.open_actions(call, "code", mode=Mode.READ_ONLY) as runtime:
        asked = {"action": arguments.query, "target": arguments.target}
        return _build_answer(await run_action(runtime, "code", asked))


async def show_map(arguments: MapArguments, repository: ServedRepository, call: OpenCall) -> ToolResult:
    """Answer with the map of the code."""
    async with repository.open_actions(call, mode=Mode.READ_ONLY) as runtime:
        runtime.toolbox.add(accepted=[code_map])
        asked = {"topic": arguments.topic, "tokens": arguments.tokens}
        return _build_answer(await run_action(runtime, "map", asked))


async def localize(
    arguments: LocalizeArguments | LocalizeFaultArguments, repository: ServedRepository, call: OpenCall
) -> ToolResult:
    """Rank places by a text, or by the tests that fail."""
    tests = arguments.tests if isinstance(arguments, LocalizeFaultArguments) else []
    if bool(tests) == bool(arguments.text.strip()):
        raise UserError(Fault.USAGE, "localize: give either a text or tests")
    if tests:
        async with repository.open_actions(call, "localize") as runtime:
            targets = [] if "all" in tests else tests
            return _build_suspects(await run_action(runtime, "localize", {"targets": targets}))
    async with repository.open_actions(call, "code", mode=Mode.READ_ONLY) as runtime:
        found = await run_action(runtime, "code", {"action": "locate", "target": arguments.text})
        if found.failed:
            return ToolResult(text=found.text, data=Localization(reason=found.text), failed=True)
        places, cut = bound_json(found.data["code"])
        return ToolResult(text=found.text, data=Localization(**(places or {}), truncated=cut))


def _build_answer(found: Observation) -> ToolResult:
    if found.failed:
        return ToolResult(text=found.text, data=CodeAnswer(found=False, answer=None), failed=True)
    answer, cut = bound_json(found.data["code"])
    return ToolResult(
        text=found.text, data=CodeAnswer(found=bool(found.data["code"]), answer=answer, truncated=cut)
    )


def _build_suspects(found: Observation) -> ToolResult:
    suspects, cut = bound_json(list(found.data.get("suspects", [])))
    reason = str(found.data.get("repair", {}).get("reason", "")) or (found.text if found.failed else "")
    data = Localization(suspects=suspects or [], reason=reason, truncated=cut)
    return ToolResult(text=found.text, data=data, failed=found.failed)


SYMBOLS = ServedTool(
    name="symbols",
    title="Ask the code index",
    description=(
        "Where a name is defined, used or called, what a file defines and imports, which tests its change may"
        " affect. Reads the repository's index, which is brought up to date first; runs nothing."
    ),
    arguments=SymbolsArguments,
    result=CodeAnswer,
    run=query_symbols,
    reads_only=True,
)

MAP = ServedTool(
    name="map",
    title="Map of the code",
    description="The main files and the symbols that others use, around a topic or of the whole project.",
    arguments=MapArguments,
    result=CodeAnswer,
    run=show_map,
    reads_only=True,
)

LOCALIZE_TEXT = ServedTool(
    name="localize",
    title="Find the place of an issue",
    description="The files and functions that an issue, a question or a stack trace speaks of, the likeliest first.",
    arguments=LocalizeArguments,
    result=Localization,
    run=localize,
    reads_only=True,
)

LOCALIZE = ServedTool(
    name="localize",
    title="Find the place of an issue or of a fault",
    description=(
        "The files and functions that an issue, a question or a stack trace speaks of; or, for failing tests, the"
        " statements that are most likely at fault: runs the tests in the sandbox."
    ),
    arguments=LocalizeFaultArguments,
    result=Localization,
    run=localize,
)
