"""Rewrites of searches in loops: a table of what a loop looks for, a division that ends at the root."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packages.improve.rewrites.rewrite import Rewrite, TextEdit
from packages.improve.rewrites.rewrite_scope import COMPREHENSIONS, RewriteScope, list_names

Search = ast.For | ast.comprehension


def index_by_key(scope: RewriteScope) -> Iterator[Rewrite]:
    """Rows that are searched for a key in each round of a loop: a dictionary of them by their keys, made before it.

    The test stays as it is: it now sees the rows of its key only.
    """
    for node in scope.nodes:
        search: Search
        if isinstance(node, ast.For):
            search = node
        elif isinstance(node, COMPREHENSIONS) and len(node.generators) == 1:
            search = node.generators[0]
        else:
            continue
        if not isinstance(search.iter, ast.Name) or (sides := _read_test(scope, search)) is None:
            continue
        (key, wanted), rows = sides, search.iter.id
        targets = list_names(search.target)
        outside = list_names(key) - targets
        if (
            not _is_plain_target(search.target)
            or not list_names(key) & targets
            or outside & scope.bound_names
        ):
            continue
        loop = scope.find_outermost_loop(node, rows)
        statement = scope.find_statement(loop) if loop is not None else None
        inside = search if isinstance(search, ast.For) else node
        changed = any(scope.is_changed(name, inside) for name in list_names(wanted))
        if statement is None or changed or list_names(wanted) & targets or _stores_key(loop, key):
            continue
        if isinstance(search, ast.For) and scope.is_read_behind(search, targets):
            continue
        renamed = {name: scope.create_name(f"{name}_row") for name in targets}
        made = scope.create_name(f"{rows}_by_{_name_key(key)}")
        place, asked = _rename(key, renamed), scope.get_text(wanted)
        if _is_list(key):
            place, asked = f"tuple({place})", f"tuple({asked})"
        row = _rename(search.target, renamed)
        table = f"{made} = {{}}\nfor {row} in {rows}:\n    {made}.setdefault({place}, []).append({row})"
        if isinstance(search.target, ast.Tuple):
            table = table.replace(f".append({row})", f".append(({row.strip('()')}))")
        yield scope.build(
            "index by key",
            statement.lineno,
            scope.insert_before(statement, table),
            scope.replace(search.iter, f"{made}.get({asked}, ())"),
        )


def search_values_once(scope: RewriteScope) -> Iterator[Rewrite]:
    """`x in d.values()` in a loop that leaves the dictionary alone: a set of the values, made before it."""
    for node in scope.nodes:
        match node:
            case ast.Compare(
                ops=[ast.In() | ast.NotIn()],
                comparators=[
                    ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="values"), args=[], keywords=[])
                ],
            ):
                pass
            case _:
                continue
        loop = scope.find_outermost_loop(node, name)
        statement = scope.find_statement(loop) if loop is not None else None
        if statement is not None and scope.is_builtin("set"):
            made = scope.create_name(f"{name}_values")
            yield scope.build(
                "set of values",
                node.lineno,
                scope.insert_before(statement, f"{made} = set({name}.values())"),
                scope.replace(node.comparators[0], made),
            )


def divide_to_root(scope: RewriteScope) -> Iterator[Rewrite]:
    """A search for any divisor of a number: it ends at the root, behind which each has a smaller partner."""
    for node in scope.nodes:
        match node:
            case ast.For(
                target=ast.Name(id=divisor),
                iter=ast.Call(func=ast.Name(id="range"), args=[begin, end, *_]),
                body=[
                    ast.If(
                        test=test, body=[*found, ast.Return(value=ast.Constant()) | ast.Break()], orelse=[]
                    )
                ],
            ):
                is_flag = all(isinstance(n, ast.Assign) and isinstance(n.value, ast.Constant) for n in found)
                number = _read_divided(test, divisor, divides=True)
                if not is_flag or scope.is_read_behind(node, {divisor}):
                    continue
            case ast.Call(
                func=ast.Name(id="any" | "all" as way),
                args=[
                    ast.GeneratorExp(
                        elt=test,
                        generators=[
                            ast.comprehension(
                                target=ast.Name(id=divisor),
                                iter=ast.Call(func=ast.Name(id="range"), args=[begin, end, *_]),
                                ifs=[],
                            )
                        ],
                    )
                ],
            ):
                number = _read_divided(test, divisor, divides=way == "any")
            case ast.While(
                test=ast.Compare(
                    left=ast.Name(id=divisor), ops=[ast.Lt()], comparators=[ast.Name(id=number)]
                ),
                body=[
                    ast.If(test=test, body=[ast.Return(value=ast.Constant())], orelse=[]),
                    ast.AugAssign(target=ast.Name(id=moved), op=ast.Add(), value=ast.Constant()),
                ],
            ) if moved == divisor and _read_divided(test, divisor, divides=True) == number:
                if not scope.is_read_behind(node, {divisor}):
                    new = f"{divisor} * {divisor} <= {number}"
                    yield scope.build("divide to root", node.lineno, scope.replace(node.test, new))
                continue
            case _:
                continue
        ends = {number, f"{number} // 2", f"{number} // 2 + 1", f"int({number} / 2) + 1"}
        is_start = isinstance(begin, ast.Constant) and begin.value in (2, 3)
        if number and is_start and ast.unparse(end) in ends and scope.can_import("math"):
            new = f"math.isqrt(max({number}, 0)) + 1"
            yield scope.build("divide to root", node.lineno, scope.replace(end, new), imports=("math",))


def _read_divided(test: ast.expr, divisor: str, *, divides: bool) -> str:
    """Return the name of the number that is divided, "" for another test. divides: whether it is true without a rest"""
    match test:
        case ast.Compare(left=rest, ops=[ast.Eq()], comparators=[ast.Constant(value=0)]) if divides:
            pass
        case ast.UnaryOp(op=ast.Not(), operand=rest) if divides:
            pass
        case ast.Compare(left=rest, ops=[ast.NotEq() | ast.Gt()], comparators=[ast.Constant(value=0)]) if (
            not divides
        ):
            pass
        case ast.BinOp() as rest if not divides:
            pass
        case _:
            return ""
    match rest:
        case ast.BinOp(left=ast.Name(id=number), op=ast.Mod(), right=ast.Name(id=name)) if name == divisor:
            return number if number != divisor else ""
    return ""


def _read_test(scope: RewriteScope, search: Search) -> tuple[ast.expr, ast.expr] | None:
    """Return the two sides of the equality that chooses the rows: that of the row first."""
    match search:
        case ast.For(body=[ast.If(test=test, orelse=[])]) | ast.comprehension(ifs=[test]):
            pass
        case _:
            return None
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        test = test.values[0]  # a later one is asked only of rows that pass the first
    match test:
        case ast.Compare(left=left, ops=[ast.Eq()], comparators=[right]):
            is_left = bool(list_names(left) & list_names(search.target))
            key, wanted = (left, right) if is_left else (right, left)
            calls = [n for side in (key, wanted) for n in ast.walk(side) if isinstance(n, ast.Call)]
            return (key, wanted) if all(scope.is_pure(each) for each in calls) else None
    return None


def _is_plain_target(target: ast.expr) -> bool:
    parts = target.elts if isinstance(target, ast.Tuple) else [target]
    return bool(parts) and all(isinstance(each, ast.Name) for each in parts)


def _stores_key(loop: ast.AST | None, key: ast.expr) -> bool:
    """Return whether the loop sets an attribute or an element as the key reads one: rows may change their key."""
    places = {
        ast.dump(n.slice) if isinstance(n, ast.Subscript) else n.attr
        for n in ast.walk(key)
        if isinstance(n, ast.Subscript | ast.Attribute)
    }
    return any(
        isinstance(n, ast.Subscript | ast.Attribute)
        and not isinstance(n.ctx, ast.Load)
        and (ast.dump(n.slice) if isinstance(n, ast.Subscript) else n.attr) in places
        for n in (ast.walk(loop) if loop is not None else ())
    )


def _is_list(key: ast.expr) -> bool:
    return isinstance(key, ast.Call) and isinstance(key.func, ast.Name) and key.func.id in ("sorted", "list")


def _name_key(key: ast.expr) -> str:
    match key:
        case (
            ast.Subscript(slice=ast.Constant(value=str() as name))
            | ast.Attribute(attr=name)
            | ast.Name(id=name)
        ):
            return name if name.isidentifier() else "key"
    return "key"


def _rename(node: ast.expr, names: dict[str, str]) -> str:
    """Return an expression as text, with other names."""
    copied = ast.parse(ast.unparse(node), mode="eval")
    for each in ast.walk(copied):
        if isinstance(each, ast.Name):
            each.id = names.get(each.id, each.id)
    return ast.unparse(copied)


def remove_in_one_pass(scope: RewriteScope) -> Iterator[Rewrite]:
    """`while x in items: items.remove(x)`, or the same for each that passes a test: one pass that keeps the rest."""
    for node in scope.nodes:
        match node:
            case ast.While(
                test=ast.Compare(left=wanted, ops=[ast.In()], comparators=[ast.Name(id=name)]),
                body=[
                    ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr="remove"), args=[out])),
                ],
                orelse=[],
            ) if owner == name and ast.unparse(out) == ast.unparse(wanted):  # fmt: skip
                item = scope.create_name(f"{name}_item")
                new = f"{name}[:] = [{item} for {item} in {name} if {item} != {scope.get_text(wanted)}]"
                is_still = not any(
                    isinstance(n, ast.Call | ast.Await | ast.NamedExpr) for n in ast.walk(wanted)
                )
                if is_still and not isinstance(wanted, ast.Compare | ast.BoolOp | ast.IfExp | ast.Lambda):
                    yield _replace_loop(scope, node, new)
            case ast.For(
                target=ast.Name(id=each),
                iter=(
                    ast.Call(func=ast.Name(id="list"), args=[ast.Name(id=name)])
                    | ast.Subscript(value=ast.Name(id=name), slice=ast.Slice(lower=None, upper=None, step=None))
                    | ast.Call(func=ast.Attribute(value=ast.Name(id=name), attr="copy"), args=[])
                ),
                body=[ast.If(test=test, orelse=[], body=[
                    ast.Expr(value=ast.Call(func=ast.Attribute(value=ast.Name(id=owner), attr="remove"),
                                            args=[ast.Name(id=out)])),
                ])],
                orelse=[],
            ) if owner == name and out == each and name not in list_names(test):  # fmt: skip
                calls = [n for n in ast.walk(test) if isinstance(n, ast.Call)]
                if all(scope.is_pure(n) for n in calls) and not scope.is_read_behind(node, {each}):
                    new = f"{name}[:] = [{each} for {each} in {name} if not ({scope.get_text(test)})]"
                    yield _replace_loop(scope, node, new)
            case ast.For(
                target=ast.Name(id=each),
                iter=ast.Name(id=removed),
                body=[ast.If(
                    test=ast.Compare(left=ast.Name(id=asked), ops=[ast.In()], comparators=[ast.Name(id=name)]),
                    body=[ast.Expr(value=ast.Call(
                        func=ast.Attribute(value=ast.Name(id=owner), attr="remove"), args=[ast.Name(id=out)],
                    ))],
                    orelse=[],
                )],
                orelse=[],
            ) if owner == name != removed and out == asked == each:  # fmt: skip
                if scope.is_read_behind(node, {each}) or not scope.can_import("collections"):
                    continue
                made, rest = scope.create_name(f"{removed}_counts"), scope.create_name(f"{name}_rest")
                new = (
                    f"{made} = collections.Counter({removed})\n{rest} = []\nfor {each} in {name}:\n"
                    f"    if {made}[{each}] > 0:\n        {made}[{each}] -= 1\n    else:\n"
                    f"        {rest}.append({each})\n{name}[:] = {rest}"
                )
                kind, edit = "remove in one pass", scope.replace(node, new)
                yield scope.build(kind, node.lineno, edit, imports=("collections",))


def _replace_loop(scope: RewriteScope, loop: ast.stmt, text: str) -> Rewrite:
    start, end = scope.source.get_span(loop)
    return scope.build("remove in one pass", loop.lineno, TextEdit(start, end, text))
