"""Templates that add, remove, move or transform whole statements."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packages.offline.repair.templates.support.source_tree import Function, get_first_line
from packages.offline.repair.templates.support.template_site import BUILTINS, Change, Site, template

_EXCEPTIONS = (
    "ValueError",
    "TypeError",
    "KeyError",
    "IndexError",
    "AttributeError",
    "ZeroDivisionError",
    "OSError",
)


@template(prior=0.8)
def missing_return(site: Site) -> Iterator[Change]:
    """Return a value that is computed and dropped: `x` → `return x` (TBar FP12; TBar FP4, insert missed statement)."""
    statement, block = site.statement, site.source.get_block(site.statement)
    if isinstance(statement, ast.Expr) and not isinstance(statement.value, ast.Yield | ast.Constant):
        yield site.rewrite_statement(
            f"return {site.get_text(statement)}",
            f"the result of `{site.get_text(statement)}` is not returned",
        )
    inside = site.function is not None and statement in site.function.body
    if (
        inside
        and statement is block[-1]
        and not isinstance(statement, ast.Return | ast.Raise)
        and site.is_alone_on_lines
    ):
        for name in site.variables:
            yield site.insert_after(f"return {name}", f"`{name}` is not returned at the end of the function")


@template(prior=0.35)
def moved_into_else(site: Site) -> Iterator[Change]:
    """Move a statement after an `if` into its other branch (TBar FP14)."""
    block = site.source.get_block(site.statement)
    place = block.index(site.statement) if site.statement in block else 0
    before = block[place - 1] if place else None
    if isinstance(before, ast.If) and not before.orelse and site.is_alone_on_lines and _has_own_lines(before):
        start, end = _get_line_span(site, site.statement)
        margin = site.source.get_indentation(site.statement.lineno)
        inner = site.source.get_indentation(before.body[-1].lineno)
        lines = _shift_indentation(site.source.text[start:end], inner, margin)
        why = f"`{_get_first_line(site)}` belongs into an `else`"
        yield Change(start=start, end=end, text=f"{margin}else:\n{lines}", why=why)


@template(prior=0.35, precision=0.65)
def early_return(site: Site) -> Iterator[Change]:
    """Add a guard for empty or missing input (TBar FP2, null checker; PyTER; low precision)."""
    if site.function is None or not site.is_alone_on_lines or isinstance(site.statement, Function):
        return
    results = ["return None", "return 0", "return []", "return False", "return True", 'return ""']
    answers = _returns_values(site.function)
    if not answers:
        results = ["return"]
    if any(isinstance(node, ast.For | ast.While) for node in _iter_enclosing(site)):
        results.insert(0, "continue")
    used = [n.id for n in site.nodes if isinstance(n, ast.Name) and n.id in site.variables]
    for name in dict.fromkeys(used):
        for check in (f"{name} is None", f"not {name}"):
            for result in [*results, *([f"return {name}"] if answers else [])]:
                yield site.insert_before(
                    f"if {check}:\n    {result}", f"`{check}` is not handled: `{result}` is missing"
                )


def _returns_values(function: Function) -> bool:
    """Return whether it returns values: no generator and no procedure."""
    nodes = list(ast.walk(function))
    if any(isinstance(node, ast.Yield | ast.YieldFrom) for node in nodes):
        return False
    returns = [node for node in nodes if isinstance(node, ast.Return)]
    return not returns or any(node.value is not None for node in returns)


@template(prior=0.3, precision=0.67)
def missing_call(site: Site) -> Iterator[Change]:
    """Add an element to a collection of the function (PraPR, method call; QuixBugs class 14)."""
    if site.function is None or not site.is_alone_on_lines:
        return
    outermost = site.function
    while (around := site.source.find_enclosing_function(outermost)) is not None:
        outermost = around
    for container, method in _find_containers(outermost):
        for name in site.variables:
            if name != container:
                text = f"{container}.{method}({name})"
                yield site.insert_before(text, f"`{text}` is missing")
                yield site.insert_after(text, f"`{text}` is missing")


@template(prior=0.2, precision=0.65)
def missing_assignment(site: Site) -> Iterator[Change]:
    """Add an assignment `a = b` between two variables of the function (TBar FP4; QuixBugs class 14)."""
    if site.function is None or not site.is_alone_on_lines:
        return
    rebound = [
        n.id
        for n in site.source.list_nodes(site.function)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    ]
    for target in dict.fromkeys(rebound):
        for value in site.variables:
            if value != target:
                yield site.insert_before(f"{target} = {value}", f"`{target} = {value}` is missing")
                yield site.insert_after(f"{target} = {value}", f"`{target} = {value}` is missing")


@template(prior=0.2, precision=0.65)
def copied_statement(site: Site) -> Iterator[Change]:
    """Copy a statement of the same function, with one name exchanged (GenProg; TBar FP4)."""
    if site.function is None or not site.is_alone_on_lines:
        return
    for other in site.source.list_nodes(site.function):
        if not isinstance(other, ast.Expr | ast.AugAssign | ast.Assign) or other is site.statement:
            continue
        text = site.get_text(other)
        if "\n" in text or (isinstance(other, ast.Expr) and isinstance(other.value, ast.Constant)):
            continue
        for copy in dict.fromkeys([text, *_iter_substitutions(site, other)]):
            yield site.insert_before(copy, f"`{copy}` is missing")
            yield site.insert_after(copy, f"`{copy}` is missing")


@template(prior=0.4, precision=0.6)
def removed_statement(site: Site) -> Iterator[Change]:
    """Remove a statement (GenProg, Kali, TBar FP15; passes weak tests, so late)."""
    if isinstance(site.statement, ast.Import | ast.ImportFrom | Function | ast.ClassDef):
        return
    why = f"`{_get_first_line(site)}` should not be there"
    if len(site.source.get_block(site.statement)) == 1:
        yield site.rewrite_statement("pass", why)
    elif site.is_alone_on_lines and not _is_elif(site):
        start, end = _get_line_span(site, site.statement)
        yield Change(start=start, end=end, text="", why=why)


@template(prior=0.2, precision=0.5)
def two_removed(site: Site) -> Iterator[Change]:
    """Remove two consecutive statements (GenProg; Kali; several at once, so late)."""
    block = site.source.get_block(site.statement)
    place = block.index(site.statement)
    if not site.is_alone_on_lines or place + 1 >= len(block) or len(block) == 2:
        return
    following = block[place + 1]
    if not Site(source=site.source, statement=following).is_alone_on_lines:
        return
    start = site.source.get_line_start(site.statement.lineno)
    end = min(
        site.source.get_line_start((following.end_lineno or following.lineno) + 1), len(site.source.text)
    )
    why = f"`{site.get_text(site.statement).splitlines()[0]}` and what follows it should not be there"
    yield Change(start=start, end=end, text="", why=why)


@template(prior=0.5)
def moved_out_of_block(site: Site) -> Iterator[Change]:
    """Move the last statement of a block out of it, or the next one into it: wrong indentation (TBar FP14)."""
    source, statement = site.source, site.statement
    above = source.parents.get(statement)
    if not site.is_alone_on_lines or isinstance(statement, Function | ast.ClassDef) or _is_elif(site):
        return
    block = source.get_block(statement)
    start, end = _get_line_span(site, statement)
    lines = source.text[start:end]
    if (
        (
            isinstance(above, ast.For | ast.While | ast.If | ast.With)
            and statement is block[-1]
            and len(block) > 1
        )
        and block is above.body
        and not getattr(above, "orelse", None)
    ):
        text = _shift_indentation(
            lines, source.get_indentation(above.lineno), source.get_indentation(statement.lineno)
        )
        yield Change(
            start=start,
            end=end,
            text=text,
            why=f"`{_get_first_line(site)}` belongs after the block, not in it",
        )
    place = block.index(statement)
    before = block[place - 1] if place else None
    if isinstance(before, ast.For | ast.While | ast.If | ast.With) and not getattr(before, "orelse", None):
        inner = source.get_indentation(before.body[-1].lineno)
        text = _shift_indentation(lines, inner, source.get_indentation(statement.lineno))
        header = source.text[source.get_span(before)[0] :].split("\n")[0]
        yield Change(
            start=start, end=end, text=text, why=f"`{_get_first_line(site)}` belongs inside `{header}`"
        )


@template(prior=0.5)
def exception_type(site: Site) -> Iterator[Change]:
    """Raise or catch another exception, those of the failures first (cosmic-ray's exception replacer)."""
    candidates = [*sorted(site.hints.errors & BUILTINS), *_EXCEPTIONS]
    places: list[ast.expr] = []
    if isinstance(site.statement, ast.Raise):
        places = [n for n in site.nodes if isinstance(n, ast.Name) and n.id.endswith(("Error", "Exception"))]
    elif isinstance(site.statement, ast.Try):
        places = [handler.type for handler in site.statement.handlers if isinstance(handler.type, ast.Name)]
    for node in places:
        for name in dict.fromkeys(candidates):
            if name != site.get_text(node):
                yield site.replace_node(node, name)


def _iter_enclosing(site: Site) -> Iterator[ast.AST]:
    node = site.source.parents.get(site.statement)
    while node is not None and not isinstance(node, Function):
        yield node
        node = site.source.parents.get(node)


_METHOD_OF = {"list": "append", "set": "add", "deque": "append"}


def _find_containers(function: Function) -> list[tuple[str, str]]:
    """Return variables with a growing collection, and the method that adds to it."""
    found: dict[str, str] = {}
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            method = _get_add_method(node.value)
            if method:
                found[node.targets[0].id] = method
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and isinstance(node.func.value, ast.Name)
        ) and node.func.attr in ("append", "add"):
            found[node.func.value.id] = node.func.attr
    return sorted(found.items())


def _get_add_method(value: ast.expr) -> str:
    if isinstance(value, ast.List):
        return "append"
    if isinstance(value, ast.Set):
        return "add"
    if isinstance(value, ast.Call):
        function = value.func
        name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
        return _METHOD_OF.get(str(name).lower(), "")
    return ""


def _iter_substitutions(site: Site, statement: ast.stmt) -> Iterator[str]:
    """Yield the statement's text with one name replaced by another variable."""
    start = site.source.get_span(statement)[0]
    text = site.get_text(statement)
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and node.id in site.variables:
            place = site.source.get_span(node)[0] - start
            for name in site.variables:
                if name != node.id:
                    yield text[:place] + name + text[place + len(node.id) :]


def _get_line_span(site: Site, statement: ast.stmt) -> tuple[int, int]:
    assert statement.end_lineno is not None
    source = site.source
    return source.get_line_start(get_first_line(statement)), min(
        source.get_line_start(statement.end_lineno + 1), len(source.text)
    )


def _shift_indentation(lines: str, margin: str, old_margin: str) -> str:
    moved = [
        margin + line[len(old_margin) :] if line.startswith(old_margin) else line
        for line in lines.split("\n")
    ]
    return "\n".join(moved)


def _has_own_lines(statement: ast.If) -> bool:
    """Return whether its body is on lines of its own."""
    return statement.body[0].lineno > statement.lineno


def _is_elif(site: Site) -> bool:
    return isinstance(site.statement, ast.If) and site.get_text(site.statement).startswith("elif")


def _get_first_line(site: Site) -> str:
    return site.get_text(site.statement).split("\n")[0]
