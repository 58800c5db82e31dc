"""Templates for answers that come too early or are not asked for, and for statements that want a condition."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tools.repair.templates.base import Change, Site, template
from tools.repair.templates.precedence import negated
from tools.repair.templates.source import Function

# Conditions of the same function that a statement is put under, calls that stand in for a name.
MOST_CONDITIONS, MOST_CALLS = 8, 6
_LOOPS = (ast.For, ast.While)
_SIMPLE = (ast.Expr, ast.Assign, ast.AugAssign, ast.Delete, ast.Raise)


@template(prior=0.7, precision=0.85)
def answer_too_early(site: Site) -> Iterator[Change]:
    """A loop whose `else: return` answers after its first round; it belongs after the loop (TBar FP14; Refactory)."""
    statement, source = site.statement, site.source
    branch = source.parents.get(statement)
    if not (
        isinstance(statement, ast.Return) and isinstance(branch, ast.If) and branch.orelse == [statement]
    ):
        return
    loop, inner = _loop_ended_by(site, branch)
    if loop is None or loop.orelse:
        return
    last = inner.body[-1]
    assert last.end_lineno is not None
    start, (_, end) = source.line_start(last.end_lineno + 1), source.span(statement)
    block = source.block(loop)
    text = f"{source.indentation(loop.lineno)}{site.text(statement)}"
    if loop is not block[-1]:  # what follows answers, or does not
        gone = source.text[:end].rfind("\n", 0, start)
        yield Change(
            start=gone, end=end, text="", why=f"`{site.text(statement)}` answers after the first round"
        )
    yield Change(
        start=start,
        end=end,
        text=text,
        why=f"`{site.text(statement)}` answers after the first round, not the last",
    )


def _loop_ended_by(site: Site, branch: ast.If) -> tuple[ast.For | ast.While | None, ast.If]:
    """The loop whose last statement the branch is (an `elif` of it, too), with the branch that is left of it."""
    node: ast.If = branch
    while isinstance(above := site.source.parents.get(node), ast.If) and above.orelse == [node]:
        node = above
    above = site.source.parents.get(node)
    if isinstance(above, _LOOPS) and above.body[-1] is node:
        return above, branch
    return None, branch


@template(prior=0.5, precision=0.85)
def called_with_names(site: Site) -> Iterator[Change]:
    """A function where what it returns is meant: `days` → `days(month, all)`, by the names at hand (PyTER)."""
    own = {f.name: f for f in site.source.functions if site.source.module_names.get(f.name) is f}
    for node in site.nodes:
        above = site.source.parents.get(node)
        if not isinstance(node, ast.Name) or not isinstance(node.ctx, ast.Load):
            continue
        if isinstance(above, ast.Call) and above.func is node:
            continue
        if node.id in own:
            meant = [own[node.id]]
        elif not site.known(node.id):
            meant = sorted((f for f in own.values() if f is not site.function), key=lambda f: f.lineno)
        else:
            continue
        for function in meant[:MOST_CALLS]:
            names = _given(function)
            if names and all(name in site.variables for name in names):
                yield site.replace(node, f"{function.name}({', '.join(names)})")


def _given(function: Function) -> list[str]:
    """The parameters that a call must give, if it can give them by their places."""
    arguments = function.args
    if arguments.kwonlyargs and None in arguments.kw_defaults:
        return []
    every = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
    return every[: len(every) - len(arguments.defaults)]


@template(prior=0.3, precision=0.7)
def guarded(site: Site) -> Iterator[Change]:
    """A statement that is to run only sometimes: put under a condition (TBar FP2; PraPR; wraps an `if` around it)."""
    statement, source = site.statement, site.source
    if not (isinstance(statement, _SIMPLE) and site.alone_on_lines and site.function is not None):
        return
    if statement.lineno != statement.end_lineno or source.parents.get(statement) is None:
        return
    margin, text = source.indentation(statement.lineno), site.text(statement)
    step = "\t" if "\t" in margin else "    "
    for condition in dict.fromkeys(_conditions(site)):
        yield site.rewrite(
            f"if {condition}:\n{margin}{step}{text}", f"`{text[:60]}` is to run only if `{condition}`"
        )


def _conditions(site: Site) -> Iterator[str]:
    targets = site.statement.targets if isinstance(site.statement, ast.Assign | ast.Delete) else []
    for target in targets:
        if isinstance(target, ast.Subscript) and not isinstance(target.slice, ast.Slice):
            key, whole = site.text(target.slice), site.text(target.value)
            yield f"{key} in {whole}" if isinstance(site.statement, ast.Delete) else f"{key} not in {whole}"
    for node in site.nodes:
        if not (isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load)):
            continue
        if not isinstance(node.slice, ast.Slice | ast.Tuple | ast.UnaryOp):
            yield f"{site.text(node.slice)} in {site.text(node.value)}"
    read = [n for n in site.nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)]
    names = [name for name in dict.fromkeys(node.id for node in read) if name in site.variables]
    for name in names:
        if name not in ("self", "cls"):
            yield f"{name} is not None"
            yield name
    for text in _asked(site)[:MOST_CONDITIONS]:
        yield text
        yield negated(text)


def _asked(site: Site) -> list[str]:
    """What the function's own `if`s ask for, but for those around the statement."""
    around = set()
    node: ast.AST | None = site.statement
    while node is not None:
        around.add(node)
        node = site.source.parents.get(node)
    every = [n for n in site.source.nodes_in(site.function) if isinstance(n, ast.If) and n not in around]
    return [text for text in dict.fromkeys(site.text(n.test) for n in every) if "\n" not in text]


@template(prior=0.4, precision=0.85)
def order_kept(site: Site) -> Iterator[Change]:
    """`set(x)` where each element is wanted once, in the order in which they come: `dict.fromkeys(x)`."""
    for node in site.nodes:
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "set"
            and node.args
        ):
            yield site.replace(node, f"dict.fromkeys({site.text(node.args[0])})")


@template(prior=0.8)
def counted_loop(site: Site) -> Iterator[Change]:
    """A loop over a number: `for i in len(x)` where `range(len(x))` is meant (TypeError; PyTER)."""
    for node in site.nodes:
        above = site.source.parents.get(node)
        if not (isinstance(above, ast.For | ast.comprehension) and node is above.iter):
            continue
        number = (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("len", "int")
        )
        if number or isinstance(node, ast.Name | ast.BinOp):
            yield site.replace(node, f"range({site.text(node)})")
