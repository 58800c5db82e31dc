"""Rewrites of containers: the structure whose operation in the loop is quick."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packages.improve.rewrites.rewrite import Rewrite, TextEdit
from packages.improve.rewrites.rewrite_scope import RewriteScope, is_empty_list, is_repeatable

LEAST_CONSTANTS = 4
"""Elements of a display from which on a set is quicker than a scan."""


def use_set_for_membership(scope: RewriteScope) -> Iterator[Rewrite]:
    """`x in list` in a loop that leaves the list alone: a set made before the loop."""
    for name, tests in _group_tests(scope).items():
        if _is_quick(scope, name):
            continue
        loops = [scope.find_outermost_loop(each, name) for each in tests]
        statement = scope.find_statement(loops[0]) if loops[0] is not None else None
        if statement is None or len(set(loops)) != 1 or not scope.is_builtin("set"):
            continue
        made = scope.create_name(f"{name}_set")
        edits = [scope.insert_before(statement, f"{made} = set({name})")]
        edits += [scope.replace(each.comparators[0], made) for each in tests]
        yield scope.build("set membership", statement.lineno, *edits)


def keep_set_beside_list(scope: RewriteScope) -> Iterator[Rewrite]:
    """A list of what was seen that only grows and is searched in a loop: a set beside it.

    A second one has tuples in place of the items, which may be lists.
    """
    for name, tests in _group_tests(scope).items():
        if (grown := _read_growing(scope, name)) is None or _find_places(scope, name):
            continue
        start, items = grown
        made = scope.create_name(f"{name}_set")
        first = "" if is_empty_list(start.value) else name
        for kind, form in (("set beside list", "{}"), ("tuple set beside list", "tuple({})")):
            edits = [scope.insert_after(start, f"{made} = set({first})")]
            edits += [scope.replace(each.comparators[0], made) for each in tests]
            for statement, item in items:
                new = f"{made}.add({form.format(scope.get_text(item))})"
                edits.append(scope.insert_after(statement, new))
            if form != "{}":
                edits += [scope.replace(each.left, form.format(scope.get_text(each.left))) for each in tests]
            if form == "{}" or not first:
                yield scope.build(kind, start.lineno, *edits)


def keep_places_beside_list(scope: RewriteScope) -> Iterator[Rewrite]:
    """A new list that only grows and whose `index` is asked for in a loop: a dictionary of the places beside it."""
    if any(isinstance(n, ast.Try) for n in scope.nodes):
        return  # what is not there is another exception
    for name in scope.used_names:
        calls = _find_places(scope, name)
        grown = _read_growing(scope, name) if calls else None
        if grown is None or not is_empty_list(grown[0].value):
            continue
        made = scope.create_name(f"{name}_places")
        edits = [scope.insert_after(grown[0], f"{made} = {{}}")]
        edits += [scope.replace(each.comparators[0], made) for each in _group_tests(scope).get(name, ())]
        edits += [scope.replace(each, f"{made}[{scope.get_text(each.args[0])}]") for each in calls]
        for statement, item in grown[1]:
            new = f"{made}.setdefault({scope.get_text(item)}, len({name}) - 1)"
            edits.append(scope.insert_after(statement, new))
        yield scope.build("places beside list", grown[0].lineno, *edits)


def _find_places(scope: RewriteScope, name: str) -> list[ast.Call]:
    """Return the calls of `name.index(x)` in loops that let the list grow."""
    calls = [each for each in find_calls(scope, name, "index") if len(each.args) == 1]
    return [n for n in calls if any(scope.is_changed(name, loop) for loop in scope.iter_loops(n))]


def _read_growing(
    scope: RewriteScope, name: str
) -> tuple[ast.Assign | ast.AnnAssign, list[tuple[ast.Expr, ast.expr]]] | None:
    """Return how a list begins that only grows by appending, and the statements that append, with their items."""
    start = scope.find_list_start(name)
    appends = find_calls(scope, name, "append")
    if start is None or start.value is None or not appends or not scope.is_builtin("set"):
        return None
    changes = [n for n in scope.list_uses(name) if scope.is_changed(name, scope.source.parents[n])]
    statements = [scope.source.parents[each] for each in appends]
    items = [
        (statement, call.args[0])
        for statement, call in zip(statements, appends, strict=True)
        if isinstance(statement, ast.Expr)
        and scope.begins_line(statement)
        and len(call.args) == 1
        and is_repeatable(call.args[0])
    ]
    return (start, items) if len(changes) == len(appends) + 1 and len(items) == len(appends) else None


def use_set_of_constants(scope: RewriteScope) -> Iterator[Rewrite]:
    """`x in [constants]`: a set, which the compiler makes once."""
    for node in scope.nodes:
        match node:
            case ast.Compare(
                ops=[ast.In() | ast.NotIn()], comparators=[ast.List(elts=e) | ast.Tuple(elts=e)]
            ):
                if len(e) >= LEAST_CONSTANTS and all(isinstance(each, ast.Constant) for each in e):
                    text = "{" + ", ".join(map(scope.get_text, e)) + "}"
                    edit = scope.replace(node.comparators[0], text)
                    yield scope.build("set of constants", node.lineno, edit)


def search_keys_directly(scope: RewriteScope) -> Iterator[Rewrite]:
    """`x in d.keys()`, or in a list of it: `x in d`."""
    inside = [each.format("_TABLE.keys()") for each in ("{}", "list({})", "tuple({})", "set({})")]
    for node, found in scope.iter_code(*(f"_KEY {way} {x}" for way in ("in", "not in") for x in inside)):
        edit = scope.replace(node.comparators[0], scope.get_text(found.table))
        yield scope.build("search keys", node.lineno, edit)


def count_once(scope: RewriteScope) -> Iterator[Rewrite]:
    """`items.count(x)` in a loop that leaves the items alone: a Counter made before the loop."""
    yield from _look_up(scope, "count", "counts", "collections.Counter({name})", ("collections",))


def index_once(scope: RewriteScope) -> Iterator[Rewrite]:
    """`items.index(x)` in a loop that leaves the items alone: a dictionary of the first positions."""
    made = "{{value: place for place, value in reversed(list(enumerate({name})))}}"
    yield from _look_up(scope, "index", "places", made, ())


def pop_from_deque(scope: RewriteScope) -> Iterator[Rewrite]:
    """A list that is used as a queue: a deque."""
    for name in scope.used_names:
        start = scope.find_list_start(name)
        pops = [n for n in find_calls(scope, name, "pop") if [ast.unparse(a) for a in n.args] == ["0"]]
        if start is None or start.value is None or not pops or not scope.can_import("collections"):
            continue
        if not all(_is_queue_use(scope, each) for each in scope.list_uses(name)):
            continue
        edits = [scope.replace(start.value, f"collections.deque({scope.get_text(start.value)})")]
        edits += [scope.replace(each, f"{name}.popleft()") for each in pops]
        yield scope.build("deque", start.lineno, *edits, imports=("collections",))


def append_then_reverse(scope: RewriteScope) -> Iterator[Rewrite]:
    """`items.insert(0, x)` in a loop that reads nothing of it: append, and reverse after the loop."""
    for name in scope.used_names:
        start, inserts = scope.find_list_start(name), find_calls(scope, name, "insert")
        if start is None or not is_empty_list(start.value) or len(inserts) != 1 or len(inserts[0].args) != 2:
            continue
        *_, outer = [None, *scope.iter_loops(inserts[0])]
        if ast.unparse(inserts[0].args[0]) != "0" or not isinstance(outer, ast.For | ast.While):
            continue
        inside = [n for n in ast.walk(outer) if isinstance(n, ast.Name) and n.id == name]
        leaves = any(isinstance(n, ast.Return | ast.Yield | ast.YieldFrom) for n in ast.walk(outer))
        if len(inside) == 1 and not leaves and outer.lineno > start.lineno and scope.begins_line(outer):
            new = f"{name}.append({scope.get_text(inserts[0].args[1])})"
            edits = (scope.replace(inserts[0], new), scope.insert_after(outer, f"{name}.reverse()"))
            yield scope.build("append and reverse", inserts[0].lineno, *edits)


def _group_tests(scope: RewriteScope) -> dict[str, list[ast.Compare]]:
    """Return the tests of membership in loops, by the name that is searched."""
    found: dict[str, list[ast.Compare]] = {}
    for node in scope.nodes:
        match node:
            case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[ast.Name(id=name)]):
                if scope.is_in_loop(node):
                    found.setdefault(name, []).append(node)
    return found


def find_calls(scope: RewriteScope, name: str, method: str) -> list[ast.Call]:
    """Return the calls of a method of a named object, without keyword arguments."""
    calls = [node for node in scope.nodes if isinstance(node, ast.Call) and not node.keywords]
    return [node for node in calls if ast.unparse(node.func) == f"{name}.{method}"]


def _is_quick(scope: RewriteScope, name: str) -> bool:
    """Return whether the name is bound to a set or dictionary, in which a search is quick already."""
    for each in scope.list_uses(name):
        match scope.source.parents.get(each):
            case ast.Assign(value=ast.Call(func=ast.Name(id="set" | "frozenset" | "dict"))):
                return True
            case ast.Assign(value=ast.Set() | ast.Dict() | ast.SetComp() | ast.DictComp()):
                return True
    return False


def _look_up(
    scope: RewriteScope, method: str, suffix: str, made: str, imports: tuple[str, ...]
) -> Iterator[Rewrite]:
    for name in scope.used_names:
        calls = [each for each in find_calls(scope, name, method) if len(each.args) == 1]
        loops = {scope.find_outermost_loop(each, name) for each in calls}
        loop = next(iter(loops), None)
        statement = scope.find_statement(loop) if loop is not None and len(loops) == 1 else None
        if statement is None or not all(map(scope.can_import, imports)):
            continue
        table = scope.create_name(f"{name}_{suffix}")
        edits: list[TextEdit] = [scope.insert_before(statement, f"{table} = {made.format(name=name)}")]
        edits += [scope.replace(each, f"{table}[{scope.get_text(each.args[0])}]") for each in calls]
        yield scope.build(f"{method} once", statement.lineno, *edits, imports=imports)


def _is_queue_use(scope: RewriteScope, node: ast.Name) -> bool:
    """Return whether a deque does at this place what the list does."""
    above = scope.source.parents.get(node)
    match above:
        case ast.Assign() | ast.AnnAssign():
            return isinstance(node.ctx, ast.Store)
        case ast.Attribute(attr=attribute):
            return attribute in ("append", "pop", "extend", "clear")
        case ast.Call(func=ast.Name(id="len")) | ast.While() | ast.If() | ast.UnaryOp() | ast.BoolOp():
            return True
        case ast.For(iter=iterated):
            return iterated is node
        case ast.Subscript(slice=ast.Constant() | ast.UnaryOp()):
            return isinstance(above.ctx, ast.Load)
    return False
