"""Templates that rearrange expressions: swap, drop, wrap, unwrap, extend, reuse."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from itertools import combinations, pairwise

from packages.offline.repair.templates.support.precedence import ATOM, NOT, PRODUCT, SUM
from packages.offline.repair.templates.support.source_tree import Function
from packages.offline.repair.templates.support.template_site import Change, Site, template

# Functions of one argument that are forgotten most often.
_WRAPPERS = (
    "len",
    "str",
    "int",
    "list",
    "sorted",
    "reversed",
    "abs",
    "set",
    "tuple",
    "float",
    "sum",
    "max",
    "min",
)


@template(prior=0.9)
def swapped_operands(site: Site) -> Iterator[Change]:
    """Swap the operands (QuixBugs class 6; TBar FP11)."""
    for node in site.nodes:
        if isinstance(node, ast.BinOp):
            yield _exchange_parts(site, node, node.left, node.right)
        elif isinstance(node, ast.Compare) and len(node.ops) == 1 and not _is_membership_test(node):
            yield _exchange_parts(site, node, node.left, node.comparators[0])
        elif isinstance(node, ast.BoolOp):  # the check that must come first comes second
            for first, second in pairwise(node.values):
                yield _exchange_parts(site, node, first, second)


def _is_membership_test(node: ast.Compare) -> bool:
    return isinstance(node.ops[0], ast.In | ast.NotIn)


@template(prior=0.9)
def dropped_operand(site: Site) -> Iterator[Change]:
    """Remove a name or number from an arithmetic expression (operand deletion: Offutt 1996; TBar FP11.3)."""
    yield from _drop_operands(site, lambda left_out: isinstance(left_out, ast.Name | ast.Constant))


@template(prior=0.4, precision=0.75)
def dropped_term(site: Site) -> Iterator[Change]:
    """Remove a whole sub-expression: the same, but a larger change, so it needs stronger evidence."""
    yield from _drop_operands(site, lambda left_out: not isinstance(left_out, ast.Name | ast.Constant))


@template(prior=1.0)
def swapped_arguments(site: Site) -> Iterator[Change]:
    """Swap two arguments of a call (TBar FP10.3; PraPR argument propagation; QuixBugs class 6)."""
    for node in site.nodes:
        if isinstance(node, ast.Call):
            for first, second in combinations(node.args, 2):
                yield _exchange_parts(site, node, first, second)


@template(prior=0.7)
def swapped_elements(site: Site) -> Iterator[Change]:
    """Swap two elements of a tuple, list or index (QuixBugs class 6)."""
    for node in site.nodes:
        if isinstance(node, ast.Tuple | ast.List):
            for first, second in combinations(node.elts[:6], 2):
                yield _exchange_parts(site, node, first, second)
        elif isinstance(node, ast.IfExp):
            yield _exchange_parts(site, node, node.body, node.orelse)


@template(prior=0.4)
def dropped_argument(site: Site) -> Iterator[Change]:
    """Remove an argument (TBar FP10.4; mutmut's argument removal)."""
    for node in site.nodes:
        if isinstance(node, ast.Call) and len(node.args) + len(node.keywords) > _count_required_arguments(
            node
        ):
            every = [*map(site.get_text, node.args), *map(site.get_text, node.keywords)]
            for place, text in enumerate(every):
                rest = ", ".join(every[:place] + every[place + 1 :])
                yield site.replace_node(
                    node, f"{site.get_text(node.func)}({rest})", f"the argument `{text}` should not be passed"
                )


@template(prior=0.4)
def known_argument(site: Site) -> Iterator[Change]:
    """Add an option of a well-known function: the other order, an index to pop (TBar FP10.4)."""
    for node in site.nodes:
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            given = {keyword.arg for keyword in node.keywords}
            every = [*map(site.get_text, node.args), *map(site.get_text, node.keywords)]
            for option in _OPTIONS.get(name, ()):
                if option.split("=")[0] not in given and (name != "pop" or not every):
                    text = f"{site.get_text(node.func)}({', '.join([*every, option])})"
                    yield site.replace_node(node, text, f"`{option}` is missing in `{site.get_text(node)}`")


_OPTIONS = {
    "sorted": ("reverse=True", "key=len"),
    "sort": ("reverse=True", "key=len"),
    "max": ("key=len", "default=0"),
    "min": ("key=len", "default=0"),
    "pop": ("0", "-1"),
    "split": ('" "', '","'),
    "get": ("0", "[]"),
}


def _count_required_arguments(node: ast.Call) -> int:
    """Return the number of arguments that must stay; some methods need none."""
    return (
        0
        if isinstance(node.func, ast.Attribute) and node.func.attr in ("pop", "split", "strip", "get")
        else 1
    )


@template(prior=0.4)
def added_argument(site: Site) -> Iterator[Change]:
    """Add an argument to a call of one of the file's functions (TBar FP10.4; a TypeError's own case)."""
    for node in site.nodes:
        if isinstance(node, ast.Call):
            called = _find_definition(site, node.func)
            if called is None:
                continue
            names = [each.arg for each in called.args.args if each.arg not in ("self", "cls")]
            given = {keyword.arg for keyword in node.keywords}
            options = [each.arg for each in called.args.kwonlyargs]
            missing = [name for name in (*names[len(node.args) :], *options) if name not in given]
            every = [*map(site.get_text, node.args), *map(site.get_text, node.keywords)]
            for name in missing:
                for value in dict.fromkeys([name, *site.variables]):
                    if site.is_known(value):
                        text = ", ".join([*every, f"{name}={value}"])
                        why = f"`{name}={value}` is not passed on to `{site.get_text(node.func)}`"
                        yield site.replace_node(node, f"{site.get_text(node.func)}({text})", why)


@template(prior=0.25, precision=0.5)
def unwrapped(site: Site) -> Iterator[Change]:
    """Replace a call by its argument (TBar FP10.2; low precision, so late)."""
    for node in site.nodes:
        if (
            isinstance(node, ast.Call)
            and node.args
            and not isinstance(node.args[0], ast.Starred | ast.GeneratorExp)
        ):
            for argument in node.args:
                yield site.replace_node(node, site.get_text(argument))
            if (
                isinstance(node.func, ast.Attribute)
                and not node.keywords
                and not _is_imported(site, node.func.value)
            ):
                yield site.replace_node(node, site.get_text(node.func.value))


def _is_imported(site: Site, node: ast.expr) -> bool:
    """Return whether it is a module, or a member of one: useless as a value of its own."""
    if not isinstance(node, ast.Name) or node.id in site.variables:
        return False
    return isinstance(site.source.module_names.get(node.id), ast.Import | ast.ImportFrom)


@template(prior=0.35, precision=0.7)
def wrapped(site: Site) -> Iterator[Change]:
    """`x` → `f(x)`, f a function of the file or a common built-in (conversions: PyTER; TBar FP10.2)."""
    own = [
        f.name
        for f in site.source.functions
        if f.name in site.source.module_names and _count_parameters(f) == 1
    ]
    for node in site.nodes:
        if isinstance(node, ast.Name | ast.Attribute | ast.Subscript | ast.Call) and _is_value(site, node):
            for name in (*own, *_WRAPPERS):
                if not (isinstance(node, ast.Call) and site.get_text(node.func) == name):
                    yield site.replace_node(node, f"{name}({site.get_text(node)})")


@template(prior=0.4)
def bounded(site: Site) -> Iterator[Change]:
    """Bound a value by another: `max(0, x)`, `min(best, x)` (QuixBugs: a running optimum that is lost)."""
    statement = site.statement
    if not _uses_numbers(site):
        return
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        value, others = statement.value, [site.get_text(statement.targets[0]), "0", "1", *site.variables]
    elif isinstance(statement, ast.Return) and statement.value is not None:
        value, others = statement.value, ["0", "1", *site.variables]
    else:
        return
    for other in dict.fromkeys(others):
        for function in ("max", "min"):
            yield site.replace_node(value, f"{function}({other}, {site.get_text(value)})")


def _uses_numbers(site: Site) -> bool:
    """Return whether the function uses numbers: texts have an order too, but no bounds."""
    return any(
        (isinstance(node, ast.Constant) and type(node.value) in (int, float))
        or (isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.Lt | ast.LtE | ast.Gt | ast.GtE))
        or (isinstance(node, ast.BinOp | ast.AugAssign) and isinstance(node.op, _ARITHMETIC))
        or (isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in _NUMBERS)
        for node in (site.source.list_nodes(site.function) if site.function is not None else site.nodes)
    )


# Texts have sums and `%` too; these operators are for numbers (and sets) only.
_ARITHMETIC = ast.Sub | ast.Mult | ast.Div | ast.FloorDiv | ast.Pow
_NUMBERS = ("abs", "float", "int", "len", "max", "min", "range", "round", "sum")


@template(prior=0.4)
def extended(site: Site) -> Iterator[Change]:
    """Add an operand: `x` → `x + y`, `x - y` with a variable of the function (QuixBugs class 12)."""
    for node in site.nodes:
        if isinstance(node, ast.Name | ast.Call | ast.Subscript | ast.Attribute) and _is_value(site, node):
            for name in site.variables:
                if name != site.get_text(node):
                    yield site.replace_node(node, f"{site.format_operand(node, SUM)} - {name}")
                    yield site.replace_node(node, f"{site.format_operand(node, SUM)} + {name}")
        elif isinstance(node, ast.List | ast.ListComp) and _is_value(site, node):
            for name in site.variables:
                yield site.replace_node(node, f"{name} + {site.get_text(node)}")
                yield site.replace_node(node, f"{site.get_text(node)} + {name}")


@template(prior=0.2)
def scaled(site: Site) -> Iterator[Change]:
    """Add a factor, divisor, power or modulus (Offutt's operator insertion)."""
    for node in site.nodes:
        if isinstance(node, ast.Name | ast.Call | ast.Subscript | ast.Attribute) and _is_value(site, node):
            text = site.format_operand(node, ATOM)
            yield site.replace_node(node, f"{text} ** 2")
            yield site.replace_node(node, f"{site.format_operand(node, PRODUCT)} // 2")
            yield site.replace_node(node, f"{site.format_operand(node, PRODUCT)} * 2")
            for name in site.variables:
                if name != site.get_text(node):
                    yield site.replace_node(node, f"{site.format_operand(node, PRODUCT)} * {name}")
                    yield site.replace_node(node, f"{site.format_operand(node, PRODUCT)} % {name}")


@template(prior=0.15, precision=0.7)
def negated_value(site: Site) -> Iterator[Change]:
    """Negate a number: an index from the end, a loss for a gain (Offutt's unary operator insertion)."""
    for node in site.nodes:
        if isinstance(node, ast.Name | ast.Call | ast.Subscript | ast.Attribute) and _is_value(site, node):
            yield site.replace_node(node, f"-{site.format_operand(node, ATOM)}")


@template(prior=0.15)
def chained_attribute(site: Site) -> Iterator[Change]:
    """Extend a chain by one step: `x.next` → `x.next.next` (linked structures)."""
    for node in site.nodes:
        if (
            isinstance(node, ast.Attribute)
            and _is_value(site, node)
            and isinstance(node.value, ast.Name | ast.Attribute)
        ):
            yield site.replace_node(node, f"{site.get_text(node)}.{node.attr}")


@template(prior=0.15, precision=0.7)
def reused(site: Site) -> Iterator[Change]:
    """Reuse another expression of the function (plastic surgery: Barr 2014; TBar FP13.2; low precision)."""
    if site.function is None:
        return
    pool: dict[str, ast.expr] = {}
    for node in site.source.list_nodes(site.function):
        if isinstance(node, ast.Call | ast.Subscript | ast.Attribute | ast.BinOp | ast.Compare) and _is_load(
            node
        ):
            pool.setdefault(site.get_text(node), node)
    for node in site.nodes:
        if isinstance(node, ast.Name | ast.Call | ast.Subscript | ast.Attribute) and _is_value(site, node):
            for text, other in pool.items():
                if text != site.get_text(node) and "\n" not in text and _is_value(site, other):
                    yield site.replace_node(node, text)


def _drop_operands(site: Site, fits: Callable[[ast.expr], bool]) -> Iterator[Change]:
    for node in site.nodes:
        if isinstance(node, ast.BinOp):
            for kept, left_out in ((node.left, node.right), (node.right, node.left)):
                if fits(left_out):
                    why = f"`{site.get_text(left_out)}` should not be in `{site.get_text(node)}`"
                    yield site.replace_node(node, site.get_text(kept), why)


def _exchange_parts(site: Site, node: ast.expr, first: ast.expr, second: ast.expr) -> Change:
    """Return the node with two parts swapped and the text around and between them unchanged."""
    source = site.source
    (start, end), (a, b), (c, d) = source.get_span(node), source.get_span(first), source.get_span(second)
    level = SUM + 1 if isinstance(node, ast.BinOp) else NOT if isinstance(node, ast.BoolOp) else 1
    one, two = site.format_operand(first, level), site.format_operand(second, level)
    text = source.text[start:a] + two + source.text[b:c] + one + source.text[d:end]
    why = f"`{site.get_text(first)}` and `{site.get_text(second)}` should change places in `{site.get_text(node)}`"
    fitted = site.replace_node(node, text, why) if not isinstance(node, ast.Tuple) else None
    return fitted or Change(start=start, end=end, text=text, why=why)


def _find_definition(site: Site, func: ast.expr) -> Function | None:
    name = func.id if isinstance(func, ast.Name) else func.attr if isinstance(func, ast.Attribute) else ""
    found: Sequence[Function] = [each for each in site.source.functions if each.name == name]
    return found[0] if len(found) == 1 else None


def _count_parameters(function: Function) -> int:
    return len(function.args.args)


def _is_load(node: ast.expr) -> bool:
    return isinstance(getattr(node, "ctx", ast.Load()), ast.Load)


def _is_value(site: Site, node: ast.expr) -> bool:
    """Return whether it is a value of its own: not a callee, an attribute's object or an assignment target."""
    above = site.source.parents.get(node)
    if isinstance(above, ast.Call):
        return node is not above.func
    if isinstance(above, ast.Attribute) or not _is_load(node):
        return False
    return not isinstance(above, ast.Expr | ast.Subscript) or (
        isinstance(above, ast.Subscript) and node is above.slice
    )
