"""Syntax errors introduced by a change: reported to the model, and optionally a reason to refuse the edit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tools.code.languages import Language, detect_languages, parse_text
from tools.code.syntax.data_formats import find_json_problems, find_toml_problems
from tools.code.syntax.python_syntax import find_certain_python_problems, find_python_problems
from tools.code.syntax.syntax_problem import Problem, filter_new_problems
from tools.code.syntax.tree_syntax import find_tree_problems, find_unbalanced_marks

if TYPE_CHECKING:
    from tools.code.syntax.compilers import Compilers

__all__ = ["Problem", "find_certain_problems", "find_new_problems", "format_new_problems"]

MAX_CHARACTERS = 2_000_000
"""Longer files are not checked: parsing them would take a second, and they are generated."""

_MARK = "\ufeff"
"""A byte-order mark, which compilers skip in a file, and refuse in a text."""

MAX_PROBLEMS = 5
"""Errors reported: one mistake causes many, and the first ones matter."""


def find_new_problems(path: str, before: str | None, after: str) -> list[Problem]:
    """Return what a grammar or compiler finds wrong in `after` and not in `before` (None: no file).

    Good for the choice between two readings of a text. It may be valid syntax that is newer than the grammar: for what
    a person or a model is told, see `find_certain_problems`.
    """
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


def find_certain_problems(
    path: str, before: str | None, after: str, compilers: Compilers | None = None
) -> list[Problem]:
    """Return syntax errors of `after` that `before` (None: no file) did not have, and that no newer version of the
    language accepts; empty for unknown languages.

    compilers: the project's, asked where a grammar finds an error; what one of them says decides
    """
    name = path.lower()
    after = after.removeprefix(_MARK)
    before = before.removeprefix(_MARK) if before is not None else None
    if any(name.endswith(suffixes) for suffixes, _ in DATA):
        return find_new_problems(path, before, after)
    if len(after) > MAX_CHARACTERS or before == after:
        return []
    if name.endswith((".py", ".pyi")):
        ask = (lambda: compilers.judge_change(path, before, after)) if compilers is not None else lambda: None
        return find_certain_python_problems(before, after, ask)[:MAX_PROBLEMS]
    languages = detect_languages(path)
    if compilers is not None and languages and compilers.can_judge(path, after):
        if not all(parse_text(each, after, before=before).root_node.has_error for each in languages):
            return []
        if (judgement := compilers.judge_change(path, before, after)) is not None:
            found = judgement.list_problems()
            return [*found, *_find_unbalanced(languages, before, after)][:MAX_PROBLEMS] if found else []
    return _find_unbalanced(languages, before, after)[:MAX_PROBLEMS]


def _find_unbalanced(languages: Sequence[Language], before: str | None, after: str) -> list[Problem]:
    """Return unbalanced marks, if they are unbalanced in all possible languages."""
    found: list[Problem] = []
    for language in languages:
        found = find_unbalanced_marks(language, before, after)
        if not found:
            return []
    return found


def format_new_problems(path: str, before: str | None, after: str, compilers: Compilers | None = None) -> str:
    """Return new syntax errors for the model, one line each, "" if there are none."""
    return "\n".join(
        f"syntax error: {path}:{each.line}: {each.message}"
        for each in find_certain_problems(path, before, after, compilers)
    )


DATA = (
    (("package.json", "composer.json", ".ipynb"), find_json_problems),  # other .json may have comments
    ((".toml",), find_toml_problems),
)
"""Formats with a parser of their own, by file name suffix."""
