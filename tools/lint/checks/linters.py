"""The project's own linters and formatters on the staged files: findings in new lines."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from tools.git.git_change import Change, File
from tools.lint.checks.finding import Finding
from tools.lint.linters.project_linters import ConfiguredLinter, can_run_linters, run_linter

if TYPE_CHECKING:
    from sandbox.process.command import Sandbox
    from tools.lint.linters.output_readers import Complaint

TIMEOUT = 20.0
"""Seconds for one file."""

AT_ONCE = 4

Job = tuple[File, ConfiguredLinter]


def check_linters(change: Change, sandbox: Sandbox, jobs: Sequence[Job]) -> Iterator[Finding]:
    """Yield the linters' findings in new lines. Without a sandbox they are skipped, with a warning.

    jobs: from `find_linter_jobs`; not empty
    """
    if not can_run_linters(sandbox):
        file, found = jobs[0]
        message = f"{found.linter.program} was not asked: it cannot be confined on this machine"
        yield Finding(check="linters", path=file.path, line=0, message=message, severity="warning")
        return
    answers = asyncio.run(_run_linters(change, sandbox, jobs))
    yield from _select_new_findings(jobs, answers)


async def find_complaints(change: Change, sandbox: Sandbox, jobs: Sequence[Job]) -> list[Finding]:
    """Return the linters' findings in new lines. The sandbox confines them (`can_run_linters`)."""
    return list(_select_new_findings(jobs, await _run_linters(change, sandbox, jobs)))


def _select_new_findings(jobs: Sequence[Job], answers: Sequence[Sequence[Complaint]]) -> Iterator[Finding]:
    for (file, found), complaints in zip(jobs, answers, strict=True):
        new = {line for line, _ in file.iterate_added_lines()}
        told: set[str] = set()
        for each in complaints:
            message = f"{found.linter.program}: {each.code} {each.message}".replace(":  ", ": ")
            if each.line in new and message not in told:
                if found.linter.role == "format":  # one formatting change is reported once, at its first line
                    told.add(message)
                yield Finding(
                    check="linters", path=file.path, line=each.line, message=message, severity=each.severity
                )


async def _run_linters(change: Change, sandbox: Sandbox, jobs: Sequence[Job]) -> list[list[Complaint]]:
    gate = asyncio.Semaphore(AT_ONCE)

    async def run_one(file: File, found: ConfiguredLinter) -> list[Complaint]:
        async with gate:
            text = change.read_text(file.new)
            return await run_linter(found, sandbox, change.git.root, file.path, text, timeout=TIMEOUT)

    return await asyncio.gather(*(run_one(file, found) for file, found in jobs))
