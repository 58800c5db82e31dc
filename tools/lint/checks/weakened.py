"""Signs that a change makes tests pass without mending the code: those that a turn is judged by, as warnings.

The person who commits may intend each of them, and should know.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tools.git.git_change import Change
from tools.lint.checks.finding import Finding

NAME = "weakened"
"""Name of the check, by which people skip it whatever the kind of the sign."""


def check(change: Change) -> Iterator[Finding]:
    """Yield the signs of a change that no prompt explains."""
    from tools.lint.honesty.scan import build_change_set, find_signs

    for sign in find_signs(build_change_set(change, root=change.git.root)):
        yield replace(sign, check=NAME, severity="warning")
