"""Units of Python test files, by their syntax trees."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from tools.lint.honesty.python_measures import SKIP, get_called, is_never, list_skips, read_dotted_name
from tools.lint.honesty.test_units import TestFile, TestUnit


def parse_test_file(source: str) -> TestFile | None:
    """Return the units of a Python file; None if it is not valid Python."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return None
    found = TestFile()
    lines = source.splitlines()
    imported = {
        alias.asname or alias.name
        for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    _visit_scope(tree.body, "", found, lines, imported, collects=True)
    constants = [
        lines[number]
        for node in tree.body
        if isinstance(node, ast.Assign | ast.AnnAssign) and not isinstance(node.value, ast.Call)
        for number in range(node.lineno - 1, node.end_lineno or node.lineno)
    ]
    if constants:  # expected values of the whole file, read like a function that assigns them
        text = "\n".join(["def module_constants():", *(f"    {line}" for line in constants)])
        found.units["module_constants"] = TestUnit(
            name="module_constants", line=1, text=text, body="\n".join(constants), is_test=False
        )
    return found


def _visit_scope(
    body: Sequence[ast.stmt],
    scope: str,
    found: TestFile,
    lines: list[str],
    imported: set[str],
    *,
    collects: bool,
) -> None:
    seen: set[str] = set()
    for node in body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                name = f"{scope}.{node.name}" if scope else node.name
                is_test = collects and node.name.startswith("test")
                if is_test and name in seen and not _is_overload(node):
                    found.twice.append((node.lineno, node.name))
                seen.add(name)
                if not scope and node.name in imported:
                    found.shadowed.append((node.lineno, node.name))
                found.units[name] = _read_unit(node, name, lines, is_test=is_test)
            case ast.ClassDef():
                inner = f"{scope}.{node.name}" if scope else node.name
                is_collected = collects and _collects_class(node)
                found.skips += ((text, has) for text, has in list_skips(node.decorator_list))
                _visit_scope(node.body, inner, found, lines, imported, collects=is_collected)
            case ast.Assign(targets=[ast.Name(id="pytestmark")], value=value):
                parts = value.elts if isinstance(value, ast.List | ast.Tuple) else [value]
                found.skips += list_skips(parts)
            case ast.Assign(targets=[ast.Name(id="__test__")], value=ast.Constant(value=False)):
                found.skips.append(("__test__ = False", False))
            case ast.Assign(targets=[ast.Name(id=name)]) if not scope and name in imported:
                found.shadowed.append((node.lineno, name))
            case ast.Expr(value=ast.Call() as skip) | ast.Raise(exc=ast.expr() as skip) if SKIP.search(
                dotted := read_dotted_name(get_called(skip))
            ):
                found.skips.append((dotted, isinstance(node, ast.Expr) and dotted.endswith("importorskip")))
            case ast.If() if not scope or collects:
                inside = [*node.body, *node.orelse] if not is_never(node.test) else node.orelse
                _visit_scope(inside, scope, found, lines, imported, collects=collects)
            case ast.Try() | ast.With():
                _visit_scope(node.body, scope, found, lines, imported, collects=collects)


def _is_overload(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return bool(node.decorator_list) and any(
        not read_dotted_name(get_called(each)).startswith(("pytest", "mark", "unittest", "mock", "patch"))
        for each in node.decorator_list
    )


def _collects_class(node: ast.ClassDef) -> bool:
    """Return whether a runner takes the class for one of tests: named so, or derived from a class of tests."""
    if any(
        isinstance(each, ast.Assign)
        and read_dotted_name(each.targets[0]) == "__test__"
        and isinstance(each.value, ast.Constant)
        and not each.value.value
        for each in node.body
    ):
        return False
    if any("test" in read_dotted_name(base).replace("Test", "test") for base in node.bases):
        return True
    has_init = any(isinstance(each, ast.FunctionDef) and each.name == "__init__" for each in node.body)
    return "Test" in node.name and (bool(node.bases) or (node.name.startswith("Test") and not has_init))


def _read_unit(
    node: ast.FunctionDef | ast.AsyncFunctionDef, name: str, lines: list[str], *, is_test: bool
) -> TestUnit:
    first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
    text = "\n".join(lines[first - 1 : node.end_lineno])
    body = "\n".join(line.strip() for line in lines[node.body[0].lineno - 1 : node.end_lineno])
    return TestUnit(name=name, line=node.lineno, text=text, body=body, is_test=is_test)
