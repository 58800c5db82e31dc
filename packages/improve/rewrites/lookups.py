"""Rewrites of searches in loops: a table of what a loop looks for, a division that ends at the root."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packages.improve.rewrites.code_pattern import Found, match_code
from packages.improve.rewrites.rewrite import Rewrite
from packages.improve.rewrites.rewrite_scope import RewriteScope, list_names

Search = ast.For | ast.comprehension

_RANGES = ("range(_BEGIN, _END)", "range(_BEGIN, _END, _STEP)")
_DIVISOR_SEARCHES = [f"{way}(_TEST for _divisor in {each})" for way in ("any", "all") for each in _RANGES]
_DIVISOR_LOOP = "while _divisor < _number:\n    if _TEST:\n        return _ANSWER\n    _divisor += _STEP"
_NO_REST = ("_number % _divisor == 0", "not _number % _divisor")
_REST = ("_number % _divisor != 0", "_number % _divisor > 0", "_number % _divisor")

_REMOVAL = "    if _TEST:\n        _items.remove(_each)"
_REMOVALS = (
    "while _TEST in _items:\n    _items.remove(_TEST)",
    "for _each in _removed:\n    if _each in _items:\n        _items.remove(_each)",
    *(f"for _each in {copy}:\n{_REMOVAL}" for copy in ("list(_items)", "_items[:]", "_items.copy()")),
)


def index_by_key(scope: RewriteScope) -> Iterator[Rewrite]:
    """Rows that are searched for a key in each round of a loop: a dictionary of them by their keys, made before it.

    The test stays as it is: it now sees the rows of its key only.
    """
    for node in scope.nodes:
        parts: list[Search] = [node] if isinstance(node, ast.For) else getattr(node, "generators", [])
        if len(parts) != 1:
            continue
        [search] = parts
        if not isinstance(search.iter, ast.Name) or (sides := _read_test(scope, search)) is None:
            continue
        (key, wanted), rows = sides, search.iter.id
        targets = list_names(search.target)
        is_own = list_names(key) & targets and not (list_names(key) - targets) & scope.bound_names
        if not is_own or not _is_plain_target(search.target):
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
        if isinstance(key, ast.Call) and ast.unparse(key.func) in ("sorted", "list"):
            place, asked = f"tuple({place})", f"tuple({asked})"
        row = _rename(search.target, renamed)
        table = f"{made} = {{}}\nfor {row} in {rows}:\n    {made}.setdefault({place}, []).append({row})"
        if isinstance(search.target, ast.Tuple):
            table = table.replace(f".append({row})", f".append(({row.strip('()')}))")
        edit = scope.replace(search.iter, f"{made}.get({asked}, ())")
        yield scope.build("index by key", statement.lineno, scope.insert_before(statement, table), edit)


def search_values_once(scope: RewriteScope) -> Iterator[Rewrite]:
    """`x in d.values()` in a loop that leaves the dictionary alone: a set of the values, made before it."""
    for node, found in scope.iter_code("_WANTED in _table.values()", "_WANTED not in _table.values()"):
        statement = scope.find_place(node, found.table)
        if statement is not None and scope.is_builtin("set"):
            made = scope.create_name(f"{found.table}_values")
            table = scope.insert_before(statement, f"{made} = set({found.table}.values())")
            edit = scope.replace(node.comparators[0], made)
            yield scope.build("set of values", node.lineno, table, edit)


def divide_to_root(scope: RewriteScope) -> Iterator[Rewrite]:
    """A search for any divisor of a number: it ends at the root, behind which each has a smaller partner."""
    for node, found in scope.iter_code(*_DIVISOR_SEARCHES, _DIVISOR_LOOP):
        if found.way == len(_DIVISOR_SEARCHES):
            is_plain = isinstance(found.answer, ast.Constant) and isinstance(found.step, ast.Constant)
            is_divided = _read_divided(found.test, found.divisor, divides=True) == found.number
            if is_plain and is_divided and not scope.is_read_behind(node, {found.divisor}):
                new = f"{found.divisor} * {found.divisor} <= {found.number}"
                yield scope.build("divide to root", node.lineno, scope.replace(node.test, new))
            continue
        number = _read_divided(found.test, found.divisor, divides=node.func.id == "any")
        yield from _end_at_root(scope, node.lineno, number, found)
    for node in scope.nodes:
        match node:
            case ast.For(
                target=ast.Name(id=divisor), body=[ast.If(test=test, body=[*steps, last], orelse=[])]
            ):
                is_flag = all(isinstance(n, ast.Assign) and isinstance(n.value, ast.Constant) for n in steps)
                is_answer = isinstance(last, ast.Return) and isinstance(last.value, ast.Constant)
                is_end = is_answer or isinstance(last, ast.Break)
                if is_flag and is_end and not scope.is_read_behind(node, {divisor}):
                    number = _read_divided(test, divisor, divides=True)
                    for found in filter(None, (match_code(node.iter, each) for each in _RANGES)):
                        yield from _end_at_root(scope, node.lineno, number, found)


def _end_at_root(scope: RewriteScope, line: int, number: str, found: Found) -> Iterator[Rewrite]:
    """Yield the rewrite of a range through the divisors of a number. found: its begin and end"""
    ends = {number, f"{number} // 2", f"{number} // 2 + 1", f"int({number} / 2) + 1"}
    is_start = isinstance(found.begin, ast.Constant) and found.begin.value in (2, 3)
    if number and is_start and ast.unparse(found.end) in ends and scope.can_import("math"):
        new = f"math.isqrt(max({number}, 0)) + 1"
        yield scope.build("divide to root", line, scope.replace(found.end, new), imports=("math",))


def _read_divided(test: ast.expr, divisor: str, *, divides: bool) -> str:
    """Return the name of the number that is divided, "" for another test. divides: whether it is true without a rest"""
    for pattern in _NO_REST if divides else _REST:
        found = match_code(test, pattern)
        if found and found.divisor == divisor != found.number:
            return str(found.number)
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
    for node, found in scope.iter_code(*_REMOVALS):
        name, new = found.items, ""
        imports: tuple[str, ...] = ()
        if found.way == 0:
            item = scope.create_name(f"{name}_item")
            moving = (ast.Call, ast.Await, ast.NamedExpr, ast.Compare, ast.BoolOp, ast.IfExp, ast.Lambda)
            if not any(isinstance(n, moving) for n in ast.walk(found.test)):
                new = f"{name}[:] = [{item} for {item} in {name} if {item} != {scope.get_text(found.test)}]"
        elif scope.is_read_behind(node, {found.each}):
            continue
        elif found.way > 1:
            calls = [n for n in ast.walk(found.test) if isinstance(n, ast.Call)]
            if name not in list_names(found.test) and all(scope.is_pure(n) for n in calls):
                test = scope.get_text(found.test)
                new = f"{name}[:] = [{found.each} for {found.each} in {name} if not ({test})]"
        elif found.removed != name and scope.can_import("collections"):
            made, rest = scope.create_name(f"{found.removed}_counts"), scope.create_name(f"{name}_rest")
            new = (
                f"{made} = collections.Counter({found.removed})\n{rest} = []\nfor {found.each} in {name}:\n"
                f"    if {made}[{found.each}] > 0:\n        {made}[{found.each}] -= 1\n    else:\n"
                f"        {rest}.append({found.each})\n{name}[:] = {rest}"
            )
            imports = ("collections",)
        if new:
            edit = scope.replace(node, new)
            yield scope.build("remove in one pass", node.lineno, edit, imports=imports)
