"""How the doctor finds out whether a project's tests can run here: it collects them where the runner can."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cli.commands.setup.doctor_finding import Finding
from sandbox.errors import UserError

if TYPE_CHECKING:
    from sandbox.process.command import Sandbox

UNTRIED = " (not tried: it lists no tests without running them)"
"""End of the words for tests that can only be run."""


def check_test_runner(root: Path | None, sandbox: Sandbox | None, scratch: Path) -> list[Finding]:
    """Report how this project's tests would be run: collected where the runner can, and not run."""
    from sandbox.process.bounded_end import run_loop

    if root is None or sandbox is None:
        return []
    from sandbox.fs.workspace_tree import Tree
    from tools.core.artifacts import Artifacts
    from tools.core.tool_folders import ToolFolders
    from tools.core.workspace import Workspace
    from tools.testing.inspection import inspect_suites
    from tools.testing.project_files import TestsNotRunnable
    from tools.testing.suite_run import list_tests

    at = Workspace(
        root=root,
        files=Tree(root),
        sandbox=sandbox,
        artifacts=Artifacts(scratch / "artifacts"),
        journal=scratch / "journal",
        folders=ToolFolders(cache=scratch),
    )

    try:
        suites, problems = run_loop(inspect_suites(at, scratch))
    except (TestsNotRunnable, UserError) as error:
        hint = 'Name one: --tests "python -m pytest", or tests.command in patchwright.toml'
        return [Finding(name="tests", verdict="warn", detail=str(error), hint=hint)]
    detail = "; ".join([*(f"{each.runner}: {each.command}" for each in suites), *problems])
    stopped = next((each for each in suites if each.obstacle), None)
    if stopped is not None:
        detail = f"{detail}, but {stopped.obstacle}"
        return [Finding(name="tests", verdict="warn", detail=detail, hint=stopped.remedy)]
    listing = [each for each in suites if each.can_list]
    if not listing:
        return [Finding(name="tests", verdict="good", detail=f"{detail}{UNTRIED}")]
    listed = run_loop(list_tests(at))
    if not any(listed.get(each.runner) for each in listing):
        hint = f"Run it, and mend its first error: {listing[0].command}"
        return [
            Finding(name="tests", verdict="warn", detail=f"{detail}, but no test was collected", hint=hint)
        ]
    count = sum(map(len, listed.values()))
    return [Finding(name="tests", verdict="good", detail=f"{detail} ({count} collected)")]
