"""Checks of a change before a commit, fast, and without a model."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import TYPE_CHECKING

from tools.git.git_change import Change, File
from tools.lint.checks.finding import Finding

if TYPE_CHECKING:
    from sandbox.process.command import Sandbox
    from tools.lint.linters.project_linters import ConfiguredLinter


def run_checks(
    change: Change, skip: Collection[str] = (), confined: Callable[[], Sandbox] | None = None
) -> list[Finding]:
    """Return the findings of all checks not in `skip`, by severity, path and line. An empty change costs nothing.

    confined: creates the sandbox for the project's compilers and linters, if any apply; without it they are skipped
    """
    if not change.files:
        return []
    from tools.lint.checks.staged_checks import CHECKS, check_syntax

    change.load_contents()
    found: list[Finding] = []
    for name, check in CHECKS.items():
        if name not in skip:
            found += check_syntax(change, confined) if check is check_syntax else check(change)
    if confined is not None and "linters" not in skip and (jobs := list(find_linter_jobs(change))):
        from tools.lint.checks.linters import check_linters

        found += check_linters(change, confined(), jobs)
    return sorted(found, key=lambda each: (each.severity, each.path, each.line))


def find_linter_jobs(change: Change) -> Iterator[tuple[File, ConfiguredLinter]]:
    """Yield the changed files with the linters configured for them."""
    from tools.lint.linters.project_linters import find_linters

    known: dict[tuple[str, str], list[ConfiguredLinter]] = {}
    for file in change.regular_files:
        folder, _, name = file.path.rpartition("/")
        alike = folder, name.rpartition(".")[2]
        if alike not in known:
            known[alike] = list(find_linters(change.git.root, file.path))
        for found in known[alike]:
            yield file, found
