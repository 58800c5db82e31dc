"""`run_tests`: the project's tests in the sandbox, with any runner, as one structure."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, Field

from cli.protocols.mcp_server.bounded_json import bound_json
from cli.protocols.mcp_server.offered.actions import run_action
from cli.protocols.mcp_server.open_call import OpenCall
from cli.protocols.mcp_server.served_repository import ServedRepository
from cli.protocols.mcp_server.served_tool import Arguments, ServedTool
from cli.protocols.mcp_server.tool_result import ToolResult


class RunTestsArguments(Arguments):
    """Arguments of `run_tests`."""

    tests: list[str] = Field(
        default=[], max_length=500, description="Test ids, files or folders; empty for all tests"
    )


class Failure(BaseModel):
    """A test that failed or could not run. file, line: the innermost place in the project, where known"""

    id: str
    file: str = ""
    line: int = 0
    message: str = ""
    detail: str = ""


class TestRun(BaseModel):
    """Result of a test run.

    outcome: passed, failed, no-tests, no-runner, broken, timeout, unverified (exit 0, nothing counted) or denied
    """

    __test__ = False

    outcome: str
    runner: str = ""
    command: str = ""
    collected: int = 0
    passed: int = 0
    failed: int = 0
    errors: int = 0
    skipped: int = 0
    xfailed: int = 0
    duration: float = 0.0
    failures: list[Failure] = []
    note: str = ""
    truncated: bool = False


async def run_tests(arguments: RunTestsArguments, repository: ServedRepository, call: OpenCall) -> ToolResult:
    """Run the tests."""
    async with repository.open_actions(call, "run_tests") as runtime:
        found = await run_action(runtime, "run_tests", {"targets": arguments.tests})
    report: dict[str, Any] = dict(found.data.get("report", {}))
    if not report:
        outcome = "denied" if found.data.get("denied") else "broken"
        return ToolResult(text=found.text, data=TestRun(outcome=outcome, note=found.text), failed=True)
    kept = {name: report[name] for name in TestRun.model_fields if name in report}
    bounded, cut = bound_json(kept)
    run = TestRun.model_validate({**(bounded or {"outcome": report["outcome"]}), "truncated": cut})
    return ToolResult(text=found.text, data=run, failed=found.failed)


RUN_TESTS = ServedTool(
    name="run_tests",
    title="Run the tests",
    description=(
        "Run the project's tests in the sandbox, all or some, and report them as one structure: counts, and each"
        " failure with its place and message. The runner is found by itself."
    ),
    arguments=RunTestsArguments,
    result=TestRun,
    run=run_tests,
    idempotent=True,
)
