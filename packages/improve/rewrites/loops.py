"""Rewrites of loops: work that is done once, and loops that the interpreter runs by itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any, TypeGuard

from packages.improve.rewrites.code_pattern import match_code
from packages.improve.rewrites.rewrite import Rewrite
from packages.improve.rewrites.rewrite_scope import RewriteScope, is_empty_list, list_names


def hoist_invariant(scope: RewriteScope) -> Iterator[Rewrite]:
    """A pure call in a loop that changes none of its operands: done once, before the loop."""
    found: dict[tuple[str, ast.stmt], list[ast.expr]] = {}
    for node in scope.nodes:
        if not _can_hoist(node, scope):
            continue
        own = {n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        names = list_names(node) - own
        statement = scope.find_place(node, *names)
        above = scope.source.parents.get(node)
        is_part = isinstance(above, ast.Call) and scope.is_pure(above) and names >= list_names(above)
        if statement is not None and not is_part:
            found.setdefault((scope.get_text(node), statement), []).append(node)
    for (text, statement), nodes in found.items():
        made = scope.create_name(_choose_name(nodes[0]))
        if least := match_code(nodes[0], "min(_ITEMS)") or match_code(nodes[0], "max(_ITEMS)"):
            text = f"{text[:3]}({scope.get_text(least.items)}, default=None)"  # a loop without rounds asks for none
        yield scope.name_value("hoist", statement, made, text, nodes)


def _can_hoist(node: ast.AST, scope: RewriteScope) -> TypeGuard[ast.expr]:
    """Return whether the expression is a pure call, or a pure comprehension that nothing keeps or changes."""
    if isinstance(node, ast.Call):
        return scope.is_pure(node)
    if not isinstance(node, ast.ListComp | ast.SetComp | ast.DictComp) or not scope.is_pure(node):
        return False
    above = scope.source.parents.get(node)
    match above:
        case ast.Assign(targets=[ast.Name(id=name)]):
            uses = [n for n in scope.list_uses(name) if isinstance(n.ctx, ast.Load)]
            return name not in scope.declared_names and all(is_only_read(scope, n) for n in uses)
    return is_only_read(scope, node)


def build_by_comprehension(scope: RewriteScope) -> Iterator[Rewrite]:
    """A loop that only fills a new list, set or dictionary: a comprehension."""
    for start, loop in iter_pairs(scope):
        found = match_code(start, "_name = _MADE") or match_code(start, "_name: _KIND = _MADE")
        if found is None:
            continue
        name, made = found.name, found.made
        tests, statement = _peel_tests(loop)
        body = _read_filling(scope, name, made, statement)
        reads = sum(isinstance(n, ast.Name) and n.id == name for n in ast.walk(loop))
        is_read_later = scope.is_read_behind(loop, list_names(loop.target))
        if body is None or reads != 1 or is_read_later or loop.orelse:
            continue
        head = scope.get_text(start)[: -len(scope.get_text(made))]
        conditions = "".join(f" if {_wrap_test(scope, each)}" for each in tests)
        target, iterated = scope.get_text(loop.target), scope.get_text(loop.iter)
        opening, closing = ("[", "]") if is_empty_list(made) else ("{", "}")
        new = f"{head}{opening}{body} for {target} in {iterated}{conditions}{closing}"
        if "\n" not in new and "await" not in new:
            yield scope.build("comprehension", start.lineno, scope.replace_from(start, loop, new))


def leave_early(scope: RewriteScope) -> Iterator[Rewrite]:
    """A loop that only sets a flag to a constant: it ends there."""
    for node in scope.nodes:
        if not (isinstance(node, ast.For) and not node.orelse):
            continue
        tests, statement = _peel_tests(node)
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=ast.Constant()):
                reads = sum(isinstance(n, ast.Name) and n.id == name for n in ast.walk(node))
                is_read = scope.is_read_behind(node, list_names(node.target))
                is_silent = all(_has_no_effect(scope, each) for each in tests)
                if tests and is_silent and reads == 1 and not is_read and scope.begins_line(statement):
                    yield scope.build("early exit", statement.lineno, scope.insert_after(statement, "break"))


def iterate_directly(scope: RewriteScope) -> Iterator[Rewrite]:
    """`for i in range(len(items))` that reads `items[i]`: enumerate."""
    for node in scope.nodes:
        if not isinstance(node, ast.For) or not isinstance(node.target, ast.Name):
            continue
        index, found = node.target.id, match_code(node.iter, "range(len(_items))")
        names = (found.items, index) if found else ()
        if found is None or any(scope.is_changed(name, each) for each in node.body for name in names):
            continue
        inside = [n for part in node.body for n in ast.walk(part) if isinstance(n, ast.Subscript)]
        loads = [n for n in inside if isinstance(n.ctx, ast.Load)]
        reads = [n for n in loads if ast.unparse(n) == f"{found.items}[{index}]"]
        if reads and scope.is_builtin("enumerate"):
            made = scope.create_name(f"{found.items}_item")
            edits = [
                scope.replace(node.target, f"{index}, {made}"),
                scope.replace(node.iter, f"enumerate({found.items})"),
            ]
            edits += [scope.replace(each, made) for each in reads]
            yield scope.build("enumerate", node.lineno, *edits)


def bind_locally(scope: RewriteScope) -> Iterator[Rewrite]:
    """An attribute of a module that is read in a loop: bound to a local name before it."""
    found: dict[tuple[str, ast.stmt], list[ast.Attribute]] = {}
    for node in scope.nodes:
        match node:
            case ast.Attribute(value=ast.Name(id=module), ctx=ast.Load()) if scope.is_module(module):
                statement = scope.find_place(node)
                if statement is not None:
                    found.setdefault((scope.get_text(node), statement), []).append(node)
    for (text, statement), nodes in found.items():
        made = scope.create_name(text.replace(".", "_"))
        yield scope.name_value("local name", statement, made, text, nodes)


def count_by_counter(scope: RewriteScope) -> Iterator[Rewrite]:
    """A loop that only counts into a new dictionary: Counter, which counts in C."""
    for start, loop in iter_pairs(scope):
        found = match_code(start, "_name = {}")
        if not isinstance(loop.target, ast.Name) or loop.orelse or not scope.can_import("collections"):
            continue
        if found and _is_counting(loop, found.name, loop.target.id):
            text = f"{found.name} = dict(collections.Counter({scope.get_text(loop.iter)}))"
            edit = scope.replace_from(start, loop, text)
            yield scope.build("counter", start.lineno, edit, imports=("collections",))


def accumulate_prefixes(scope: RewriteScope) -> Iterator[Rewrite]:
    """`sum(items[:i])` in a loop over i, or the same of max or min: all of them at once by accumulate."""
    for node, found in scope.iter_code(*(f"{way}(_items[:_UPPER])" for way in ("sum", "max", "min"))):
        how, name, upper = node.func.id, found.items, found.upper
        statement = scope.find_place(node, name)
        index = upper.left if isinstance(upper, ast.BinOp) else upper
        ranges = any(_is_index_of(each, index, name) for each in scope.iter_loops(node))
        if statement is None or not ranges or not scope.can_import("itertools"):
            continue
        made = scope.create_name(f"{name}_{how}s")
        start, shift = ("[0, *", "") if how == "sum" else ("[None, *", f", {how}")
        table = f"{made} = {start}itertools.accumulate({name}{shift})]"
        edit = scope.replace(node, f"{made}[{scope.get_text(upper)}]")
        before = scope.insert_before(statement, table)
        yield scope.build("accumulate", node.lineno, before, edit, imports=("itertools",))


def sum_by_prefixes(scope: RewriteScope) -> Iterator[Rewrite]:
    """`sum(items[i:j])` in a loop that leaves the items alone: the difference of two sums from the beginning."""
    for node, found in scope.iter_code("sum(_items[_LOWER:_UPPER])", "sum(_items[_LOWER:])"):
        name = found.items
        statement = scope.find_place(node, name)
        if statement is None or not scope.can_import("itertools") or scope.is_fallback(node):
            continue
        made = scope.create_name(f"{name}_sums")
        begin = scope.get_text(found.lower)
        if found.way:
            total, usual = f"{made}[-1] - {made}[min({begin}, len({name}))]", f"0 <= {begin}"
        else:
            end = scope.get_text(found.upper)
            total = f"{made}[min({end}, len({name}))] - {made}[min({begin}, len({name}))]"
            usual = f"0 <= {begin} <= {end}"
        edit = scope.replace(node, f"({total} if {usual} else {scope.get_text(node)})")
        before = scope.insert_before(statement, f"{made} = [0, *itertools.accumulate({name})]")
        yield scope.build("prefix sums", node.lineno, before, edit, imports=("itertools",))


def share_results(scope: RewriteScope) -> Iterator[Rewrite]:
    """A pure call that a round of a loop repeats: done once in the round."""
    for loop in scope.nodes:
        if not isinstance(loop, ast.For | ast.While):
            continue
        found: dict[str, list[ast.Call]] = {}
        for part in loop.body:
            for node in ast.walk(part):
                if isinstance(node, ast.Call) and scope.is_pure(node) and is_only_read(scope, node):
                    found.setdefault(scope.get_text(node), []).append(node)
        for text, calls in found.items():
            names = list_names(calls[0])
            first = next((each for each in loop.body if _is_always_evaluated(scope, calls[0], each)), None)
            changed = any(scope.is_changed(name, each) for name in names for each in loop.body)
            if len(calls) < 2 or first is None or changed or not scope.begins_line(first):
                continue
            made = scope.create_name(_choose_name(calls[0]))
            yield scope.name_value("share", first, made, text, calls)


def is_only_read(scope: RewriteScope, value: ast.expr) -> bool:
    """Return whether nothing keeps or changes the value here, so that it may be one object for several places."""
    above = scope.source.parents.get(value)
    match above:
        case ast.For(iter=iterated) | ast.comprehension(iter=iterated):
            return iterated is value
        case ast.Compare() | ast.BinOp() | ast.UnaryOp() | ast.If() | ast.BoolOp():
            return True
        case ast.Subscript(ctx=context):
            return isinstance(context, ast.Load)
        case ast.Call(func=ast.Name()):
            return scope.is_pure(above)
        case ast.Attribute():
            beyond = scope.source.parents.get(above)
            return isinstance(beyond, ast.Call) and beyond.func is above and scope.is_pure(beyond)
    return False


def _is_always_evaluated(scope: RewriteScope, node: ast.AST, statement: ast.stmt) -> bool:
    """Return whether the statement evaluates the node whatever its tests say."""
    below, above = node, scope.source.parents.get(node)
    while below is not statement:
        match above:
            case None | ast.Lambda() | ast.FunctionDef() | ast.Try() | ast.While() | ast.With():
                return False
            case ast.If(test=one) | ast.IfExp(test=one) | ast.For(iter=one) | ast.BoolOp(values=[one, *_]):
                if below is not one:
                    return False
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp() | ast.comprehension():
                return False
        assert above is not None
        below, above = above, scope.source.parents.get(above)
    return True


def _choose_name(value: ast.expr) -> str:
    if not isinstance(value, ast.Call):
        return "table"
    names = [n.id for n in ast.walk(value) if isinstance(n, ast.Name)]
    last = value.func.attr if isinstance(value.func, ast.Attribute) else ""
    parts = [names[-1] if len(names) > 1 else names[0], last or names[0]]
    return "_".join(dict.fromkeys(parts))


def iter_pairs(scope: RewriteScope) -> Iterator[tuple[ast.stmt, ast.For]]:
    """Yield an assignment with the loop that follows it at once, without a comment between them."""
    for node in scope.nodes:
        if isinstance(node, ast.For) and scope.begins_line(node):
            before = scope.find_before(node)
            if isinstance(before, ast.Assign | ast.AnnAssign):
                end = scope.source.get_span(before)[1]
                if not scope.source.text[end : scope.source.get_span(node)[0]].strip():
                    yield before, node


def _peel_tests(loop: ast.For) -> tuple[list[ast.expr], ast.stmt | None]:
    """Return the conditions of a loop whose body is one statement, and that statement."""
    tests: list[ast.expr] = []
    body = loop.body
    while len(body) == 1 and isinstance(body[0], ast.If) and not body[0].orelse:
        tests.append(body[0].test)
        body = body[0].body
    return tests, body[0] if len(body) == 1 else None


def _read_filling(scope: RewriteScope, name: str, made: ast.expr, statement: ast.stmt | None) -> str | None:
    """Return the element of a comprehension that does what the statement does; None for other statements."""
    for empty, step in (
        ("[]", "_name.append(_ITEM)"),
        ("set()", "_name.add(_ITEM)"),
        ("{}", "_name[_KEY] = _ITEM"),
    ):
        found = match_code(statement, step)
        if found and found.name == name and match_code(made, empty):
            key = f"{scope.get_text(found.key)}: " if empty == "{}" else ""
            return key + scope.get_text(found.item)
    return None


def _wrap_test(scope: RewriteScope, test: ast.expr) -> str:
    text = scope.get_text(test)
    return f"({text})" if isinstance(test, ast.IfExp | ast.Lambda | ast.NamedExpr) else text


def _has_no_effect(scope: RewriteScope, test: ast.expr) -> bool:
    return all(scope.is_pure(each) for each in ast.walk(test) if isinstance(each, ast.Call)) and not any(
        isinstance(each, ast.Await | ast.NamedExpr) for each in ast.walk(test)
    )


def _is_counting(loop: ast.For, name: str, target: str) -> bool:
    """Return whether the body adds one to the count of the loop's element, in one of the usual ways."""
    key = f"{name}[{target}]"
    ways = {
        f"{key} = {name}.get({target}, 0) + 1",
        f"if {target} in {name}:\n    {key} += 1\nelse:\n    {key} = 1",
        f"if {target} not in {name}:\n    {key} = 1\nelse:\n    {key} += 1",
        f"if {target} not in {name}:\n    {key} = 0\n{key} += 1",
    }
    return "\n".join(map(ast.unparse, loop.body)) in ways


def _is_index_of(loop: Any, index: ast.expr, name: str) -> bool:
    """Return whether the loop takes the index through the positions of the items."""
    holders = [loop] if isinstance(loop, ast.For) else getattr(loop, "generators", [])
    wanted = {f"range({begin}len({name}){end})" for begin in ("", "1, ") for end in ("", " + 1")}
    return isinstance(index, ast.Name) and any(
        isinstance(each.target, ast.Name) and each.target.id == index.id and ast.unparse(each.iter) in wanted
        for each in holders
    )
