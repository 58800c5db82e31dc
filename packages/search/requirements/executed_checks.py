"""Checks of requirements that run something: a command or tests, as actions of the session under its policy."""

from __future__ import annotations

import asyncio
import re

from agent.events import Verification
from agent.verify.requirement import Requirement, Result
from agent.verify.suite_verifier import RunAction
from sandbox.errors import UserError
from tools.core.action import Observation
from tools.core.untrusted_output import quote_lines
from tools.core.workspace import Workspace

MOST_QUOTED = 20
"""Last lines of an output that the model is shown."""


async def check_by_running(
    each: Requirement, at: Workspace, run_action: RunAction, verification: Verification
) -> tuple[Result, str]:
    """Return the result of a requirement of the kind `command` or `tests`, and the end of the output if it failed.

    verification: of the whole suite in this turn, which excuses what failed before in the same way
    """
    if each.kind in ("result", "output"):
        from packages.search.requirements.stated_results import check_stated_output, check_stated_result

        if each.kind == "output":
            return await check_stated_output(each, run_action), ""
        return await check_stated_result(each, at, run_action), ""
    if each.kind == "command":
        made = await run_action("shell", {"command": each.check})
        if "exit" not in made.data:  # refused, or nothing that could be run
            return Result(detail=f"not run: {_read_first_line(made)}"), ""
        code = made.data["exit"]
        return _judge(code == 0, f"exit {code}", made)
    if not each.check and verification.outcome in ("passed", "failed"):
        passed = verification.outcome == "passed"
        return Result(
            state="met" if passed else "not met", evidence="executed", detail=verification.detail
        ), ""
    if each.check.startswith("-"):  # an option of the runner
        return Result(detail=f"not run: {each.check!r} is no test"), ""
    targets = [] if not each.check else await asyncio.to_thread(_find_targets, each.check, at)
    if targets is None:
        return Result(state="not met", evidence="static", detail=f"there is no test {each.check}"), ""
    made = await run_action("run_tests", {"targets": targets})
    report = made.data.get("report")
    if not isinstance(report, dict) or report.get("outcome") in ("no-runner", "unverified"):
        return Result(detail=f"not run: {_read_first_line(made)}"), ""
    told = (
        f"{report.get('passed', 0)} passed"
        if report.get("outcome") == "passed"
        else str(report.get("outcome"))
    )
    return _judge(report.get("outcome") == "passed", told, made)


def _judge(passed: bool, told: str, made: Observation) -> tuple[Result, str]:
    detail = f"{told} ({made.ref})" if made.ref else told
    if passed:
        return Result(state="met", evidence="executed", detail=detail), ""
    shown = quote_lines(made.text.splitlines()[-MOST_QUOTED:])
    return Result(state="not met", evidence="executed", detail=detail), shown


def _read_first_line(made: Observation) -> str:
    return next((line.strip() for line in made.text.splitlines() if line.strip()), "nothing came of it")[:200]


def _find_targets(test: str, at: Workspace) -> list[str] | None:
    """Return what `run_tests` takes for a test: a bare name is looked up; None if there is none of that name."""
    if not re.fullmatch(r"test_\w+", test):
        return [test]
    from packages.search.requirements.static_checks import query_definitions

    try:
        found = query_definitions(test, at)
    except UserError:
        return [test]
    return ["::".join([each.path, *each.symbol.name.split(".")]) for each in found] or None
