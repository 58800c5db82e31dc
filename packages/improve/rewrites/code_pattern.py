"""Patterns of code, written as code: what the names with an underscore stand for in a part of a syntax tree.

`_name` stands for a name and `_NAME` for any expression; the same one twice stands for the same. All else is meant as
it is written: `min(_y for _y in _items if _y >= _WANTED)`.
"""

from __future__ import annotations

import ast
from functools import cache
from types import SimpleNamespace
from typing import Any

Found = SimpleNamespace
"""What a pattern's names stand for, in lower case: texts of names, nodes of expressions."""


def match_code(node: object, pattern: str) -> Found | None:
    """Return what a pattern's names stand for in an expression or statement; None where it is another one."""
    found: dict[str, Any] = {}
    given = node.value if isinstance(node, ast.Expr) else node
    return SimpleNamespace(**found) if _is_match(given, _parse_pattern(pattern), found) else None


@cache
def _parse_pattern(pattern: str) -> ast.AST:
    statement = ast.parse(pattern).body[0]
    return statement.value if isinstance(statement, ast.Expr) else statement


def _is_match(given: Any, wanted: Any, found: dict[str, Any]) -> bool:
    if isinstance(wanted, ast.Name) and wanted.id.startswith("_"):
        name, is_name = wanted.id[1:].lower(), wanted.id.islower()
        if not isinstance(given, ast.Name if is_name else ast.expr) or isinstance(given, ast.Starred):
            return False
        value: Any = getattr(given, "id", None) if is_name else given
        if name not in found:
            found[name] = value
            return True
        return value == found[name] if is_name else ast.unparse(value) == ast.unparse(found[name])
    if isinstance(wanted, list):
        return (
            isinstance(given, list)
            and len(given) == len(wanted)
            and all(_is_match(one, other, found) for one, other in zip(given, wanted, strict=True))
        )
    if isinstance(wanted, ast.AST):
        return type(given) is type(wanted) and all(
            _is_match(getattr(given, each), getattr(wanted, each), found) for each in wanted._fields
        )
    return type(given) is type(wanted) and given == wanted
