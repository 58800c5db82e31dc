"""`check_tests`, `show_test_command`: questions about the tests, answered without a write to the project."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from sandbox.errors import UserError
from sandbox.policy.decision import Mode
from tools.core.action import Observation, ToolFailure
from tools.core.registry import tool
from tools.core.workspace import Workspace

CHECKED = "checked_tests"
"""Key of the report in an observation's data: it is no evidence for a turn's verification, whose runs may write."""


@tool(effect="execute")
async def check_tests(targets: list[str] = [], *, at: Workspace) -> Observation:  # noqa: B006 - never changed
    """Run the project's tests, which can write nothing to the project.

    targets: test ids or paths; empty for all
    """
    from tools.testing.suite_run import run_project

    report = await run_project(replace(at, mode=Mode.READ_ONLY), targets)
    data: dict[str, Any] = {CHECKED: replace(report, targets=tuple(targets)).as_data()}
    if report.outcome == "no-runner":
        raise ToolFailure(report.format_text(), **data)
    return Observation(text=report.format_text(), data=data, ref=report.ref, value=report)


@tool(effect="execute")
async def show_test_command(targets: list[str] = [], *, at: Workspace) -> Observation:  # noqa: B006 - never changed
    """Show the command that runs the project's tests, without running them.

    targets: test ids or paths; empty for all
    """
    import tempfile

    from tools.testing.project_files import TestsNotRunnable
    from tools.testing.report import RUNNERS_JOIN
    from tools.testing.runners import choose_launches

    try:
        with tempfile.TemporaryDirectory() as scratch:
            launches, _ = await choose_launches(at, targets, Path(scratch))
    except TestsNotRunnable as problem:
        raise ToolFailure(f"show_test_command: {problem}") from None
    except UserError as error:
        raise ToolFailure(f"show_test_command: {error.message}. {error.hint}".rstrip(". ")) from None
    command = " && ".join(each.command for each in launches)
    runner = RUNNERS_JOIN.join(dict.fromkeys(each.runner for each in launches))
    return Observation(
        text=f"{runner}: {command}", data={"test_command": {"runner": runner, "command": command}}
    )
