"""Rewrites of values that grow in a loop: nothing of them is copied for each step."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packages.improve.rewrites.rewrite import Rewrite
from packages.improve.rewrites.rewrite_scope import RewriteScope, list_names


def grow_in_place(scope: RewriteScope) -> Iterator[Rewrite]:
    """`items = items + [x]` in a loop: `items.append(x)`, of a container that nothing else holds; so of other kinds."""
    for node in scope.nodes:
        if not isinstance(node, ast.Assign | ast.AugAssign) or (found := _read_step(scope, node)) is None:
            continue
        name, kinds, new = found
        others = [n for n in scope.list_uses(name) if isinstance(scope.source.parents.get(n), ast.Assign)]
        starts = [scope.source.parents[n] for n in others if isinstance(n.ctx, ast.Store)]
        fresh = [
            each for each in starts if isinstance(each, ast.Assign) and _is_new(scope, each.value, kinds)
        ]
        is_shared = any(not isinstance(n.ctx, ast.Store) for n in others)
        if fresh and not is_shared and any(True for _ in scope.iter_loops(node)):
            yield scope.build("grow in place", node.lineno, scope.replace(node, new))


def _read_step(
    scope: RewriteScope, node: ast.Assign | ast.AugAssign
) -> tuple[str, tuple[str, ...], str] | None:
    """Return the name that a statement gives a longer copy, kinds of containers, and the statement that adds to it."""
    match node:
        case ast.Assign(targets=[ast.Name(id=name)], value=value):
            pass
        case ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=ast.List(elts=[item])):
            return name, ("list",), f"{name}.append({scope.get_text(item)})"
        case _:
            return None
    match value:
        case ast.BinOp(left=ast.Name(id=left), op=ast.Add(), right=ast.List(elts=[item])) if left == name:
            return name, ("list",), f"{name}.append({scope.get_text(item)})"
        case ast.BinOp(left=ast.Name(id=left), op=ast.Add(), right=ast.List() | ast.ListComp() as more):
            new = f"{name}.extend({scope.get_text(more)})"
            return (name, ("list",), new) if left == name else None
        case (
            ast.BinOp(left=ast.Name(id=left), op=ast.BitOr(), right=ast.Set(elts=[item]))
            | ast.Call(
                func=ast.Attribute(value=ast.Name(id=left), attr="union"),
                args=[ast.Set(elts=[item]) | ast.List(elts=[item]) | ast.Tuple(elts=[item])],
                keywords=[],
            )
        ) if left == name and not isinstance(item, ast.Starred):
            return name, ("set",), f"{name}.add({scope.get_text(item)})"
        case (
            ast.BinOp(
                left=ast.Name(id=left),
                op=ast.BitOr(),
                right=ast.Dict(keys=[ast.expr() as key], values=[item]),
            )
            | ast.Dict(keys=[None, ast.expr() as key], values=[ast.Name(id=left), item])
        ) if left == name:
            return name, ("dict",), f"{name}[{scope.get_text(key)}] = {scope.get_text(item)}"
    return None


def _is_new(scope: RewriteScope, value: ast.expr, kinds: tuple[str, ...]) -> bool:
    """Return whether the expression makes a container of one of the kinds."""
    match value:
        case ast.List() | ast.ListComp():
            return "list" in kinds
        case ast.Set() | ast.SetComp():
            return "set" in kinds
        case ast.Dict() | ast.DictComp():
            # A step of a dictionary is one itself: only a first one without it counts.
            return "dict" in kinds and None not in getattr(value, "keys", ())
        case ast.Call(func=ast.Name(id=called)):
            return called in kinds and scope.is_builtin(called)
    return False


def join_parts(scope: RewriteScope) -> Iterator[Rewrite]:
    """A text, bytes or a tuple that grows by copies in a loop: a list of parts, joined behind the loop."""
    for node in scope.nodes:
        match node:
            case ast.Assign(
                targets=[ast.Name(id=name)], value=ast.Constant(value="" | b"") | ast.Tuple(elts=[]) as empty
            ):
                pass
            case _:
                continue
        block = scope.source.get_block(node)
        behind = block[block.index(node) + 1 :]
        loop = next((each for each in behind if name in list_names(each)), None)
        if (
            not isinstance(loop, ast.For | ast.While)
            or name in scope.declared_names
            or not scope.begins_line(loop)
        ):
            continue
        ends = {n: part for n in ast.walk(loop) if (part := _read_growth(n, name)) is not None}
        fronts = {n: part for n in ast.walk(loop) if (part := _read_prefix(n, name)) is not None}
        grows = ends or fronts
        inside = sum(isinstance(n, ast.Name) and n.id == name for n in ast.walk(loop))
        names = sum(1 if isinstance(n, ast.AugAssign) else 2 for n in grows)
        leaves = any(isinstance(n, ast.Return | ast.Yield | ast.YieldFrom) for n in ast.walk(loop))
        is_tuple = isinstance(empty, ast.Tuple)
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
        whole = f"tuple({made})" if is_tuple else f"{scope.get_text(empty)}.join({parts})"
        edits.append(scope.insert_after(loop, f"{name} = {whole}"))
        yield scope.build("join", node.lineno, *edits)


def _read_growth(node: ast.AST, name: str) -> ast.expr | None:
    """Return what a statement appends to a text; None for other statements."""
    match node:
        case ast.AugAssign(target=ast.Name(id=target), op=ast.Add(), value=value) if target == name:
            return value if name not in list_names(value) else None
        case ast.Assign(
            targets=[ast.Name(id=target)], value=ast.BinOp(left=ast.Name(id=left), op=ast.Add(), right=value)
        ) if target == left == name:
            return value if name not in list_names(value) else None
    return None


def _read_prefix(node: ast.AST, name: str) -> ast.expr | None:
    """Return what a statement puts before a text; None for other statements."""
    match node:
        case ast.Assign(
            targets=[ast.Name(id=target)], value=ast.BinOp(left=value, op=ast.Add(), right=ast.Name(id=right))
        ) if target == right == name:
            return value if name not in list_names(value) else None
    return None
