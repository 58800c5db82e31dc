"""Rewrites that remember results of pure functions: of recursive ones, and within one call of another function."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packages.improve.rewrites.rewrite import Rewrite, TextEdit
from packages.improve.rewrites.rewrite_scope import RewriteScope, list_names

CACHE = "functools.lru_cache(maxsize=None, typed=True)"


def remember_results(scope: RewriteScope) -> Iterator[Rewrite]:
    """A pure recursive function of plain values that calls itself twice: a cache of its results."""
    function = scope.function
    if not isinstance(function, ast.FunctionDef) or "." in scope.name or not scope.can_import("functools"):
        return
    if len(_list_calls(scope, function)) > 1 and _is_pure_helper(scope, function, is_nested=False):
        start, _ = scope.source.get_span(function)
        edit = TextEdit(start, start, f"@{CACHE}\n")
        yield scope.build("cache", function.lineno, edit, imports=("functools",))


def remember_inner_results(scope: RewriteScope) -> Iterator[Rewrite]:
    """A pure inner function that calls itself twice, or is called in a loop: a cache for one call of the outer one."""
    for function in scope.nodes:
        if not isinstance(function, ast.FunctionDef) or not scope.begins_line(function):
            continue
        own = _list_calls(RewriteScope(scope.source, function, function.name), function)
        calls = [n for n in _list_calls(scope, function) if n.args and scope.is_in_loop(n)]
        is_repeated = (len(own) > 1 or calls) and scope.can_import("functools")
        if is_repeated and _is_pure_helper(scope, function, is_nested=True):
            edit = scope.insert_before(function, f"@{CACHE}")
            yield scope.build("inner cache", function.lineno, edit, imports=("functools",))


def remember_by_value(scope: RewriteScope) -> Iterator[Rewrite]:
    """A pure function of the file that is called in a loop: its results are remembered within one call of this one."""
    for function in scope.source.tree.body:
        if not isinstance(function, ast.FunctionDef) or function.name in scope.bound_names | {scope.name}:
            continue
        calls = [n for n in _list_calls(scope, function) if n.args and scope.is_in_loop(n)]
        statement = scope.find_place(calls[0]) if calls and scope.can_import("functools") else None
        if statement is None or not _is_pure_helper(scope, function, is_nested=False):
            continue
        made = scope.create_name(f"{function.name}_of")
        inside = [n for n in calls if any(n is each for each in ast.walk(statement))]
        edits = [scope.insert_before(statement, f"{made} = {CACHE}({function.name})")]
        edits += [scope.replace(n.func, made) for n in inside]
        yield scope.build("remember by value", statement.lineno, *edits, imports=("functools",))


def _list_calls(scope: RewriteScope, function: ast.FunctionDef) -> list[ast.Call]:
    calls = [n for n in scope.nodes if isinstance(n, ast.Call)]
    return [n for n in calls if getattr(n.func, "id", "") == function.name]


_FRESH = (ast.List, ast.Dict, ast.Set, ast.ListComp, ast.DictComp, ast.SetComp, ast.GeneratorExp)
_FORBIDDEN = (
    ast.Global, ast.Nonlocal, ast.Yield, ast.YieldFrom, ast.Await, ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef,
    ast.ClassDef, ast.Import, ast.ImportFrom, ast.NamedExpr, ast.With, ast.AsyncFor,
)  # fmt: skip


def _is_pure_helper(scope: RewriteScope, function: ast.FunctionDef, *, is_nested: bool) -> bool:
    """Return whether the function only computes, from what does not change, a value that may be shared."""
    inner = RewriteScope(scope.source, function, function.name)
    arguments = function.args
    if function.decorator_list or arguments.vararg or arguments.kwarg or arguments.defaults:
        return False
    if any(isinstance(n, _FORBIDDEN) for n in inner.nodes):
        return False
    for node in inner.nodes:
        if isinstance(node, ast.Attribute | ast.Subscript) and not isinstance(node.ctx, ast.Load):
            return False
        is_own = isinstance(node, ast.Call) and ast.unparse(node.func) == function.name
        if isinstance(node, ast.Call) and not is_own and not inner.is_pure_call(node):
            return False
        if isinstance(node, ast.Return) and node.value is not None and _is_fresh(inner, node.value):
            return False
    outside = {name for name in list_names(function) - inner.bound_names if not scope.is_builtin(name)}
    outside -= {function.name, *(name for name in outside if scope.is_module(name))}
    if not is_nested:
        return not outside
    return not any(
        name not in scope.bound_names
        or any(scope.is_change(n, name) for n in scope.list_uses(name) if n.lineno >= function.lineno)
        for name in outside
    )


def _is_fresh(scope: RewriteScope, value: ast.expr) -> bool:
    """Return whether the value is a new object that its receiver could change."""
    match value:
        case ast.IfExp(body=one, orelse=other):
            return _is_fresh(scope, one) or _is_fresh(scope, other)
        case ast.BoolOp(values=parts) | ast.Tuple(elts=parts):
            return any(_is_fresh(scope, each) for each in parts)
        case ast.Name(id=name):
            above = [scope.source.parents.get(n) for n in scope.list_uses(name)]
            return any(isinstance(n, ast.Assign) and _is_fresh(scope, n.value) for n in above)
        case ast.Call(func=ast.Name(id=called)):
            return called in ("list", "dict", "set", "sorted", "zip", "enumerate", "reversed", "range")
        case ast.Call(func=ast.Attribute(attr=called)):
            return called in ("split", "rsplit", "splitlines", "partition", "items", "keys", "values", "copy")
        case ast.BinOp():
            return any(isinstance(n, _FRESH) for n in ast.walk(value))
    return isinstance(value, _FRESH)
