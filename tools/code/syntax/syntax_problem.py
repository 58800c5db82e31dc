"""A syntax error as reported to the model: a line and a short message."""

from __future__ import annotations

from sandbox.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    """A syntax error. line: from 1, in the text after the change"""

    line: int
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What the project's own compiler says of a changed text. problem: the first error, None if it accepts the text"""

    problem: Problem | None

    def list_problems(self) -> list[Problem]:
        """Return the error, if there is one."""
        return [self.problem] if self.problem is not None else []


def filter_new_problems(before: str, old: list[Problem], after: str, now: list[Problem]) -> list[Problem]:
    """Return the errors that are new.

    Errors are matched by the text of their lines: line numbers move with every edit.
    """
    known = {_get_problem_line(before, each) for each in old}
    return [each for each in now if _get_problem_line(after, each) not in known]


def is_known(before: str, old: Problem, after: str, now: Problem) -> bool:
    """Return whether the first error of a text is the one that it had before a change."""
    return old.message == now.message or not filter_new_problems(before, [old], after, [now])


def _get_problem_line(source: str, problem: Problem) -> str:
    lines = source.split("\n")
    return lines[problem.line - 1].strip() if problem.line <= len(lines) else ""
