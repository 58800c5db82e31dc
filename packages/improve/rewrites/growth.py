"""Rewrites of values that grow in a loop: nothing of them is copied for each step."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from packages.improve.rewrites.code_pattern import match_code
from packages.improve.rewrites.rewrite import Rewrite
from packages.improve.rewrites.rewrite_scope import RewriteScope, list_names

_STEPS = (
    ("list", "_items = _items + [_ITEM]", ".append({item})"),
    ("list", "_items += [_ITEM]", ".append({item})"),
    ("list", "_items = _items + _MORE", ".extend({more})"),
    ("set", "_items = _items | {_ITEM}", ".add({item})"),
    ("set", "_items = _items.union({_ITEM})", ".add({item})"),
    ("set", "_items = _items.union([_ITEM])", ".add({item})"),
    ("set", "_items = _items.union((_ITEM,))", ".add({item})"),
    ("dict", "_items = _items | {_KEY: _ITEM}", "[{key}] = {item}"),
    ("dict", "_items = {**_items, _KEY: _ITEM}", "[{key}] = {item}"),
)
"""Steps by which a copy grows: kind of the container, pattern, and the statement that does it in place."""

_ENDS, _FRONTS = ("_text += _PART", "_text = _text + _PART"), ("_text = _PART + _text",)


def grow_in_place(scope: RewriteScope) -> Iterator[Rewrite]:
    """`items = items + [x]` in a loop: `items.append(x)`, of a container that nothing else holds; so of other kinds."""
    for node in scope.nodes:
        if not isinstance(node, ast.Assign | ast.AugAssign) or (found := _read_step(scope, node)) is None:
            continue
        name, kind, new = found
        others = [n for n in scope.list_uses(name) if isinstance(scope.source.parents.get(n), ast.Assign)]
        starts = [scope.source.parents[n] for n in others if isinstance(n.ctx, ast.Store)]
        fresh = [each for each in starts if isinstance(each, ast.Assign) and _is_new(scope, each.value, kind)]
        is_shared = any(not isinstance(n.ctx, ast.Store) for n in others)
        if fresh and not is_shared and scope.is_in_loop(node):
            yield scope.build("grow in place", node.lineno, scope.replace(node, new))


def _read_step(scope: RewriteScope, node: ast.stmt) -> tuple[str, str, str] | None:
    """Return the name that a statement gives a longer copy, its kind of container, and the statement that adds."""
    for kind, pattern, form in _STEPS:
        if (found := match_code(node, pattern)) is None:
            continue
        parts = {key: scope.get_text(part) for key, part in vars(found).items() if key != "items"}
        if "more" not in parts or isinstance(found.more, ast.List | ast.ListComp):
            return found.items, kind, f"{found.items}{form.format(**parts)}"
    return None


def _is_new(scope: RewriteScope, value: ast.expr, kind: str) -> bool:
    """Return whether the expression makes a container of the kind."""
    match value:
        case ast.List() | ast.ListComp():
            return kind == "list"
        case ast.Set() | ast.SetComp():
            return kind == "set"
        case ast.Dict() | ast.DictComp():
            # A step of a dictionary is one itself: only a first one without it counts.
            return kind == "dict" and None not in getattr(value, "keys", ())
        case ast.Call(func=ast.Name(id=called)):
            return called == kind and scope.is_builtin(called)
    return False


def join_parts(scope: RewriteScope) -> Iterator[Rewrite]:
    """A text, bytes or a tuple that grows by copies in a loop: a list of parts, joined behind the loop."""
    for node, found in scope.iter_code("_text = ''", "_text = b''", "_text = ()"):
        name, is_tuple = found.text, found.way == 2
        block = scope.source.get_block(node)
        behind = block[block.index(node) + 1 :]
        loop = next((each for each in behind if name in list_names(each)), None)
        is_own = name not in scope.declared_names
        if not isinstance(loop, ast.For | ast.While) or not is_own or not scope.begins_line(loop):
            continue
        ends = {n: part for n in ast.walk(loop) if (part := _read_growth(n, name, _ENDS)) is not None}
        fronts = {n: part for n in ast.walk(loop) if (part := _read_growth(n, name, _FRONTS)) is not None}
        grows = ends or fronts
        inside = sum(isinstance(n, ast.Name) and n.id == name for n in ast.walk(loop))
        names = sum(1 if isinstance(n, ast.AugAssign) else 2 for n in grows)
        leaves = any(isinstance(n, ast.Return | ast.Yield | ast.YieldFrom) for n in ast.walk(loop))
        if is_tuple and not all(isinstance(part, ast.Tuple) for part in grows.values()):
            continue
        if not grows or inside != names or leaves or (fronts and (ends or is_tuple)):
            continue
        made = scope.create_name(f"{name}_parts")
        edits = [scope.replace(node, f"{made} = []")]
        for each, part in grows.items():
            assert isinstance(each, ast.stmt)
            way = "extend" if is_tuple else "append"
            edits.append(scope.replace(each, f"{made}.{way}({scope.get_text(part)})"))
        parts = f"reversed({made})" if fronts else made
        whole = f"tuple({made})" if is_tuple else f"{scope.get_text(node.value)}.join({parts})"
        edits.append(scope.insert_after(loop, f"{name} = {whole}"))
        yield scope.build("join", node.lineno, *edits)


def _read_growth(node: ast.AST, name: str, patterns: Sequence[str]) -> ast.expr | None:
    """Return what a statement adds to a text; None for other statements."""
    for found in filter(None, (match_code(node, each) for each in patterns)):
        part: ast.expr = found.part
        return part if found.text == name and name not in list_names(part) else None
    return None
