"""Syntax errors that a change introduces, in every language that has a grammar."""

from __future__ import annotations

from collections.abc import Iterator

from tools.git.git_change import Change
from tools.lint.checks.finding import Finding


def check(change: Change) -> Iterator[Finding]:
    """Yield new errors: existing ones are not this commit's."""
    from tools.code.syntax import find_certain_problems

    for file in change.regular_files:
        after = change.read_text(file.new)
        before = change.read_text(file.old) if file.old else None
        for problem in find_certain_problems(file.path, before, after) if after else ():
            yield Finding(check="syntax", path=file.path, line=problem.line, message=problem.message)
