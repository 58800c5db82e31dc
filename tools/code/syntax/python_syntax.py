"""Syntax of Python: the compiler decides. In a long file only the functions around a change are compiled."""

from __future__ import annotations

import re

from tools.code.languages import LANGUAGES, encode_text, measure_common_ends
from tools.code.syntax.syntax_problem import Problem, filter_new_problems
from tools.code.syntax.tree_syntax import find_parse_errors

LONG = 60_000
"""Characters. A shorter file compiles in under 20 ms; one of 10,000 lines takes over 100."""

PYTHON = next(each for each in LANGUAGES if each.name == "python")

_STATEMENTS = (b"def ", b"class ", b"async def ")
"""Beginnings of statements that can stand in no bracket: where they stand outside of strings, nothing is open."""

_DEPTHS = ((b"    ", b"class Before:\n"), (b"", b""))
"""Indentation at which the code around a change is cut out, and what it is put into: methods, else the top level."""

_NEWER = re.compile(
    r"""^\s*type\s+\w+.*=              # aliases of types, 3.12
    |^\s*(async\s+)?(def|class)\s+\w+\[  # parameters of types, 3.12
    |\b[rR]?[fFtT][rR]?["']            # f-strings with the same quotes inside, 3.12; t-strings, 3.14
    |^\s*except\*?\s+\w[^(:]*,         # several exceptions without parentheses, 3.14
    """,
    re.VERBOSE,
)
"""Lines that a later Python may accept where the one that runs us does not."""


def find_python_problems(before: str | None, after: str) -> list[Problem]:
    """Errors of `after` that `before` did not have, the first one as the compiler words it."""
    if before is not None and len(after) > LONG and _is_sound_around_change(before, after):
        return []
    now = _find_problems(after)
    if not now or before is None:
        return now
    return filter_new_problems(before, _find_problems(before), after, now)


def _find_problems(source: str) -> list[Problem]:
    """The compiler finds the first error; tree-sitter, which recovers, finds the others."""
    first = _find_first_error(source)
    if first is None:
        return []
    others = find_parse_errors(PYTHON, source)
    lines = source.split("\n")
    if not others and first.line <= len(lines) and _NEWER.search(lines[first.line - 1]):
        return []
    return [first, *(each for each in others if each.line != first.line)]


def _find_first_error(source: str) -> Problem | None:
    import ast
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a doubtful escape is no syntax error
            compile(source, "<edit>", "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
    except SyntaxError as error:
        return Problem(line=error.lineno or 1, message=error.msg)
    except (ValueError, MemoryError, RecursionError):  # a NUL, or nested too deeply to be judged
        return None
    return None


def _is_sound_around_change(before: str, after: str) -> bool:
    """The methods or top-level statements around the change compile by themselves, as they did before it.

    They reach from an unchanged `def` or `class` to the next one after the change. This only ever answers that
    nothing is wrong; in doubt the whole file is compiled.
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
        return False  # what is cut out may stand in a string
    if end - begin > LONG:
        return False
    # Decorators of the statement after the end are among the lines: this gives them something to decorate.
    ending = b"\n" + indent + b"def after(): 0\n"
    parts = (old[begin:end], new[begin : len(new) - (len(old) - end)])
    return all(_find_first_error((around + part + ending).decode()) is None for part in parts)
