"""Runs of a project's own tests in a scratch copy, in the sandbox, with the verdict of each test."""

from __future__ import annotations

import asyncio
import os
import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from packages.evaluation.mining.fix_commits import SOURCES
from packages.evaluation.suites.ending_checks import (
    add_report_check,
    build_tests_check,
    read_report_judge,
    read_tests_judge,
)
from packages.evaluation.suites.source_folder import GitHistory
from packages.evaluation.tasks.folder_files import write_contents
from sandbox.fs.regular_file import SOURCE
from sandbox.fs.untrusted_file import read_workspace_file
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from sandbox.secrets.pattern_search import find_known_secrets
from tools.testing.python import VENVS

if TYPE_CHECKING:
    from tools.core.workspace import Workspace

MOST_GENERATED, LARGEST_GENERATED = 50, 256 << 10
"""Generated programs that are taken along, and bytes of one."""

_ASIDE = frozenset(
    (*VENVS, "node_modules", "build", "dist", "target", "site-packages", "__pycache__", "vendor")
)

_PRIVATE_NAME = compile_lazily(
    r"(^|[_.-])(local|dev|prod|settings?|conf|config|secrets?|credentials?|keys?|tokens?|passwords?|private|env)[_.-]",
    re.IGNORECASE,
)
"""Names of files that hold a machine's settings, unless their head says that a program wrote them."""

_GENERATED = compile_lazily(r"generated|do not edit", re.IGNORECASE)
_HEAD = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class TestRun:
    """Result of one run.

    failed, passed: ids of tests; usable: tests were run and counted; ran: how many of them passed or failed
    command: as a user would type it
    """

    __test__ = False

    failed: frozenset[str]
    passed: frozenset[str]
    usable: bool
    ran: int
    command: str
    runner: str
    seconds: float
    note: str = ""


def run_tests(at: Workspace, targets: Sequence[str], seconds: float) -> TestRun:
    """Run tests of the scratch workspace. seconds: wall time until they are killed"""
    from dataclasses import replace

    from tools.testing.suite_run import run_project

    limited = replace(at, settings=replace(at.settings, tests=replace(at.settings.tests, timeout=seconds)))
    report = asyncio.run(run_project(limited, list(targets)))
    failed = frozenset(each.id for each in report.failures)
    return TestRun(
        failed=failed,
        passed=frozenset(report.passed_tests),
        usable=report.outcome in ("passed", "failed") and report.counted,
        ran=report.passed + report.failed + report.errors,
        command=report.command,
        runner=report.runner,
        seconds=report.duration,
        note=report.note or report.outcome,
    )


def list_mended(before: TestRun, after: TestRun) -> list[str]:
    """Return the tests that fail in the first run and pass in the second one.

    A report names no passed tests if they are many: then those are taken that no longer fail while no fewer tests run.
    """
    if after.passed:
        return sorted(before.failed & after.passed)
    return sorted(before.failed - after.failed) if after.ran >= before.ran else []


def build_check(run: TestRun, targets: Sequence[str]) -> str:
    """Return a command line that runs the tests of a task's worktree, whose own code comes first, but for those that
    failed in `run`.

    A program that ends the process of its tests passes none: pytest's report counts, not its exit code alone, and of
    unittest's tests a judge that is no part of the process. Others count by their exit code.
    The interpreter is the one of the active environment, or the one that runs the evaluation, as it was here.
    """
    words = shlex.split(run.command)
    if run.runner == "unittest" and words[1:3] == ["-m", "unittest"]:
        return build_tests_check("arguments", words[3:], _name_interpreter(words[0]))
    if run.runner != "pytest" or "pytest" not in words:
        return run.command
    start = words[: words.index("pytest") + 1]
    left_out = [f"--deselect={each}" for each in sorted(run.failed)]
    rest = shlex.join([*start[1:], "-q", "-p", "no:cacheprovider", *left_out, *targets])
    files = {each.partition("::")[0] for each in targets}
    passed = [each for each in run.passed if each.partition("::")[0] in files]
    return add_report_check(
        f'PYTHONPATH="$PWD/src:$PWD" {_name_interpreter(start[0])} {rest}', len(passed) or 1
    )


def read_judges(run: TestRun) -> dict[str, bytes]:
    """Return the files that the command line of `build_check` needs."""
    return read_tests_judge() if run.runner == "unittest" else read_report_judge()


def _name_interpreter(path: str) -> str:
    import sys

    active = os.environ.get("VIRTUAL_ENV")
    if active and Path(path).is_relative_to(active):
        return '"${VIRTUAL_ENV:+$VIRTUAL_ENV/bin/}python3"'
    return '"${PYTHON:-python3}"' if path == sys.executable else shlex.quote(path)


def list_generated_files(repository: Path) -> dict[str, bytes]:
    """Return programs that git ignores beside programs that it tracks, such as a version written by a build.

    Those that look like settings of this machine, or hold a secret, are left out: a task's files go to models.
    """
    if not (repository / ".git").exists():
        return {}
    history = GitHistory(repository)
    tracked = os.fsdecode(history.run("ls-files", "-z")).split("\0")[:-1]
    folders = {PurePosixPath(each).parent for each in tracked if PurePosixPath(each).suffix in SOURCES}
    listed = history.run("ls-files", "-z", "--others", "--ignored", "--exclude-standard")
    found: dict[str, bytes] = {}
    for path in os.fsdecode(listed).split("\0")[:-1]:
        parts = path.split("/")
        aside = any(each in _ASIDE or (each.startswith(".") and each != ".") for each in parts)
        if aside or PurePosixPath(path).suffix not in SOURCES or PurePosixPath(path).parent not in folders:
            continue
        if len(found) >= MOST_GENERATED:
            break
        content = read_workspace_file(repository, path, SOURCE)
        if content is not None and len(content) <= LARGEST_GENERATED and not _is_private(path, content):
            found[path] = content
    return found


def _is_private(path: str, content: bytes) -> bool:
    """Return whether an ignored program may hold what only its owner is to see."""
    text = content.decode("utf-8", "replace")
    named = _PRIVATE_NAME.search(PurePosixPath(path).name) and not _GENERATED.search(text[:_HEAD])
    return bool(named) or next(find_known_secrets(text), None) is not None


def restore_files(at: Workspace, files: Mapping[str, bytes | None]) -> None:
    """Write files of the scratch workspace; None removes one. No link that a test has put there is followed."""
    write_contents(files, at.root)
