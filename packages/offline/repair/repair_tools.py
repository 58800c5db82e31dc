"""`localize`, `why_failing`, `repair`: find and fix the cause of failing tests, without a model. Imported on demand."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from tools.core.action import Observation, ToolFailure
from tools.core.registry import tool
from tools.core.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Sequence

    from packages.offline.repair.localize.suspicious_place import SuspiciousPlace
    from packages.offline.repair.result import RepairResult

__all__ = ["localize", "repair", "why_failing"]

# Seconds for a ranking: it runs the tests at most twice.
LOCALIZE_SECONDS = 120.0
# A search beyond an hour has no prospects left; a model must not block a session for longer by mistake.
LONGEST_BUDGET = 3600
# Seconds of a turn that are kept for its end after a search, and runs of the suite that come then, one of them slower
# than the last.
ENDING, RERUNS = 2.5, 1.3
SHOWN_SUSPECTS = 10
SHOWN_TESTS = 5


@tool(effect="execute")
async def localize(targets: list[str] = [], *, at: Workspace) -> Observation:  # noqa: B006 - never changed
    """Rank the lines likely at fault for failing tests."""
    from packages.offline.repair.engine.repair_engine import localize_faults
    from packages.offline.repair.result import format_failure_trace, suspect_to_data
    from tools.testing.named_command import find_named_files

    targets = targets or await find_named_files(at)
    result, _ = await localize_faults(at, targets, _compute_ranking_seconds(at))
    if not result.suspects:
        raise ToolFailure(f"localize: {result.reason}", repair=result.as_data())
    lines = [
        f"{len(result.left)} failing: {_join_test_names(result.left)}",
        *_format_suspects(result.suspects),
    ]
    lines += format_failure_trace(result)
    return Observation(
        text="\n".join(lines), data={"suspects": [suspect_to_data(s) for s in result.suspects]}
    )


@tool(effect="execute")
async def why_failing(test: str = "", *, at: Workspace) -> Observation:
    """Trace a failing Python test back to the lines that set its values."""
    from packages.offline.repair.engine.repair_engine import localize_faults
    from packages.offline.repair.result import failure_trace_to_data, format_failure_trace

    result, _ = await localize_faults(at, [test] if test else [], _compute_ranking_seconds(at))
    lines = format_failure_trace(result)
    if not (result.left and lines):
        reason = "no line of the project that ran in Python made its values" if result.left else result.reason
        raise ToolFailure(f"why_failing: {reason}", repair=result.as_data())
    lines.insert(1, f"  {result.messages.get(result.why[0], '')}")
    return Observation(text="\n".join(lines), data={"why": failure_trace_to_data(result)})


@tool(effect="execute")
async def repair(targets: list[str] = [], hint: str = "", budget: int = 60, *, at: Workspace) -> Observation:  # noqa: B006 - never changed
    """Search small changes that mend failing tests; none is applied."""
    from packages.offline.repair.engine import repair_engine
    from tools.testing.named_command import find_named_files

    if not 1 <= budget <= LONGEST_BUDGET:
        raise ToolFailure(f"repair: budget={budget} is not between 1 and {LONGEST_BUDGET} seconds")
    most = _compute_most_seconds(at)
    targets = targets or await find_named_files(at)
    result = await repair_engine.repair(
        at, targets=targets, hint=hint, budget=min(budget, most), most=most, on_progress=at.progress
    )
    nested = await asyncio.to_thread(_list_nested_repositories, at, result)
    return Observation(
        text="\n".join([_format_result(result), *nested]),
        data={"repair": result.as_data(), "nested": nested},
        failed=not result.fixes and result.outcome != "all-pass",
    )


def _compute_ranking_seconds(at: Workspace) -> float:
    """Return the seconds that a ranking may take: of a turn at most a third of what is left."""
    return min(LOCALIZE_SECONDS, at.seconds_left() / 3)


def _compute_most_seconds(at: Workspace) -> float:
    """Return the wall seconds of the turn that a search may take: its changes have to be written and tested.

    Where there is not enough for that, half of what is left: shown changes are better than none.
    """
    left, last = at.seconds_left(), at.facts.get("tests")
    reserve = ENDING
    if last is not None and last.outcome != "timeout":
        reserve += RERUNS * last.duration
    return max(left - reserve, left / 2)


def _list_nested_repositories(at: Workspace, result: RepairResult) -> list[str]:
    """Return a line for each submodule or other inner repository that holds tests which still fail."""
    from sandbox.fs.repository import find_inner_repository

    paths = dict.fromkeys(test.partition("::")[0] for test in result.left)
    folders = dict.fromkeys(find_inner_repository(at.root, path) for path in paths)
    return [
        f"{folder}/ is a repository of its own: its files are not changed from here; run patchwright inside it"
        f" (patchwright run … -C {folder})"
        for folder in folders
        if folder
    ]


def _format_result(result: RepairResult) -> str:
    from packages.offline.repair.engine.candidates.ranking import describe_confidence

    lines = [f"repair: {result.reason}"]
    if result.fixes:
        lines.append(
            f"{len(result.fixes)} found, none applied yet: apply each with edit, in this order "
            f"({result.tried} tried in {result.seconds:.1f} s; checked against {result.checked} passing tests)"
        )
    elif result.tried:
        lines.append(f"{result.tried} changes tried in {result.seconds:.1f} s")
    for number, fix in enumerate(result.fixes, 1):
        lines += [
            f"{number}. {fix.path}:{fix.line}: {fix.why}",
            f"   makes pass: {_join_test_names(fix.tests)}",
        ]
        why = f" ({fix.doubt})" if fix.doubt and not fix.is_sure else ""
        lines += [f"   confidence: {describe_confidence(fix.confidence)}{why}"]
        if fix.own_work:
            lines.append(f"   suspect: {fix.own_work}. Ask the user before you take their work back")
        lines += ["   old:", *_indent_lines(fix.old), "   new:", *_indent_lines(fix.new)]
    if result.alternatives:
        lines.append("would pass the same tests, not run against the whole suite:")
        lines += [f"  {fix.path}:{fix.line}: {fix.why}" for each in result.alternatives[:3] for fix in each]
    if result.left:
        lines.append(f"still failing: {_join_test_names(result.left)}")
        lines += [f"  {test}: {result.messages[test]}" for test in result.left[:SHOWN_TESTS]]
    if result.suspects:
        lines += ["most suspicious:", *_format_suspects(result.suspects)]
    if result.unsteady:
        lines.append(
            f"left out, since they do not come out the same each time: {_join_test_names(result.unsteady)}"
        )
    return "\n".join(lines)


def _format_suspects(suspects: Sequence[SuspiciousPlace]) -> list[str]:
    return [
        f"  {each.score:.2f}  {each.path}:{each.line}  {each.code[:100]}   "
        f"({each.failing} failing, {each.passing} passing tests run it)"
        for each in suspects[:SHOWN_SUSPECTS]
    ]


def _join_test_names(tests: tuple[str, ...]) -> str:
    shown = ", ".join(tests[:SHOWN_TESTS])
    return f"{shown} and {len(tests) - SHOWN_TESTS} more" if len(tests) > SHOWN_TESTS else shown


def _indent_lines(text: str) -> list[str]:
    return [f"     {line}" for line in text.split("\n")]
