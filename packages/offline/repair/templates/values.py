"""Templates that change values: constants, off-by-one, slices, initial values."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packages.offline.repair.templates.support.name_similarity import find_nearest
from packages.offline.repair.templates.support.precedence import PRODUCT, SUM
from packages.offline.repair.templates.support.template_site import Change, Site, template


@template(prior=1.0)
def integer_constant(site: Site) -> Iterator[Change]:
    """Replace an integer by one more or less, or 0, 1, −1, doubled (mutmut, PraPR inline constant)."""
    for node in site.nodes:
        if isinstance(node, ast.Constant) and type(node.value) is int:
            value = node.value
            near = (value + 1, value - 1, 0, 1, -value, 2, value * 10, value // 10)
            for other in dict.fromkeys(each for each in near if each != value):
                yield site.replace_node(node, str(other))


@template(prior=0.5)
def other_constant(site: Site) -> Iterator[Change]:
    """Exchange True and False, replace None by an empty value, scale a decimal (TBar FP9, mutate literal)."""
    swaps: dict[object, tuple[str, ...]] = {
        True: ("False",),
        False: ("True",),
        None: ("[]", "0", '""', "False", "{}"),
        "": ('" "', "None"),
        " ": ('""', '", "'),
    }
    for node in site.nodes:
        if isinstance(node, ast.Constant) and (node.value is None or isinstance(node.value, str | bool)):
            for text in swaps.get(node.value, ()):
                yield site.replace_node(node, text)
        elif isinstance(node, ast.Constant) and isinstance(node.value, float):
            for value in (node.value * 10, node.value / 10, node.value * 100, node.value / 100, -node.value):
                yield site.replace_node(node, f"{value:g}" if "." in f"{value:g}" else f"{value:.1f}")


@template(prior=0.5)
def other_string(site: Site) -> Iterator[Change]:
    """Use another string of the file, the most similar first: a wrong key or format (plastic surgery, Barr 2014)."""
    for node in site.nodes:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            others = [each for each in site.source.strings if each != node.value]
            near = find_nearest(node.value, others, 6, 0.3)
            if len(node.value) == 1:  # letters and digits are never similar
                near += [each for each in others if len(each) == 1 and each not in near]
                near += [each for each in ("0", "1", " ") if each not in (*near, node.value)]
            for text in near:
                yield site.replace_node(node, _quote_like(text, like=site.get_text(node)))


@template(prior=1.0)
def off_by_one(site: Site) -> Iterator[Change]:
    """Change an index, bound, argument or result by one (QuixBugs class 4; the most common fault of all)."""
    for node in site.nodes:
        if _is_countable(site, node) and not _is_named_value(node):
            for text in (f"{site.format_operand(node, SUM)} + 1", f"{site.format_operand(node, SUM)} - 1"):
                yield site.replace_node(node, text)


@template(prior=0.6)
def slice_bound(site: Site) -> Iterator[Change]:
    """Move or remove one bound of a slice (TBar FP10, mutate the arguments)."""
    for node in site.nodes:
        if isinstance(node, ast.Slice):
            low = site.get_text(node.lower) if node.lower else ""
            high = site.get_text(node.upper) if node.upper else ""
            step = f":{site.get_text(node.step)}" if node.step else ""
            pairs = [("", high), (low, ""), (high, low), ("1", high), (low, "-1")]
            pairs += (
                [("1", "")] if (low, high) == ("", "-1") else [("", "-1")] if (low, high) == ("1", "") else []
            )
            for first, last in pairs:
                if (first, last) != (low, high):
                    yield site.replace_node(node, f"{first}:{last}{step}")
            if not step:
                yield site.replace_node(node, f"{low}:{high}:-1")


@template(prior=0.35)
def slice_added(site: Site) -> Iterator[Change]:
    """Slice off the first or last element, or start at a counter: a loop or a recursive call that includes too much."""
    counters = [name for name in site.variables if _is_counter(site, name)]
    for node in site.nodes:
        if isinstance(node, ast.Name | ast.Attribute | ast.Subscript) and _is_sequence_place(site, node):
            text = site.get_text(node)
            bounds = ["1:", ":-1", *(f"{n}:" for n in counters), *(f":{n}" for n in counters)]
            for bound in bounds:
                if text != bound.strip(":"):
                    yield site.replace_node(node, f"{text}[{bound}]")


@template(prior=0.3)
def index_from_end(site: Site) -> Iterator[Change]:
    """Exchange `x[0]` and `x[-1]`, add an element access, or remove one (TBar FP10)."""
    for node in site.nodes:
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            yield site.replace_node(node, site.format_operand(node.value, PRODUCT))
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load) and _is_argument(site, node):
            yield site.replace_node(node, f"{node.id}[0]")
            yield site.replace_node(node, f"{node.id}[-1]")


@template(prior=0.4)
def empty_result(site: Site) -> Iterator[Change]:
    """Put an element into an empty result: the base case of a recursion (QuixBugs class 9)."""
    for node in site.nodes:
        if isinstance(node, ast.List | ast.Tuple) and not node.elts and isinstance(node.ctx, ast.Load):
            yield site.replace_node(node, "[[]]")
            for name in site.variables:
                yield site.replace_node(node, f"[{name}]")
        elif isinstance(node, ast.List) and len(node.elts) == 1:
            yield site.replace_node(node, "[]")


def _quote_like(text: str, like: str) -> str:
    quote = like.lstrip("rRbBuUfF")[:1]
    written = repr(text)
    return f'"{text}"' if quote == '"' and '"' not in text and written[1:-1] == text else written


def _is_countable(site: Site, node: ast.expr) -> bool:
    """Return whether it could be a count, where one more or less makes sense."""
    if not isinstance(node, ast.Name | ast.Call | ast.Attribute | ast.BinOp | ast.Subscript):
        return False
    if isinstance(getattr(node, "ctx", ast.Load()), ast.Store | ast.Del):
        return False
    above = site.source.parents.get(node)
    if isinstance(above, ast.Subscript):
        return node is above.slice
    if isinstance(above, ast.Tuple):  # an index of several dimensions, or several values at once
        return isinstance(site.source.parents.get(above), ast.Subscript | ast.Assign | ast.Return)
    if isinstance(above, ast.Call):
        return node in above.args
    return isinstance(above, ast.Slice | ast.Compare | ast.Return | ast.Assign | ast.BinOp | ast.AugAssign)


def _is_named_value(node: ast.expr) -> bool:
    """Return whether it is a class constant, such as an enumeration's member, without neighbours: `Colour.RED`."""
    if not (isinstance(node, ast.Attribute) and node.attr.isupper()):
        return False
    owner = node.value.attr if isinstance(node.value, ast.Attribute) else getattr(node.value, "id", "")
    return owner[:1].isupper()


def _is_counter(site: Site, name: str) -> bool:
    """Return whether it is compared, counted with or used as an index somewhere in the function."""
    for node in site.source.list_nodes(site.function):
        if isinstance(node, ast.Name) and node.id == name:
            above = site.source.parents.get(node)
            if isinstance(above, ast.Slice | ast.AugAssign):
                return True
            if isinstance(above, ast.Subscript) and node is above.slice:
                return True
            if isinstance(above, ast.BinOp | ast.Compare) and isinstance(node.ctx, ast.Load):
                return not isinstance(above, ast.Compare) or not isinstance(
                    above.ops[0], ast.In | ast.NotIn | ast.Is
                )
    return False


def _is_sequence_place(site: Site, node: ast.expr) -> bool:
    if isinstance(getattr(node, "ctx", None), ast.Store | ast.Del):
        return False
    above = site.source.parents.get(node)
    if isinstance(above, ast.For | ast.AsyncFor | ast.comprehension):
        return node is above.iter
    if isinstance(above, ast.Call):
        return node in above.args
    return isinstance(above, ast.Return | ast.Assign | ast.BinOp)


def _is_argument(site: Site, node: ast.expr) -> bool:
    above = site.source.parents.get(node)
    if isinstance(above, ast.Call):
        return node in above.args
    return isinstance(above, ast.Return | ast.Assign | ast.BinOp | ast.Compare | ast.Tuple | ast.List)
