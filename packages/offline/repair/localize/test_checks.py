"""How much a failing test checks: one result, or several, as far as its text shows."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from packages.offline.repair.localize.coverage_spectrum import Test

SEVERAL = 10
"""Counted for a check in a loop or of a collection of results."""

_LOOPS = (ast.For, ast.AsyncFor, ast.While, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


def measure_checks(tests: Sequence[Test], read_source: Callable[[str], str]) -> int | None:
    """Return the number of results that tests check together, None if unknown. read_source: returns a file's text"""
    try:
        return count_checks(read_source(tests[0].file), [test.id for test in tests])
    except (OSError, ValueError, IndexError):  # tests that come from no file
        return None


def count_checks(text: str, names: Sequence[str]) -> int | None:
    """Return the number of results that tests of a file check; None if the text does not show it.

    Counts assertions, of plain functions that the tests call as well.
    text: of the test file; names: ids of the tests, as pytest's
    """
    try:
        functions = _collect_functions(ast.parse(text))
    except (SyntaxError, ValueError, RecursionError):
        return None
    total = 0
    for name in names:
        function = functions.get(name.rpartition("::")[2].partition("[")[0])
        if function is None:
            return None
        helpers = [functions[each] for each in sorted(_list_called_names(function)) if each in functions]
        total += sum(_count_assertions(each) for each in (function, *helpers))
    return total or None


def _collect_functions(tree: ast.Module) -> dict[str, ast.FunctionDef | ast.AsyncFunctionDef]:
    return {
        each.name: each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
    }


def _list_called_names(function: ast.AST) -> set[str]:
    calls = (each for each in ast.walk(function) if isinstance(each, ast.Call))
    return {each.func.id for each in calls if isinstance(each.func, ast.Name)}


def _count_assertions(node: ast.AST, weight: int = 1) -> int:
    """Return the number of assertions in a node; those that a loop repeats, or that have one inside, are several."""
    if isinstance(node, _LOOPS):
        weight = SEVERAL
    found = weight if _is_assertion(node) else 0
    if found and any(isinstance(each, _LOOPS) for each in ast.walk(node)):
        return SEVERAL
    return found or sum(_count_assertions(each, weight) for each in ast.iter_child_nodes(node))


def _is_assertion(node: ast.AST) -> bool:
    if isinstance(node, ast.Assert):
        return True
    if not isinstance(node, ast.Call):
        return False
    name = getattr(node.func, "attr", getattr(node.func, "id", ""))
    return name.lower().startswith("assert") or name in ("raises", "warns")
