"""Rewrites by an algorithm of the library: heaps, bisection, compiled patterns, caches."""

from __future__ import annotations

import ast
import itertools
import re
from collections.abc import Iterator

from packages.improve.rewrites.code_pattern import match_code
from packages.improve.rewrites.containers import find_calls
from packages.improve.rewrites.loops import iter_pairs
from packages.improve.rewrites.rewrite import Rewrite, TextEdit
from packages.improve.rewrites.rewrite_scope import RewriteScope, is_empty_list, is_repeatable, list_names

_ARGUMENTS = {
    **dict.fromkeys(("match", "search", "fullmatch", "findall", "finditer", "split"), 1),
    "sub": 2,
    "subn": 2,
}
"""Arguments of a function of `re` behind the pattern, without those that may be left out."""


def take_least_directly(scope: RewriteScope) -> Iterator[Rewrite]:
    """`sorted(items)[0]`: min; `[-1]`: max; `[:3]`: nsmallest."""
    for node in scope.nodes:
        match node:
            case ast.Subscript(
                value=ast.Call(func=ast.Name(id="sorted"), args=[items]) as call, ctx=ast.Load()
            ):
                pass
            case _:
                continue
        if not scope.is_builtin("sorted") or scope.is_fallback(node):
            continue
        keywords = {each.arg: each.value for each in call.keywords}
        descending = keywords.pop("reverse", None)
        if not (descending is None or (isinstance(descending, ast.Constant) and descending.value is True)):
            continue
        key = f", key={scope.get_text(keywords['key'])}" if "key" in keywords else ""
        text = scope.get_text(items)
        match ast.unparse(node.slice), bool(descending), bool(key):
            case ("0", False, _) | ("-1", True, False):
                new = f"min({text}{key})"
            case ("0", True, _) | ("-1", False, False):
                new = f"max({text}{key})"
            case (part, _, _) if re.fullmatch(r":\w+", part) and scope.can_import("heapq"):
                way = "nlargest" if descending else "nsmallest"
                new = f"heapq.{way}({part[1:]}, {text}{key})"
                if not part[1:].isdecimal():
                    new = f"({new} if {part[1:]} >= 0 else {scope.get_text(node)})"
                yield scope.build("n smallest", node.lineno, scope.replace(node, new), imports=("heapq",))
                continue
            case _:
                continue
        yield scope.build("min for sorted", node.lineno, scope.replace(node, new))


def keep_heap(scope: RewriteScope) -> Iterator[Rewrite]:
    """A list that is sorted in each round of a loop to take its least: a heap."""
    for loop in scope.nodes:
        if not (isinstance(loop, ast.While) and scope.begins_line(loop) and scope.can_import("heapq")):
            continue
        sorts = [n for n in loop.body if isinstance(n, ast.Expr) and _read_sort(n)]
        for each in sorts:
            name = _read_sort(each)
            inside = [n for n in ast.walk(loop) if isinstance(n, ast.Name) and n.id == name]
            calls = {
                way: [c for c in find_calls(scope, name, way) if _is_in(c, loop)] for way in ("pop", "append")
            }
            pops = [c for c in calls["pop"] if [ast.unparse(a) for a in c.args] == ["0"]]
            known = len(pops) + len(calls["append"]) + 1 + sum(_is_size(scope, n) for n in inside)
            behind = [n for n in scope.list_uses(name) if n.lineno > (loop.end_lineno or 0)]
            if not pops or len(calls["pop"]) != len(pops) or known != len(inside) or behind:
                continue
            start, _ = scope.source.get_span(each)
            following = loop.body[loop.body.index(each) + 1 :]
            if not following or not scope.begins_line(each):
                continue
            edits = [
                scope.insert_before(loop, f"heapq.heapify({name})"),
                TextEdit(start, scope.source.get_span(following[0])[0], ""),
                *(scope.replace(c, f"heapq.heappop({name})") for c in pops),
                *_push_on_heap(scope, name, calls["append"]),
            ]
            yield scope.build("heap", loop.lineno, *edits, imports=("heapq",))


def take_least_by_heap(scope: RewriteScope) -> Iterator[Rewrite]:
    """`x = min(items)` and `items.remove(x)` in a loop over a list of its own: a heap."""
    for loop in scope.nodes:
        if not (isinstance(loop, ast.While) and scope.begins_line(loop) and scope.can_import("heapq")):
            continue
        for first, second in itertools.pairwise(loop.body):
            found = match_code(first, "_least = min(_items)")
            if found is None or found != match_code(second, "_items.remove(_least)"):
                continue
            name = found.items
            inside = [n for n in ast.walk(loop) if isinstance(n, ast.Name) and n.id == name]
            appends = [c for c in find_calls(scope, name, "append") if _is_in(c, loop)]
            known = 2 + len(appends) + sum(_is_size(scope, n) for n in inside)
            is_own = scope.find_list_start(name) and not scope.is_read_behind(loop, {name})
            if known != len(inside) or not is_own:
                continue
            edits = [
                scope.insert_before(loop, f"heapq.heapify({name})"),
                scope.replace_from(first, second, f"{found.least} = heapq.heappop({name})"),
                *_push_on_heap(scope, name, appends),
            ]
            yield scope.build("heap", loop.lineno, *edits, imports=("heapq",))


def _push_on_heap(scope: RewriteScope, name: str, appends: list[ast.Call]) -> list[TextEdit]:
    return [scope.replace(c, f"heapq.heappush({name}, {scope.get_text(c.args[0])})") for c in appends]


def insert_sorted(scope: RewriteScope) -> Iterator[Rewrite]:
    """`items.append(x)` and `items.sort()` in a loop on a list that only so grows: insort."""
    for statement in scope.nodes:
        name = _read_sort(statement) if isinstance(statement, ast.Expr) else ""
        if not name or not scope.is_in_loop(statement) or not scope.can_import("bisect"):
            continue
        assert isinstance(statement, ast.Expr)
        appends = find_calls(scope, name, "append")
        start, before = scope.find_list_start(name), scope.find_before(statement)
        is_new = start is not None and is_empty_list(start.value)
        if not is_new or len(appends) != 1 or not isinstance(before, ast.Expr):
            continue
        changes = [n for n in scope.list_uses(name) if scope.is_changed(name, scope.source.parents[n])]
        if before.value is appends[0] and len(changes) == 3:
            text = f"bisect.insort({name}, {scope.get_text(appends[0].args[0])})"
            edit = scope.replace_from(before, statement, text)
            yield scope.build("insort", before.lineno, edit, imports=("bisect",))


def find_place_by_bisection(scope: RewriteScope) -> Iterator[Rewrite]:
    """A scan for the place of insertion in a list that only so grows: bisection."""
    scan = "while _index < len(_items) and _items[_index] {} _WANTED:\n    _index += 1"
    for loop, found in scope.iter_code(scan.format("<"), scan.format("<=")):
        name, index, wanted = found.items, found.index, found.wanted
        start, inserts = scope.find_list_start(name), find_calls(scope, name, "insert")
        before = scope.find_before(loop)
        is_begun = before is not None and ast.unparse(before) == f"{index} = 0"
        if before is None or not is_begun or start is None or not is_empty_list(start.value):
            continue
        changes = [n for n in scope.list_uses(name) if scope.is_changed(name, scope.source.parents[n])]
        given = [[ast.unparse(a) for a in each.args] for each in inserts]
        is_ordered = given == [[index, ast.unparse(wanted)]]
        if is_ordered and len(changes) == 2 and is_repeatable(wanted) and scope.can_import("bisect"):
            way = "bisect_right" if found.way else "bisect_left"
            text = f"{index} = bisect.{way}({name}, {scope.get_text(wanted)})"
            edit = scope.replace_from(before, loop, text)
            yield scope.build("bisect", loop.lineno, edit, imports=("bisect",))


def compile_pattern(scope: RewriteScope) -> Iterator[Rewrite]:
    """`re.match("constant", …)`: a pattern that the module compiles once."""
    for node in scope.nodes:
        match node:
            case ast.Call(
                func=ast.Attribute(value=ast.Name(id="re"), attr=way),
                args=[ast.Constant(value=str() | bytes()) as pattern, *given],
                keywords=[],
            ) if way in _ARGUMENTS and scope.is_module("re"):
                others, flags = given[: _ARGUMENTS[way]], given[_ARGUMENTS[way] :]
                is_count = flags and way in ("sub", "subn", "split")
                is_flag = all(ast.unparse(each).startswith("re.") for each in flags)
                if is_count or not is_flag or len(others) < _ARGUMENTS[way]:
                    continue
                made = f"_{scope.function.name.upper()}_{way.upper()}_PATTERN".replace("__", "_")
                name = scope.create_name(made)
                edit = scope.replace(node, f"{name}.{way}({', '.join(map(scope.get_text, others))})")
                constant = f"{name} = re.compile({', '.join(map(scope.get_text, (pattern, *flags)))})"
                yield scope.build("compiled pattern", node.lineno, edit, constants=(constant,))


def flatten_in_one_pass(scope: RewriteScope) -> Iterator[Rewrite]:
    """`sum(lists, [])`, which copies what it has for each list: chain."""
    for node, found in scope.iter_code("sum(_LISTS, [])"):
        if scope.is_builtin("sum") and scope.can_import("itertools"):
            new = f"list(itertools.chain.from_iterable({scope.get_text(found.lists)}))"
            yield scope.build("flatten", node.lineno, scope.replace(node, new), imports=("itertools",))


def combine_by_product(scope: RewriteScope) -> Iterator[Rewrite]:
    """A list of beginnings that is combined with one list after the other: the library's product."""
    step = "_made = [_begun + [_item] for _begun in _made for _item in _choices]"
    for start, loop in iter_pairs(scope):
        begun = match_code(start, "_made = [[]]")
        found = match_code(loop, f"for _choices in _LISTS:\n    {step}")
        if begun is None or found is None or begun.made != found.made:
            continue
        is_free = not scope.is_read_behind(loop, {found.choices}) and scope.can_import("itertools")
        if is_free and found.made not in list_names(found.lists):
            new = f"{found.made} = list(map(list, itertools.product(*{scope.get_text(found.lists)})))"
            edit = scope.replace_from(start, loop, new)
            yield scope.build("product", start.lineno, edit, imports=("itertools",))


def _read_sort(statement: ast.Expr) -> str:
    """Return the name of the list that a statement sorts in place, without arguments."""
    found = match_code(statement, "_items.sort()")
    return str(found.items) if found else ""


def _is_in(node: ast.expr, around: ast.stmt) -> bool:
    return any(each is node for each in ast.walk(around))


def _is_size(scope: RewriteScope, node: ast.Name) -> bool:
    """Return whether only the size of the list is asked for."""
    above = scope.source.parents.get(node)
    is_test = isinstance(above, ast.While | ast.If) and above.test is node
    return is_test or (isinstance(above, ast.Call) and ast.unparse(above) == f"len({node.id})")
