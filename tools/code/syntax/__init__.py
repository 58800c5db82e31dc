"""Syntax errors introduced by a change: reported to the model, and optionally a reason to refuse the edit."""

from __future__ import annotations

from tools.code.languages import detect_languages
from tools.code.syntax.data_formats import find_json_problems, find_toml_problems
from tools.code.syntax.python_syntax import find_python_problems
from tools.code.syntax.syntax_problem import Problem, filter_new_problems
from tools.code.syntax.tree_syntax import find_tree_problems

__all__ = ["Problem", "find_new_problems", "format_new_problems"]

MAX_CHARACTERS = 2_000_000
"""Longer files are not checked: parsing them would take a second, and they are generated."""

MAX_PROBLEMS = 5
"""Errors reported: one mistake causes many, and the first ones matter."""


def find_new_problems(path: str, before: str | None, after: str) -> list[Problem]:
    """Return syntax errors of `after` that `before` (None: no file) did not have; empty for unknown languages."""
    if len(after) > MAX_CHARACTERS or before == after:
        return []
    name = path.lower()
    if name.endswith((".py", ".pyi")):
        found = find_python_problems(before, after)
    elif checker := next((check for suffixes, check in DATA if name.endswith(suffixes)), None):
        now = checker(after)
        found = filter_new_problems(
            before or "", checker(before) if now and before is not None else [], after, now
        )
    elif languages := detect_languages(path):
        found = find_tree_problems(languages, before, after)
    else:
        found = []
    return found[:MAX_PROBLEMS]


def format_new_problems(path: str, before: str | None, after: str) -> str:
    """Return new syntax errors for the model, one line each, "" if there are none."""
    return "\n".join(
        f"syntax error: {path}:{each.line}: {each.message}" for each in find_new_problems(path, before, after)
    )


DATA = (
    (("package.json", "composer.json", ".ipynb"), find_json_problems),  # other .json may have comments
    ((".toml",), find_toml_problems),
)
"""Formats with a parser of their own, by file name suffix."""
