"""Templates for exceptions that a test waits for in vain, and for those that should have been caught.

They speak only where the failures' words do, so they may try much.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tools.repair.templates.base import BUILTINS, Change, Site, template
from tools.repair.templates.precedence import ATOM, COMPARISON

# Checks of the same file that are tried at another place; values of one statement that are checked.
MOST_CHECKS, MOST_VALUES = 6, 4
# What is wrong with a value, likeliest first, and in which words.
_WRONG = (
    ("{0} is None", "must not be None"),
    ("not {0}", "must not be empty"),
    ("{0} < 0", "must not be negative"),
    ("{0} <= 0", "must be positive"),
    ("{0} < 1", "must be at least 1"),
    ("{0} is not None", "is not supported"),
    ("{0}", "is not supported"),
)
_KINDS = ("str", "int", "(int, float)", "list", "dict")


@template(prior=2.0, precision=0.7)
def missing_check(site: Site) -> Iterator[Change]:
    """An exception that nothing raises: a check of what the statement reads before it (PAR's range checker; ACS)."""
    if not site.alone_on_lines or site.function is None or isinstance(site.statement, ast.FunctionDef):
        return
    for name in sorted(site.hints.unraised):
        if not site.known(name):
            continue
        for condition, said in _checks(site, name):
            yield site.insert_before(
                f"if {condition}:\n    raise {name}({said})", f"`{name}` is to be raised if `{condition}`"
            )


def _checks(site: Site, name: str) -> Iterator[tuple[str, str]]:
    """(condition, the exception's argument): those that the file has for the same exception, then plain ones."""
    known = set(site.variables)
    for test, said in _raised(site, name)[:MOST_CHECKS]:
        names = site.source.names_of(test) | site.source.names_of(said or "0")
        if names <= known | set(site.source.module_names) | BUILTINS:
            yield test, said
    for text in _values(site)[:MOST_VALUES]:
        label = text.rpartition(".")[2]
        for pattern, words in _WRONG:
            yield pattern.format(text), f'"{label} {words}"'
        for kind in _KINDS if name == "TypeError" else ():
            yield f"not isinstance({text}, {kind})", f'"{label} is of the wrong type"'


def _raised(site: Site, name: str) -> list[tuple[str, str]]:
    """(condition, argument) of the `if`s of the file that do nothing but raise it, those of the function first."""
    found: list[tuple[str, str]] = []
    every = [*site.source.nodes_in(site.function), *ast.walk(site.source.tree)]
    for node in every:
        if not (isinstance(node, ast.If) and len(node.body) == 1 and isinstance(node.body[0], ast.Raise)):
            continue
        error = node.body[0].exc
        if isinstance(error, ast.Call) and isinstance(error.func, ast.Name) and error.func.id == name:
            pair = site.text(node.test), ", ".join(map(site.text, error.args))
            if not any("\n" in text for text in pair):
                found.append(pair)
    return list(dict.fromkeys(found))


def _values(site: Site) -> list[str]:
    """What the statement reads: variables, and attributes of `self`; then the function's other parameters."""
    found: list[str] = []
    for node in site.nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self":
            above = site.source.parents.get(node)
            if not (isinstance(above, ast.Call) and above.func is node):
                found.append(site.text(node))
        elif isinstance(node, ast.Name) and node.id in site.variables and node.id not in ("self", "cls"):
            found.append(node.id)
    arguments = site.function.args if site.function else None
    given = [each.arg for each in (*arguments.args, *arguments.kwonlyargs)] if arguments else []
    return list(dict.fromkeys([*found, *(each for each in given if each not in ("self", "cls"))]))


@template(prior=0.1, precision=0.5)
def missing_handler(site: Site) -> Iterator[Change]:
    """A statement that raises where it should be let go: `try: … except E:` with what follows then (PyTER).

    Late, for it hides whatever else raises: an endless loop of QuixBugs passes all of its tests with one.
    """
    statement = site.statement
    simple = isinstance(statement, ast.Expr | ast.Assign | ast.AugAssign | ast.Return | ast.Delete)
    if not (simple and site.alone_on_lines and site.function and statement.lineno == statement.end_lineno):
        return
    names = [name for name in sorted(site.hints.errors) if site.known(name)]
    margin, text = site.source.indentation(statement.lineno), site.text(statement)
    step = "\t" if "\t" in margin else "    "
    start, end = site.source.line_start(statement.lineno), site.source.span(statement)[1]
    for name in names:
        for instead in _instead(site):
            whole = f"{margin}try:\n{margin}{step}{text}\n{margin}except {name}:\n{margin}{step}{instead}"
            yield Change(start=start, end=end, text=whole, why=f"`{name}` is to be caught at `{text[:60]}`")


def _instead(site: Site) -> Iterator[str]:
    statement = site.statement
    if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
        yield f"{statement.targets[0].id} = None"
    if not isinstance(statement, ast.Return | ast.Assign):
        yield "pass"
    above: ast.AST | None = site.source.parents.get(statement)
    while above is not None and above is not site.function:
        if isinstance(above, ast.For | ast.While):
            yield "continue"
            break
        above = site.source.parents.get(above)
    yield from ("return None", "return False")


@template(prior=1.5, precision=0.85)
def first_if_any(site: Site) -> Iterator[Change]:
    """The first or last of what may be empty: `[x[0]]` → `x[:1]`, `x[0] if x else None` (PyTER)."""
    if not site.hints.errors & {"IndexError"}:
        return
    for node in site.nodes:
        if not (isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load)):
            continue
        owner, place = site.operand(node.value, ATOM), site.text(node.slice)
        bound = {"0": ":1", "-1": "-1:"}.get(place)
        above = site.source.parents.get(node)
        if bound is None:
            continue
        if isinstance(above, ast.List) and len(above.elts) == 1:
            yield site.replace(above, f"{owner}[{bound}]", f"`{owner}` may be empty")
        tested = site.operand(node.value, COMPARISON)
        for instead in ("None", '""', "0", "[]"):
            yield site.replace(
                node, f"{owner}[{place}] if {tested} else {instead}", f"`{owner}` may be empty"
            )
        yield site.replace(node, f"{owner}[{bound}]", f"`{owner}` may be empty")
