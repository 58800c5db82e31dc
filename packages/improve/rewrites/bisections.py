"""Rewrites of searches by order: bisections by hand, the least of those that are large enough."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packages.improve.rewrites.rewrite import Rewrite
from packages.improve.rewrites.rewrite_scope import RewriteScope, list_names

_BISECTIONS = [
    f"while _low < _high:\n    _middle = {half}\n    if _items[_middle] {sign} _WANTED:\n        _low = _middle + 1\n"
    "    else:\n        _high = _middle"
    for sign in ("<", "<=")
    for half in ("(_low + _high) // 2", "_low + (_high - _low) // 2")
]
_LEAST_OF_LARGE = [
    form.format(f"_item for _item in _items if _item {sign} _WANTED")
    for sign in (">=", ">")
    for form in ("min({})", "min([{}])")
]


def bisect_by_library(scope: RewriteScope) -> Iterator[Rewrite]:
    """A bisection by hand: the library's, which runs in C."""
    for loop, found in scope.iter_code(*_BISECTIONS):
        low, high, wanted = found.low, found.high, found.wanted
        is_still = not any(isinstance(n, ast.Call) and not scope.is_pure(n) for n in ast.walk(wanted))
        if not is_still or list_names(wanted) & {low, high, found.middle}:
            continue
        if not scope.is_read_behind(loop, {found.middle}) and scope.can_import("bisect"):
            way = "bisect_left" if found.way < 2 else "bisect_right"
            new = f"{low} = {high} = bisect.{way}({found.items}, {scope.get_text(wanted)}, {low}, {high})"
            yield scope.build("bisect by library", loop.lineno, scope.replace(loop, new), imports=("bisect",))


def take_next_by_bisection(scope: RewriteScope) -> Iterator[Rewrite]:
    """`min(y for y in items if y >= x)` in a loop that leaves the items alone: sorted once, then bisections."""
    if any(isinstance(n, ast.Try) for n in scope.nodes):
        return  # without one that is large enough it is another exception
    for node, found in scope.iter_code(*_LEAST_OF_LARGE):
        statement = scope.find_place(node, found.items)
        is_known = scope.is_builtin("min") and scope.is_builtin("sorted") and scope.can_import("bisect")
        if statement is None or not is_known or found.item in list_names(found.wanted):
            continue
        made = scope.create_name(f"{found.items}_sorted")
        way = "bisect_left" if found.way < 2 else "bisect_right"
        table = scope.insert_before(statement, f"{made} = sorted({found.items})")
        edit = scope.replace(node, f"{made}[bisect.{way}({made}, {scope.get_text(found.wanted)})]")
        yield scope.build("next by bisection", node.lineno, table, edit, imports=("bisect",))
