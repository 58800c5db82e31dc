"""`python`: code as the action, run in a kernel that lives as long as the session, with the tools as
functions.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from tools.core.action import Effect, Observation, ToolFailure
from tools.core.registry import tool
from tools.core.text import format_count
from tools.core.workspace import Workspace

if TYPE_CHECKING:
    from tools.kernel.kernel_process import BlockResult

MAX_TIMEOUT = 3600
"""Seconds: nothing that a step waits for should take longer."""

BUDGET = 16_000
"""Characters of output shown, about 4k tokens."""


def _effect(arguments: Mapping[str, Any], at: Workspace) -> Effect:
    return Effect(kind="execute", argv=("python", "-c", str(arguments["code"])))


@tool(effect=_effect)
async def python(code: str, timeout: int | None = None, *, at: Workspace) -> Observation:
    """Run Python in a lasting sandboxed kernel, with the tools as functions (help(search)): many calls in one."""
    if not code.strip():
        raise ToolFailure("python: the code is empty")
    if timeout is not None and not 1 <= timeout <= MAX_TIMEOUT:
        raise ToolFailure(f"python: timeout must be 1 to {MAX_TIMEOUT} seconds (got {timeout!r})")
    if at.kernel is None:
        raise ToolFailure("python: there is no kernel in this session: use shell")
    seconds = float(timeout or at.settings.shell_timeout)
    block = await at.kernel.run(code, seconds=seconds)
    return await asyncio.to_thread(_build_observation, at, block, seconds)


def _build_observation(at: Workspace, block: BlockResult, limit: float) -> Observation:
    from tools.shell.command_output import shape_output

    output = shape_output(at, block.output, budget=BUDGET)
    refs = [at.artifacts.save(picture) for picture in block.pictures]
    table = at.artifacts.save(block.table.encode("utf-8", "replace")) if block.table else ""
    parts = [
        _describe_end(block, limit),
        output.text,
        block.error,
        f"=> {block.value}" if block.value else "",
        *(f"[a picture: {ref}, PNG]" for ref in refs),
        f'[the whole table: recall(ref="{table}"), CSV]' if table else "",
        _describe_running(block),
        *block.noticed,
    ]
    data: dict[str, Any] = {
        "ended": block.ended,
        "seconds": round(block.seconds, 3),
        "calls": block.calls,
        **({"pictures": refs} if refs else {}),
        **({"ends": True, **block.finished} if block.finished is not None else {}),
    }
    failed = block.ended != "ok"
    return Observation(
        text="\n".join(part for part in parts if part), data=data, ref=output.ref, failed=failed
    )


def _describe_end(block: BlockResult, limit: float) -> str:
    after = f" after {block.seconds:.1f} s" if block.seconds >= 1 else ""
    match block.ended:
        case "ok":
            return f"ok{after}"
        case "error":
            return f"error{after}"
        case "timeout":
            kept = _describe_lost_variables(block) or "; variables are kept"
            return f"stopped after {limit:g} s, the time limit (timeout= raises it up to {MAX_TIMEOUT}){kept}"
        case "interrupted":
            return f"interrupted{after}{_describe_lost_variables(block)}"
        case _:
            return f"the kernel ended{after}: {block.death_reason}{_describe_lost_variables(block)}"


def _describe_lost_variables(block: BlockResult) -> str:
    if not block.death_reason:
        return ""
    names = f" ({', '.join(block.lost_names)})" if block.lost_names else ""
    return f"; all variables are lost{names}; the next block starts a new kernel"


def _describe_running(block: BlockResult) -> str:
    left = [format_count(count, what) for what, count in block.left_running.items() if count]
    return f"[still running in the kernel: {' and '.join(left)}]" if left else ""
