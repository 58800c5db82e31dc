"""Rewrites of work that is repeated for a part of it: copies of slices, prefixes, what only the last round needs."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packages.improve.rewrites.code_pattern import match_code
from packages.improve.rewrites.loops import is_only_read
from packages.improve.rewrites.rewrite import Rewrite, TextEdit
from packages.improve.rewrites.rewrite_scope import RewriteScope


def split_once(scope: RewriteScope) -> Iterator[Rewrite]:
    """`text.split(x)[0]` or `[-1]`: one split, from the side of the part that is wanted."""
    ends = {"0": "split", "-1": "rsplit"}
    forms = [f"_OWNER.{way}(_SEPARATOR)[{place}]" for way in ends.values() for place in ends]
    for node, found in scope.iter_code(*forms):
        place = ast.unparse(node.slice)
        new = f"{scope.get_text(found.owner)}.{ends[place]}({scope.get_text(found.separator)}, 1)[{place}]"
        yield scope.build("split once", node.lineno, scope.replace(node, new))


def take_first(scope: RewriteScope) -> Iterator[Rewrite]:
    """`[…][0]` of a comprehension: `next`, which ends at the first."""
    if any(isinstance(n, ast.Try | ast.Yield | ast.YieldFrom) for n in scope.nodes):
        return  # without a first one it is another exception, which these would treat in another way
    for node in scope.nodes:
        match node:
            case ast.Subscript(value=ast.ListComp() as listed, slice=ast.Constant(value=0), ctx=ast.Load()):
                new = f"next({scope.get_text(listed)[1:-1].strip()})"
                if scope.is_builtin("next"):
                    yield scope.build("first", node.lineno, scope.replace(node, new))


def compare_in_place(scope: RewriteScope) -> Iterator[Rewrite]:
    """`text[i:].startswith(x)`: `text.startswith(x, i)`, which copies nothing."""
    for node, found in scope.iter_code("_OWNER[_LOWER:].startswith(_WANTED)"):
        owner, wanted, lower = map(scope.get_text, (found.owner, found.wanted, found.lower))
        new = f"{owner}.startswith({wanted}, {lower})"
        yield scope.build("compare in place", node.lineno, scope.replace(node, new))


def scan_without_copy(scope: RewriteScope) -> Iterator[Rewrite]:
    """A loop over `items[a:]`, inside another one, that may end early: positions in place of a copy of the rest."""
    for node in scope.nodes:
        if not isinstance(node, ast.For) or (found := _read_rest(node)) is None:
            continue
        name, lower, index, target = found
        leaves = any(isinstance(n, ast.Break | ast.Return) for part in node.body for n in ast.walk(part))
        changed = any(scope.is_changed(name, part) for part in node.body)
        first = node.body[0]
        is_inner = scope.is_in_loop(node)
        if not leaves or changed or not is_inner or not scope.begins_line(first):
            continue
        place = index or scope.create_name(f"{name}_place")
        yield scope.build(
            "scan without copy",
            node.lineno,
            scope.replace(node.target, place),
            scope.replace(node.iter, f"range({scope.get_text(lower)}, len({name}))"),
            scope.insert_before(first, f"{scope.get_text(target)} = {name}[{place}]"),
        )


def _read_rest(loop: ast.For) -> tuple[str, ast.expr, str, ast.expr] | None:
    """Return the items' name, where the rest begins, the name of the position ("" without), and the target."""
    if found := match_code(loop.iter, "_items[_LOWER:]"):
        return found.items, found.lower, "", loop.target
    for start in ("_LOWER", "start=_LOWER"):
        found = match_code(loop.iter, f"enumerate(_items[_LOWER:], {start})")
        match loop.target:
            case ast.Tuple(elts=[ast.Name(id=index), target]) if found:
                return found.items, found.lower, index, target
    return None


def keep_running_prefix(scope: RewriteScope) -> Iterator[Rewrite]:
    """`set(items[:i])`, `x in items[:i]` or `"".join(items[:i])` in a loop over i: a prefix that grows in the loop."""
    for node, prefix in scope.iter_code("_items[:_index]"):
        name, index = prefix.items, prefix.index
        loop = next((each for each in scope.iter_loops(node) if _counts(each, index, name)), None)
        if not isinstance(loop, ast.For) or (found := _read_prefix_use(scope, node)) is None:
            continue
        used, empty, step = found
        first = loop.body[0]
        changed = any(scope.is_changed(each, part) for each in (name, index) for part in loop.body)
        if changed or not (scope.begins_line(loop) and scope.begins_line(first)):
            continue
        made = scope.create_name(f"{name}_before")
        yield scope.build(
            "running prefix",
            node.lineno,
            scope.insert_before(loop, f"{made} = {empty}"),
            scope.insert_before(first, f"if {index}:\n    {made}{step.format(item=f'{name}[{index} - 1]')}"),
            scope.replace(used, made),
        )


def _counts(loop: ast.AST, index: str, name: str) -> bool:
    """Return whether the loop takes the index through the positions of the items, one after the other."""
    if not isinstance(loop, ast.For):
        return False
    iterated = ast.unparse(loop.iter)
    match loop.target:
        case ast.Name(id=counted):
            return counted == index and iterated == f"range(len({name}))"
        case ast.Tuple(elts=[ast.Name(id=counted), *_]):
            return counted == index and iterated == f"enumerate({name})"
    return False


def _read_prefix_use(scope: RewriteScope, prefix: ast.expr) -> tuple[ast.expr, str, str] | None:
    """Return the expression that a running value replaces, its first value, and what adds an item."""
    match above := scope.source.parents.get(prefix):
        case ast.Call(func=ast.Name(id="set"), args=[_], keywords=[]):
            is_used = is_only_read(scope, above) and scope.is_builtin("set")
            return (above, "set()", ".add({item})") if is_used else None
        case ast.Compare(ops=[ast.In() | ast.NotIn()], comparators=[inside]) if inside is prefix:
            return (prefix, "set()", ".add({item})") if scope.is_builtin("set") else None
        case ast.Call(
            func=ast.Attribute(value=ast.Constant(value="" | b"" as empty), attr="join"),
            args=[_],
            keywords=[],
        ):
            return above, repr(empty), " += {item}"
    return None


def sink_last_value(scope: RewriteScope) -> Iterator[Rewrite]:
    """A pure value that each round of a loop computes anew and only the code behind it reads: computed there."""
    for loop in scope.nodes:
        match loop:
            case ast.For(
                iter=ast.Name(id=items),
                body=[*_, before, ast.Assign(targets=[ast.Name(id=name)], value=value) as last],
                orelse=[],
            ):  # fmt: skip
                pass
            case _:
                continue
        uses = [n for n in ast.walk(loop) if isinstance(n, ast.Name) and n.id == name]
        leaves = any(isinstance(n, ast.Break | ast.Continue | ast.Return | ast.Yield) for n in ast.walk(loop))
        is_pure = isinstance(value, ast.Call) and scope.is_pure(value)
        is_kept = is_pure and scope.is_read_behind(loop, {name}) and not scope.is_changed(items, loop)
        if leaves or len(uses) != 1 or not is_kept or not scope.begins_line(loop):
            continue
        gap = TextEdit(scope.source.get_span(before)[1], scope.source.get_span(last)[1], "")
        after = scope.insert_after(loop, f"if {items}:\n    {scope.get_text(last)}")
        yield scope.build("sink", last.lineno, TextEdit(gap.start, after.end, after.text))
