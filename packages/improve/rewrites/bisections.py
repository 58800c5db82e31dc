"""Rewrites of searches by order: bisections by hand, the least of those that are large enough."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packages.improve.rewrites.rewrite import Rewrite
from packages.improve.rewrites.rewrite_scope import RewriteScope, list_names


def bisect_by_library(scope: RewriteScope) -> Iterator[Rewrite]:
    """A bisection by hand: the library's, which runs in C."""
    for loop in scope.nodes:
        match loop:
            case ast.While(
                test=ast.Compare(left=ast.Name(id=low), ops=[ast.Lt()], comparators=[ast.Name(id=high)]),
                body=[
                    ast.Assign(targets=[ast.Name(id=middle)], value=half),
                    ast.If(
                        test=ast.Compare(
                            left=ast.Subscript(value=ast.Name(id=name), slice=ast.Name(id=probed)),
                            ops=[ast.Lt() | ast.LtE() as comparison],
                            comparators=[wanted],
                        ),
                        body=[up],
                        orelse=[down],
                    ),
                ],
                orelse=[],
            ):
                pass
            case _:
                continue
        is_usual = (
            probed == middle
            and ast.unparse(half) in (f"({low} + {high}) // 2", f"{low} + ({high} - {low}) // 2")
            and ast.unparse(up) == f"{low} = {middle} + 1"
            and ast.unparse(down) == f"{high} = {middle}"
            and not list_names(wanted) & {low, high, middle}
            and not any(isinstance(n, ast.Call) and not scope.is_pure(n) for n in ast.walk(wanted))
        )
        if is_usual and not scope.is_read_behind(loop, {middle}) and scope.can_import("bisect"):
            way = "bisect_right" if isinstance(comparison, ast.LtE) else "bisect_left"
            new = f"{low} = {high} = bisect.{way}({name}, {scope.get_text(wanted)}, {low}, {high})"
            yield scope.build("bisect by library", loop.lineno, scope.replace(loop, new), imports=("bisect",))


def take_next_by_bisection(scope: RewriteScope) -> Iterator[Rewrite]:
    """`min(y for y in items if y >= x)` in a loop that leaves the items alone: sorted once, then bisections."""
    if any(isinstance(n, ast.Try) for n in scope.nodes):
        return  # without one that is large enough it is another exception
    for node in scope.nodes:
        match node:
            case ast.Call(
                func=ast.Name(id="min"),
                args=[
                    ast.GeneratorExp(elt=ast.Name(id=taken), generators=[search])
                    | ast.ListComp(elt=ast.Name(id=taken), generators=[search])
                ],
                keywords=[],
            ):
                pass
            case _:
                continue
        match search:
            case ast.comprehension(
                target=ast.Name(id=item),
                iter=ast.Name(id=name),
                ifs=[
                    ast.Compare(
                        left=ast.Name(id=left), ops=[ast.GtE() | ast.Gt() as comparison], comparators=[wanted]
                    )
                ],
            ) if item == left == taken and item not in list_names(wanted):
                pass
            case _:
                continue
        loop = scope.find_outermost_loop(node, name)
        statement = scope.find_statement(loop) if loop is not None else None
        is_known = scope.is_builtin("min") and scope.is_builtin("sorted") and scope.can_import("bisect")
        if statement is None or not is_known:
            continue
        made = scope.create_name(f"{name}_sorted")
        way = "bisect_left" if isinstance(comparison, ast.GtE) else "bisect_right"
        yield scope.build(
            "next by bisection",
            node.lineno,
            scope.insert_before(statement, f"{made} = sorted({name})"),
            scope.replace(node, f"{made}[bisect.{way}({made}, {scope.get_text(wanted)})]"),
            imports=("bisect",),
        )
