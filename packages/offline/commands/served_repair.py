"""`repair`: the offline engine looks for small changes that make failing tests pass."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field

from cli.protocols.mcp_server.bounded_json import bound_json
from cli.protocols.mcp_server.offered.actions import run_action
from cli.protocols.mcp_server.offered.apply_tool import plan_changes_diff, write_patch
from cli.protocols.mcp_server.open_call import OpenCall
from cli.protocols.mcp_server.served_repository import ServedRepository
from cli.protocols.mcp_server.served_tool import Arguments, ServedTool
from cli.protocols.mcp_server.tool_result import ToolResult
from packages.offline.repair.result import LOW
from sandbox.errors import Fault, UserError

if TYPE_CHECKING:
    from agent.turn.runtime import Runtime
    from tools.core.workspace import Workspace

LONGEST_BUDGET = 3600
"""Seconds of a search."""

MOST_ALTERNATIVES = 3


class RepairArguments(Arguments):
    """Arguments of `repair`."""

    tests: list[str] = Field(
        default=[], max_length=200, description="Failing test ids, files or folders; empty for all tests"
    )
    hint: str = Field(
        default="", max_length=2_000, description='Where to look first: "cart.py::total off by one"'
    )
    budget: int = Field(default=60, ge=1, le=LONGEST_BUDGET, description="Seconds to search")
    apply: bool = Field(default=False, description="Write the changes that are not doubtful")


class FoundFix(BaseModel):
    """A change that makes tests pass. confidence: from 0 to 1; below 0.5 it may only fit the tests

    own_work: a person's fresh work that is the suspect, and that this change takes back or works around
    """

    path: str
    line: int
    function: str = ""
    old: str
    new: str
    why: str
    tests: list[str] = []
    confidence: float
    own_work: str = ""


class Repair(BaseModel):
    """Result of a search. patch: of the fixes that are not doubtful; withheld: number of the doubtful ones"""

    outcome: str
    reason: str
    patch: str = ""
    applied: bool = False
    withheld: int = 0
    fixes: list[FoundFix] = []
    alternatives: list[list[FoundFix]] = []
    failing: list[str] = []
    left: list[str] = Field(default=[], description="Tests that still fail")
    truncated: bool = False


async def repair(arguments: RepairArguments, repository: ServedRepository, call: OpenCall) -> ToolResult:
    """Search for changes; write them if the caller asks for it."""
    async with repository.open_actions(call, "repair", "apply_patch") as runtime:
        asked = {"targets": arguments.tests, "hint": arguments.hint, "budget": arguments.budget}
        found = await run_action(runtime, "repair", asked)
        if "repair" not in found.data:
            problem = Repair(outcome="failed", reason=found.text)
            return ToolResult(text=found.text, data=problem, failed=True)
        result = _build_result(found.data["repair"])
        sure = [each for each in result.fixes if each.confidence >= LOW]
        if not sure:
            return ToolResult(text=_format_text(found.text, result), data=result, failed=found.failed)
        if not arguments.apply:
            patch = await asyncio.to_thread(_build_patch, runtime.workspace, sure)
            data = result.model_copy(update={"patch": patch})
            return ToolResult(text=_format_text(found.text, data), data=data)
        async with repository.write_in_turn(call):
            patch = await asyncio.to_thread(_build_patch, runtime.workspace, sure)
            data = result.model_copy(update={"patch": patch})
            return await _apply_patch(runtime, data)


async def _apply_patch(runtime: Runtime, result: Repair) -> ToolResult:
    written = await write_patch(runtime, result.patch)
    done = result.model_copy(update={"applied": not written.failed})
    text = f"{_format_text('', done)}\n{written.text}"
    return ToolResult(text=text, data=done, failed=written.failed)


def _format_text(findings: str, result: Repair) -> str:
    """Return a result for a model: its patch, or without one the findings of the engine."""
    if not result.patch:
        return findings
    state = "applied" if result.applied else "not applied: call again with apply, or apply the patch"
    lines = [f"{result.outcome}: {result.reason}", f"{state}:", result.patch.rstrip("\n")]
    if result.withheld:
        lines.append(f"{result.withheld} more changes are doubtful: they may only fit the tests (see fixes)")
    if result.left:
        lines.append(f"still failing: {', '.join(result.left[:20])}")
    return "\n".join(lines)


def _build_result(data: dict[str, Any]) -> Repair:
    """Return the engine's result; fixes behind the first doubtful one count as doubtful: they were found with it."""
    fixes, is_sure = [], True
    for each in data["fixes"]:
        is_sure = is_sure and each["confidence"] >= LOW and not each.get("own_work")
        fixes.append(each if is_sure else {**each, "confidence": min(each["confidence"], 0.49)})
    kept = {name: data[name] for name in ("outcome", "reason", "failing", "left")}
    kept |= {"fixes": fixes, "alternatives": data["alternatives"][:MOST_ALTERNATIVES]}
    bounded, cut = bound_json(kept)
    if cut:  # a cut fix could not be applied: only whole ones are returned
        bounded = {**kept, "fixes": fixes[:20], "alternatives": [], "failing": [], "left": kept["left"][:20]}
    withheld = sum(each["confidence"] < LOW for each in fixes)
    return Repair.model_validate({**bounded, "withheld": withheld, "truncated": cut})


def _build_patch(at: Workspace, fixes: Sequence[FoundFix]) -> str:
    """Return the fixes as one unified diff of the files as they are. Raises UserError if they have changed."""
    from tools.edit.edit_model import Replace, Update

    changes = [Update(path=each.path, edits=(Replace(old=each.old, new=each.new),)) for each in fixes]
    try:
        return plan_changes_diff(at, changes)[1]
    except ValueError as problem:
        raise UserError(
            Fault.USAGE, f"a file was changed while the search ran: {problem}", "Call it again."
        ) from None


REPAIR = ServedTool(
    name="repair",
    title="Repair failing tests",
    description=(
        "Look for small changes that make failing tests pass and break no other, without a model: in Python, and less"
        " well in Go, JavaScript, TypeScript, Java, Rust and C. Returns a patch; nothing is written unless"
        " apply is set, and a doubtful change never."
    ),
    arguments=RepairArguments,
    result=Repair,
    run=repair,
    destructive=True,
)
