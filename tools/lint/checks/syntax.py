"""Syntax errors that a change introduces, in every language that has a grammar."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from tools.git.git_change import Change
from tools.lint.checks.finding import Finding

if TYPE_CHECKING:
    from sandbox.process.command import Sandbox


def check(change: Change, confined: Callable[[], Sandbox] | None = None) -> Iterator[Finding]:
    """Yield new errors: existing ones are not this commit's.

    confined: creates the sandbox for the project's compilers, if one is asked; without it none is
    """
    from tools.code.syntax import find_certain_problems
    from tools.code.syntax.compilers import Compilers

    compilers = Compilers(change.git.root, confined) if confined is not None else None

    for file in change.regular_files:
        after = change.read_text(file.new)
        before = change.read_text(file.old) if file.old else None
        for problem in find_certain_problems(file.path, before, after, compilers) if after else ():
            yield Finding(check="syntax", path=file.path, line=problem.line, message=problem.message)
