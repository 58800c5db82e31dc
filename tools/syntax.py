"""Syntax errors that a change brought into a file: reported to the model, never refused."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Language, Node

MAX_CHARACTERS = 2_000_000
"""Longer files are not checked: parsing them would take a second, and they are generated."""

MAX_PROBLEMS = 5
"""One mistake makes many errors; the first ones are the ones to look at."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Problem:
    line: int
    message: str


def new_problems(path: str, before: str | None, after: str) -> list[Problem]:
    """Syntax errors of `after` that `before` (None: no file) did not have. Empty for unknown languages."""
    checker = next((check for suffixes, check in CHECKERS if path.endswith(suffixes)), None)
    if checker is None or len(after) > MAX_CHARACTERS:
        return []
    now = checker(after)
    if not now:
        return []
    old = checker(before) if before is not None else []
    if not old:
        return now[:MAX_PROBLEMS]
    known = _texts(before or "", old)
    return [each for each in now if _texts(after, [each]).isdisjoint(known)][:MAX_PROBLEMS]


def note(path: str, before: str | None, after: str) -> str:
    """New syntax errors as a line each for the model, "" if there are none."""
    return "\n".join(
        f"syntax error: {path}:{each.line}: {each.message}" for each in new_problems(path, before, after)
    )


def _texts(source: str, problems: list[Problem]) -> set[str]:
    """Errors are known again by the text of their lines: line numbers move with every edit."""
    lines = source.split("\n")
    return {lines[each.line - 1].strip() if each.line <= len(lines) else "" for each in problems}


def _python(source: str) -> list[Problem]:
    """The compiler decides and words the first error; tree-sitter, which recovers, finds the others."""
    import ast
    import warnings

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # a doubtful escape is no syntax error
            compile(source, "<edit>", "exec", ast.PyCF_ONLY_AST, dont_inherit=True)
    except SyntaxError as error:
        first = Problem(line=error.lineno or 1, message=error.msg)
    except (ValueError, MemoryError, RecursionError):  # a NUL, or nested too deeply to be judged
        return []
    else:
        return []
    others = [each for each in _tree_sitter_python(source) if each.line != first.line]
    return [first, *others]


def _tree_sitter_python(source: str) -> list[Problem]:
    import tree_sitter_python
    from tree_sitter import Language

    return _tree_sitter(Language(tree_sitter_python.language()), source)


def _bash(source: str) -> list[Problem]:
    import tree_sitter_bash
    from tree_sitter import Language

    return _tree_sitter(Language(tree_sitter_bash.language()), source)


def _tree_sitter(language: Language, source: str) -> list[Problem]:
    from tree_sitter import Parser

    tree = Parser(language).parse(source.encode("utf-8", "replace"))
    return list(_errors(tree.root_node))


def _errors(node: Node) -> Iterator[Problem]:
    if not node.has_error:
        return
    if node.is_missing:
        yield Problem(line=node.start_point[0] + 1, message=f"{node.type!r} is missing")
    elif node.is_error:
        yield Problem(line=node.start_point[0] + 1, message="cannot be parsed")
    else:
        for child in node.children:
            yield from _errors(child)


def _json(source: str) -> list[Problem]:
    import json

    try:
        json.loads(source)
    except json.JSONDecodeError as error:
        return [Problem(line=error.lineno, message=error.msg)]
    except RecursionError:  # nested too deeply to be judged
        return []
    return []


def _toml(source: str) -> list[Problem]:
    import re
    import tomllib

    try:
        tomllib.loads(source)
    except tomllib.TOMLDecodeError as error:
        place = re.search(r"line (\d+)", str(error))
        return [Problem(line=int(place[1]) if place else 1, message=str(error))]
    return []


CHECKERS: tuple[tuple[tuple[str, ...], Callable[[str], list[Problem]]], ...] = (
    ((".py", ".pyi"), _python),
    ((".sh", ".bash"), _bash),
    (("package.json", "composer.json", ".ipynb"), _json),  # other .json may be a dialect with comments
    ((".toml",), _toml),
)
"""By the end of the file's name."""
