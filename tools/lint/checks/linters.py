"""The project's own linters and formatters on the staged files: findings in new lines.

A linter's configuration belongs to the repository, and often is code; so may be the program
(`node_modules/.bin`).
They run in the sandbox: read-only, without network, and without access to the user's secrets.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence

from sandbox.errors import UserError
from sandbox.process.command import Command, Sandbox
from tools.git.git_change import Change, File
from tools.lint.checks.finding import Finding
from tools.lint.linters import MAX_CHARACTERS, Complaint, ConfiguredLinter

TIMEOUT = 20.0
"""Seconds for one file."""

AT_ONCE = 4

Job = tuple[File, ConfiguredLinter]


def check(change: Change, sandbox: Sandbox, jobs: Sequence[Job]) -> Iterator[Finding]:
    """Yield the linters' findings in new lines. Without a sandbox they are skipped, with a warning.

    jobs: from `find_linter_jobs`; not empty
    """
    if sandbox.name == "unconfined":
        file, found = jobs[0]
        message = f"{found.linter.program} was not asked: it cannot be confined on this machine"
        yield Finding(check="linters", path=file.path, line=0, message=message, severity="warning")
        return
    answers = asyncio.run(_run_linters(change, sandbox, jobs))
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
            return await _run_linter(change, sandbox, file, found)

    return await asyncio.gather(*(run_one(file, found) for file, found in jobs))


async def _run_linter(
    change: Change, sandbox: Sandbox, file: File, found: ConfiguredLinter
) -> list[Complaint]:
    text = change.read_text(file.new)
    if not text or len(text) > MAX_CHARACTERS:
        return []
    command = Command(
        argv=found.build_argv(file.path),
        cwd=change.git.root,
        stdin=text.encode("utf-8", "replace"),
        timeout=TIMEOUT,
        stderr="separate",
        scope="read-only",
    )
    try:
        done = await sandbox.run(command)
    except UserError:  # it cannot be started: the other checks are unaffected
        return []
    if (
        done.ended != "exited"
        or done.stdout.omitted_bytes
        or (found.linter.role == "format" and done.returncode)
    ):
        return []
    return found.linter.read(text, done.stdout.text())
