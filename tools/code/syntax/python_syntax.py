"""Syntax check of Python by its compiler; in a long file only the functions around a change are compiled."""

from __future__ import annotations

import sys
from collections.abc import Callable

from tools.code.languages import LANGUAGES, encode_text, measure_common_ends
from tools.code.syntax.newer_constructs import Version, may_be_newer
from tools.code.syntax.syntax_problem import Judgement, Problem, filter_new_problems, is_known
from tools.code.syntax.tree_syntax import find_parse_errors, find_tree_problems, find_unbalanced_marks

LONG = 60_000
"""Characters. A shorter file compiles in under 20 ms; one of 10,000 lines takes over 100."""

LONGEST = 200_000
"""Characters that are compiled at once. The compiler holds the interpreter for up to half a second of them, and limits
of time and interrupts with it; the grammar, which reads a longer file, does not.
"""

PYTHON = next(each for each in LANGUAGES if each.name == "python")

_STATEMENTS = (b"def ", b"class ", b"async def ")
"""Starts of statements that cannot occur in brackets: outside strings, no bracket is open there."""

_DEPTHS = ((b"    ", b"class Before:\n"), (b"", b""))
"""Indentation at which the code around a change is cut out, and the wrapper for it: methods, else the top level."""

_RUNNING: Version = sys.version_info[:2]


def find_python_problems(before: str | None, after: str) -> list[Problem]:
    """Return errors of `after` that `before` did not have, the first one with the compiler's message."""
    if before is not None and len(after) > LONG and _is_sound_around_change(before, after):
        return []
    if max(len(before or ""), len(after)) > LONGEST:
        return find_tree_problems([PYTHON], before, after)
    now = _find_problems(after)
    if not now or before is None:
        return now
    return filter_new_problems(before, _find_problems(before), after, now)


def find_certain_python_problems(
    before: str | None, after: str, ask: Callable[[], Judgement | None] = lambda: None
) -> list[Problem]:
    """Return errors of `after` that `before` did not have and that no later Python accepts.

    The running Python is a witness only of what is as old as itself: where a construct of a later one is near, brackets
    or quotes must be unbalanced as well.
    ask: asks the project's own Python about the change, which decides if it can
    """
    if before is not None and len(after) > LONG and _is_sound_around_change(before, after):
        return []
    if max(len(before or ""), len(after)) > LONGEST:
        return find_unbalanced_marks(PYTHON, before, after)
    first = _find_first_error(after)
    if first is None:
        return []
    if (judgement := ask()) is not None:
        return judgement.list_problems()
    old = _find_first_error(before) if before is not None else None
    if old is not None and is_known(before or "", old, after, first):
        return find_unbalanced_marks(PYTHON, before, after)
    if may_be_newer("python", _RUNNING, first, before, after):
        return find_unbalanced_marks(PYTHON, before, after)
    return [first]


def _find_problems(source: str) -> list[Problem]:
    """Combine the compiler's first error with the others that tree-sitter, which recovers, finds."""
    first = _find_first_error(source)
    if first is None:
        return []
    others = find_parse_errors(PYTHON, source)
    lines = source.split("\n")
    if not others and first.line <= len(lines):
        line = lines[first.line - 1]
        if may_be_newer("python", _RUNNING, first, line, line):
            return []
    return [first, *(each for each in others if each.line != first.line)]


def _find_first_error(source: str) -> Problem | None:
    import ast
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # an invalid escape is not a syntax error
            compile(source, "<edit>", "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
    except SyntaxError as error:
        return Problem(line=error.lineno or 1, message=error.msg)
    except (ValueError, MemoryError, RecursionError):  # a NUL, or nested too deeply to check
        return None
    return None


def _is_sound_around_change(before: str, after: str) -> bool:
    """Return whether the methods or top-level statements around the change compile alone, before and after it.

    They extend from an unchanged `def` or `class` to the next one after the change. Only the absence of errors is
    decided here; in doubt the whole file is compiled.
    """
    old, new = encode_text(before), encode_text(after)
    start, tail = measure_common_ends(old, new)
    line, rest = old.rfind(b"\n", 0, start) + 1, len(old) - tail
    return any(_is_compilable_at(indent, around, old, new, line, rest) for indent, around in _DEPTHS)


def _is_compilable_at(indent: bytes, around: bytes, old: bytes, new: bytes, line: int, rest: int) -> bool:
    marks = [b"\n" + indent + each for each in _STATEMENTS]
    begin = max(old.rfind(each, 0, line) for each in marks) + 1
    if indent and not begin:
        return False
    end = min((at for each in marks if (at := old.find(each, rest)) >= 0), default=len(old) - 1) + 1
    head = old[:begin]
    if head.endswith(b"\\\n") or head.count(b'"""') % 2 or head.count(b"'''") % 2:
        return False  # the excerpt may begin inside a string
    if end - begin > LONG:
        return False
    # The excerpt may end with decorators of the next statement: give them a function to decorate.
    ending = b"\n" + indent + b"def after(): 0\n"
    parts = (old[begin:end], new[begin : len(new) - (len(old) - end)])
    return all(_find_first_error((around + part + ending).decode()) is None for part in parts)
