"""Tests that need files of their own: a copy of the project with the fixes.

Some run the project in other processes, which see only changes on disk; some write to its folders.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from packages.offline.repair.engine.validation.worker_process import Job
from packages.offline.repair.localize.coverage_spectrum import Test, is_test_file
from sandbox.errors import UserError
from sandbox.process.command import Command
from tools.core.workspace import Workspace
from tools.shell.environment import python_environment

# Prefix of a passed test in pytest's summary.
_PASSED = "PASSED "
# Seconds for them, even after the end of the search: the findings must be reported completely.
SECONDS = 10.0


def runs_no_project_code(test: Test) -> bool:
    """Return whether no line of the project runs in the test's own process."""
    return not any(path != test.file and not is_test_file(path) for path in test.lines)


async def find_passing_in_copy(
    at: Workspace, job: Job, tests: Sequence[Test], texts: Mapping[str, str]
) -> frozenset[str]:
    """Return ids of the tests that pass in a copy of the project with these texts; none if it cannot be copied."""
    from tools.testing.project_copies import TooLarge, create_copies

    try:
        async with create_copies(at, 1) as (copy,):
            root = copy.at.root
            for path, text in texts.items():
                await asyncio.to_thread((root / path).write_bytes, text.encode("utf-8"))
            folders = [root / Path(each).relative_to(at.root) for each in job.python_path]
            said = await _run_pytest(copy.at, job, folders, [test.id for test in tests])
    except (TooLarge, OSError, UserError):
        return frozenset()
    passed = {line.removeprefix(_PASSED) for line in said.split("\n") if line.startswith(_PASSED)}
    return frozenset(test.id for test in tests if test.id in passed)


async def _run_pytest(at: Workspace, job: Job, folders: Sequence[Path], names: Sequence[str]) -> str:
    options = ("-q", "-rp", "--tb=no", "-p", "no:cacheprovider", f"--rootdir={at.root}")
    paths = {"PYTHONPATH": os.pathsep.join(map(str, folders))} if folders else {}
    command = Command(
        argv=(job.python, "-m", "pytest", *options, *names),
        cwd=at.root,
        env={**python_environment(), "PYTHONHASHSEED": "0", **paths},
        timeout=max(job.seconds, SECONDS),
        scope="read-only",
        writable=(at.root,),
    )
    return (await at.sandbox.run(command)).stdout.text()
