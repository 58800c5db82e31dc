"""Run a project's tests with any runner, and report the result in one structure."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from tools.core.action import Observation, ToolFailure
from tools.core.registry import tool
from tools.core.workspace import Workspace

if TYPE_CHECKING:
    from tools.testing.report import TestReport


@tool(effect="execute")
async def run_tests(targets: list[str] = [], *, at: Workspace) -> Observation:  # noqa: B006 - never changed
    """Run the project's tests: all, or some ids or paths."""
    report = await run(at, targets)
    if report.outcome == "no-runner":
        raise ToolFailure(report.format_text(), report=report.as_data())
    told = report.as_data()
    missing = _find_missing(at, report, told) if report.failures else {}
    return Observation(
        text="\n".join(filter(None, (report.format_text(), missing.get("text", "")))),
        data={"report": told, **({"missing": missing} if missing else {})},
        ref=report.ref,
        failed=report.outcome in ("broken", "no-tests", "timeout"),
        value=report,
    )


def _find_missing(at: Workspace, report: TestReport, told: dict[str, Any]) -> dict[str, str]:
    """Return what the machine lacks if that is why all of the tests fail, in words and as reason and remedy."""
    from tools.testing.failure_causes import find_machine_cause

    program = report.command.split(" ", 1)[0]
    cause = find_machine_cause(told, at.root, program if "python" in program else "python3")
    if cause is None:
        return {}
    text = f"No change of the code mends this: {cause.reason}. To get it: {cause.remedy}"
    return {"reason": cause.reason, "remedy": cause.remedy, "text": text}


async def run(at: Workspace, targets: Sequence[str] = ()) -> TestReport:
    """Run the tests; the report is also stored in `at.facts["tests"]`. A missing runner is an outcome too."""
    from dataclasses import replace

    from tools.testing.suite_run import (
        run_project,  # the runners are loaded when tests are run, not at the start
    )

    report = await run_project(at, targets)
    report = replace(report, targets=tuple(targets)) if targets else _note_lost_tests(at, report)
    at.facts["tests"] = report
    return report


def _note_lost_tests(at: Workspace, report: TestReport) -> TestReport:
    """Add to the report of a full run which tests were lost since the session's last full run."""
    from dataclasses import replace

    from tools.testing.run_comparison import describe_loss

    before: TestReport | None = at.facts.get("suite")
    at.facts["suite"] = report
    loss = describe_loss(before.as_data(), report.as_data()) if before is not None else ""
    return replace(report, note=" ".join(filter(None, (report.note, loss))))
