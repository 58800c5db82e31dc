"""Syntax errors that a change brought into a file: reported to the model, and by setting a reason to refuse."""

from __future__ import annotations

from tools.languages import languages_of
from tools.syntax.data import json_problems, toml_problems
from tools.syntax.problem import Problem, unknown
from tools.syntax.python import python_problems
from tools.syntax.trees import tree_problems

__all__ = ["Problem", "new_problems", "note"]

MAX_CHARACTERS = 2_000_000
"""Longer files are not checked: parsing them would take a second, and they are generated."""

MAX_PROBLEMS = 5
"""One mistake makes many errors; the first ones are the ones to look at."""


def new_problems(path: str, before: str | None, after: str) -> list[Problem]:
    """Syntax errors of `after` that `before` (None: no file) did not have. Empty for unknown languages."""
    if len(after) > MAX_CHARACTERS or before == after:
        return []
    name = path.lower()
    if name.endswith((".py", ".pyi")):
        found = python_problems(before, after)
    elif checker := next((check for suffixes, check in DATA if name.endswith(suffixes)), None):
        now = checker(after)
        found = unknown(before or "", checker(before) if now and before is not None else [], after, now)
    elif languages := languages_of(path):
        found = tree_problems(languages, before, after)
    else:
        found = []
    return found[:MAX_PROBLEMS]


def note(path: str, before: str | None, after: str) -> str:
    """New syntax errors as a line each for the model, "" if there are none."""
    return "\n".join(
        f"syntax error: {path}:{each.line}: {each.message}" for each in new_problems(path, before, after)
    )


DATA = (
    (("package.json", "composer.json", ".ipynb"), json_problems),  # other .json may have comments
    ((".toml",), toml_problems),
)
"""Formats with a parser of their own, by the end of the file's name."""
