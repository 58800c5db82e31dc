"""Templates that change several places at once in the same way: one replacement everywhere, two names exchanged."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from itertools import combinations

from packages.offline.repair.templates import names, operators, values
from packages.offline.repair.templates.support.precedence import ATOM
from packages.offline.repair.templates.support.source_tree import list_header_nodes
from packages.offline.repair.templates.support.template_site import BUILTINS, Change, Site, template

# Maximum lines of a statement with its block in which names are exchanged; in longer ones it is never the
# fault.
LONGEST = 25
MOST_PAIRS = 12


@template(prior=0.35, precision=0.85)
def replaced_everywhere(site: Site) -> Iterator[Change]:
    """Replace an expression at every place of the function where it occurs (consistent edits, Meng 2013)."""
    if site.function is None:
        return
    inside = [each for each in site.source.list_nodes(site.function) if isinstance(each, ast.stmt)]
    every = [node for statement in inside for node in list_header_nodes(statement)]
    for node in site.nodes:
        if not isinstance(
            node, ast.Name | ast.Attribute | ast.Subscript | ast.Constant | ast.Call | ast.BinOp
        ):
            continue
        old = site.get_text(node)
        alike = [n for n in every if type(n) is type(node) and _is_replaceable(site, n, old)]
        if len(alike) < 2:
            continue
        spans = [site.source.get_span(each) for each in alike]
        for new in _iter_replacements(site, node):
            why = f"`{old}` should be `{new}` at {len(alike)} places"
            yield _combine_edits([(start, end, new) for start, end in spans], site, why)


@template(prior=3.5, precision=0.98)
def misspelt_everywhere(site: Site) -> Iterator[Change]:
    """Replace an attribute that the failing tests report as missing, at all its places in the file (Meng 2013)."""
    wrong = site.hints.missing_attributes
    for node in site.nodes:
        if not (isinstance(node, ast.Attribute) and node.attr in wrong):
            continue
        ends = [site.source.get_span(each)[1] for each in names.find_misspelt_places(site, node)]
        if len(ends) > 1:
            for near in names.find_similar_attributes(site, node):
                why = f"`.{node.attr}` should be `.{near}` at {len(ends)} places"
                yield _combine_edits([(end - len(node.attr), end, near) for end in ends], site, why)


@template(prior=0.3)
def exchanged_names(site: Site) -> Iterator[Change]:
    """Exchange two variables or attributes in a statement and its block, or in two neighbours."""
    statement, block = site.statement, site.source.get_block(site.statement)
    place = block.index(statement) if statement in block else len(block)
    regions: list[Sequence[ast.stmt]] = [[statement]] if hasattr(statement, "body") else []
    if place + 1 < len(block):
        regions.append(block[place : place + 2])
    if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return
    for region in regions:
        if (region[-1].end_lineno or 0) - region[0].lineno > LONGEST:
            continue
        yield from _iter_exchanges(site, region)


_TOGETHER = (
    names.callee,
    operators.arithmetic_operator,
    operators.comparison_operator,
    operators.augmented_assignment,
    values.integer_constant,
)


@template(prior=0.4, precision=0.9)
def alike_statements(site: Site) -> Iterator[Change]:
    """Change an operator, function or number in neighbouring statements of one form (consistent edits, Meng 2013)."""
    block, statement = site.source.get_block(site.statement), site.statement
    if statement not in block or not isinstance(
        statement, ast.Assign | ast.AugAssign | ast.Expr | ast.Return
    ):
        return
    form, first = _normalize_statement(statement), block.index(statement)
    if first and _normalize_statement(block[first - 1]) == form:
        return  # the first of them yields the change
    last = first
    while last + 1 < len(block) and _normalize_statement(block[last + 1]) == form:
        last += 1
    if last == first:
        return
    sites = [
        site,
        *(Site(source=site.source, statement=each, hints=site.hints) for each in block[first + 1 : last + 1]),
    ]
    for kind in _TOGETHER:
        every = [list(kind.changes(each)) for each in sites]
        if len({len(changes) for changes in every}) == 1:
            for together in zip(*every, strict=True):
                edits = [(change.start, change.end, change.text) for change in together]
                yield _combine_edits(edits, site, f"{together[0].why}, in {len(sites)} statements alike")


def _normalize_statement(statement: ast.stmt) -> str:
    """Return the form of a statement, without its names and numbers."""
    text = ast.dump(statement)
    return re.sub(r"(id|attr|arg|value)='?[^',()]*'?", r"\1", text)


def _iter_exchanges(site: Site, region: Sequence[ast.stmt]) -> Iterator[Change]:
    places: dict[str, list[tuple[int, int]]] = {}
    for node in (each for statement in region for each in ast.walk(statement)):
        if isinstance(node, ast.Name) and node.id in site.variables:
            places.setdefault(node.id, []).append(site.source.get_span(node))
        elif isinstance(node, ast.Attribute):
            end = site.source.get_span(node)[1]
            places.setdefault("." + node.attr, []).append((end - len(node.attr), end))
    pairs = [
        pair for pair in combinations(sorted(places), 2) if pair[0].startswith(".") == pair[1].startswith(".")
    ]
    for one, other in pairs[:MOST_PAIRS]:
        edits = [(start, end, other.lstrip(".")) for start, end in places[one]]
        edits += [(start, end, one.lstrip(".")) for start, end in places[other]]
        why = f"`{one}` and `{other}` are taken for one another"
        yield _combine_edits(edits, site, why)


def _iter_replacements(site: Site, node: ast.expr) -> Iterator[str]:
    if isinstance(node, ast.Name):
        if isinstance(node.ctx, ast.Load) and node.id not in BUILTINS:
            yield from (name for name in site.variables if name != node.id)
    elif isinstance(node, ast.Attribute | ast.Subscript):
        yield site.format_operand(node.value, ATOM)
        if isinstance(node, ast.Subscript) and not isinstance(node.slice, ast.Slice | ast.Tuple):
            yield site.get_text(node.slice)
    elif isinstance(node, ast.BinOp) and type(node.left) is type(node.right):
        start, end = site.get_span_between(node.left, node.right)
        yield site.get_text(node.right) + site.source.text[start:end] + site.get_text(node.left)
    elif isinstance(node, ast.Constant) and type(node.value) is int:
        yield from (str(value) for value in (node.value + 1, node.value - 1) if value >= 0)
    elif isinstance(node, ast.Call) and len(node.args) == 1 and not node.keywords:
        yield site.get_text(node.args[0])
        if isinstance(node.func, ast.Attribute):
            yield f"{site.get_text(node.func)}()"


def _is_replaceable(site: Site, node: ast.expr, text: str) -> bool:
    """Return whether it has the same text, is read and not part of an f-string, where positions are not exact."""
    if not isinstance(getattr(node, "ctx", ast.Load()), ast.Load):
        return False
    above = site.source.parents.get(node)
    while isinstance(above, ast.expr):
        if isinstance(above, ast.JoinedStr):
            return False
        above = site.source.parents.get(above)
    return site.get_text(node) == text


def _combine_edits(edits: Sequence[tuple[int, int, str]], site: Site, why: str) -> Change:
    """Combine several replacements into one change of the text that contains them all."""
    ordered = sorted(edits)
    start, end = ordered[0][0], ordered[-1][1]
    parts, place = [], start
    for first, last, text in ordered:
        parts += [site.source.text[place:first], text]
        place = last
    return Change(start=start, end=end, text="".join(parts), why=why)
