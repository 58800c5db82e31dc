"""`apply`: a patch in any format, by the edit engine: all of it or nothing."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import TYPE_CHECKING

from pydantic import BaseModel, Field

from agent.turn.runtime import Runtime
from cli.protocols.mcp_server.bounded_json import bound_json
from cli.protocols.mcp_server.offered.actions import run_action
from cli.protocols.mcp_server.open_call import OpenCall
from cli.protocols.mcp_server.served_repository import ServedRepository
from cli.protocols.mcp_server.served_tool import Arguments, ServedTool
from cli.protocols.mcp_server.tool_result import ToolResult
from sandbox.policy.decision import Mode

if TYPE_CHECKING:
    from tools.core.workspace import Workspace
    from tools.edit.edit_model import FileChange

LONGEST_PATCH = 2_000_000
"""Characters of a patch."""

LONGEST_DIFF = 40_000
"""Characters of a diff that is returned."""


class ApplyArguments(Arguments):
    """Arguments of `apply`."""

    patch: str = Field(
        min_length=1,
        max_length=LONGEST_PATCH,
        description="SEARCH/REPLACE blocks, *** Begin Patch … *** End Patch, or a unified diff",
    )
    dry_run: bool = Field(default=False, description="Return what would change, write nothing")


class Applied(BaseModel):
    """Result of a patch. diff: as it was, or would be, applied; problem: why nothing was written"""

    applied: bool
    files: list[str] = []
    diff: str = ""
    problem: str = ""
    truncated: bool = False


async def apply_patch(arguments: ApplyArguments, repository: ServedRepository, call: OpenCall) -> ToolResult:
    """Apply a patch, or plan it."""
    if arguments.dry_run:
        async with repository.open_actions(call, mode=Mode.READ_ONLY) as runtime:
            return await asyncio.to_thread(_plan_patch, runtime.workspace, arguments.patch)
    async with (
        repository.write_in_turn(call),
        repository.open_actions(call, "apply_patch") as runtime,
    ):
        return await write_patch(runtime, arguments.patch)


async def write_patch(runtime: Runtime, patch: str) -> ToolResult:
    """Apply a patch in an open session: judged by the policy, journaled, all or nothing."""
    found = await run_action(runtime, "apply_patch", {"patch": patch})
    if found.failed:
        return ToolResult(text=found.text, data=Applied(applied=False, problem=found.text), failed=True)
    files = found.data.get("files") or [found.data["path"]]
    return ToolResult(text=found.text, data=_build_applied(list(files), str(found.data.get("diff", ""))))


def plan_changes_diff(at: Workspace, changes: Sequence[FileChange]) -> tuple[list[str], str]:
    """Return the files that changes would touch, and their unified diff. Raises ValueError if they do not fit."""
    from sandbox.fs.transaction.transaction_plan import plan_transaction
    from tools.core.text import format_unified_diff
    from tools.edit.apply.edit_plan import build_writes
    from tools.edit.apply.planner import plan_changes

    planned = plan_changes(at.files, changes)
    plan_transaction(at.files, build_writes(planned))
    shown = [each for each in planned if each.has_changes and not each.to]
    diffs = (format_unified_diff(each.path, each.old_text, each.new_text, each.source) for each in shown)
    return [each.path for each in shown], "".join(diffs)


def _plan_patch(at: Workspace, patch: str) -> ToolResult:
    from tools.edit.edit_model import MalformedEdit
    from tools.edit.formats import parse_edits

    try:
        files, diff = plan_changes_diff(at, parse_edits(patch))
    except (MalformedEdit, ValueError) as problem:  # a refusal is a ValueError, too
        text = f"nothing would be written: {problem}"
        return ToolResult(text=text, data=Applied(applied=False, problem=str(problem)), failed=True)
    data = _build_applied(files, diff).model_copy(update={"applied": False})
    return ToolResult(text=data.diff or "nothing to do: it is applied already", data=data)


def _build_applied(files: list[str], diff: str) -> Applied:
    shown, cut = bound_json(files, 8_000)
    return Applied(
        applied=bool(diff),
        files=shown or [],
        diff=diff if len(diff) <= LONGEST_DIFF else diff[:LONGEST_DIFF],
        truncated=cut or len(diff) > LONGEST_DIFF,
    )


APPLY = ServedTool(
    name="apply",
    title="Apply a patch",
    description=(
        "Apply a patch to the files: all of it or nothing. Small slips in the old text (spaces, a changed line nearby)"
        " are recognised; a place that is not certain is refused. With dry_run, returns the diff and writes nothing."
    ),
    arguments=ApplyArguments,
    result=Applied,
    run=apply_patch,
    destructive=True,
    idempotent=True,
)
