"""Templates for forgotten words and brackets: `await`, `self`, `nonlocal`, `(a + b) * c`.

Most are the mutation operators of cosmic-ray and mutmut, inverted, or typical errors in Python (a list as a
default).
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from packages.offline.repair.templates.support.source_tree import Function
from packages.offline.repair.templates.support.template_site import Change, Site, template

_DISPLAYS = ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp | ast.SetComp
_MADE = ("list", "dict", "set", "defaultdict", "OrderedDict", "deque", "Counter")


@template(prior=0.9, precision=0.92)
def await_forgotten(site: Site) -> Iterator[Change]:
    """Await a coroutine: `g(a)` → `await g(a)`, or the reverse (TypeError)."""
    if not isinstance(site.function, ast.AsyncFunctionDef) or isinstance(site.statement, Function):
        return
    for node in site.nodes:
        if isinstance(node, ast.Await):
            yield site.replace_node(
                node, site.get_text(node.value), f"`{site.get_text(node.value)}` is nothing to wait for"
            )
        elif isinstance(node, ast.Call) and not isinstance(site.source.parents.get(node), ast.Await):
            yield site.replace_node(
                node, f"await {site.get_text(node)}", f"`{site.get_text(node)}` is not waited for"
            )


@template(prior=0.9, precision=0.95)
def shared_default(site: Site) -> Iterator[Change]:
    """Create a list or dictionary default, shared by all calls, in each call instead (a typical error in Python)."""
    function = site.statement
    if not isinstance(function, Function) or function.body[0].lineno == function.lineno:
        return
    every = [*function.args.posonlyargs, *function.args.args]
    pairs = [*zip(every[len(every) - len(function.args.defaults) :], function.args.defaults, strict=True)]
    pairs += [
        (name, default)
        for name, default in zip(function.args.kwonlyargs, function.args.kw_defaults, strict=True)
        if default is not None
    ]
    documented = isinstance(function.body[0], ast.Expr) and isinstance(function.body[0].value, ast.Constant)
    if documented and len(function.body) == 1:
        return
    first = function.body[1 if documented else 0]
    for name, default in pairs:
        called = getattr(default.func, "id", "") if isinstance(default, ast.Call) else ""
        if not isinstance(default, _DISPLAYS) and called not in _MADE:
            continue
        start, end = site.source.get_span(default)
        # To the end of the first statement: a shorter span would count as a change of the header alone.
        begin, stop = site.source.get_line_start(first.lineno), site.source.get_span(first)[1]
        margin = site.source.get_indentation(first.lineno)
        unit = margin[len(site.source.get_indentation(function.lineno)) :]
        made = f"{margin}if {name.arg} is None:\n{margin}{unit}{name.arg} = {site.get_text(default)}\n"
        between, rest = site.source.text[end:begin], site.source.text[begin:stop]
        why = f"all calls share the default `{site.get_text(default)}` of `{name.arg}`"
        yield Change(start=start, end=stop, text=f"None{between}{made}{rest}", why=why)


@template(prior=1.2, precision=0.92)
def kind_of_method(site: Site) -> Iterator[Change]:
    """Add `self`, or make a method static, a class method or a property, as the failure suggests (PyTER)."""
    function = site.statement
    owner = site.source.find_enclosing_class(function) if isinstance(function, Function) else None
    if owner is None or not isinstance(function, Function) or function.decorator_list:
        return
    arguments = [*function.args.posonlyargs, *function.args.args]
    first = arguments[0].arg if arguments else ""
    said = " ".join(site.hints.type_error_messages)
    if "positional argument" in said and function.name in said:
        if first not in ("self", "cls"):
            start = site.source.text.index("(", site.source.get_span(function)[0]) + 1
            text = "self, " if site.source.text[start:].lstrip()[:1] != ")" else "self"
            yield Change(start=start, end=start, text=text, why=f"`{function.name}` takes no `self`")
            yield site.insert_before("@staticmethod", f"`{function.name}` belongs to no object")
        if first == "cls":
            yield site.insert_before("@classmethod", f"`{function.name}` belongs to the class")
    is_method = "method" in said or any(
        kind in ("method", "function") for kind, _ in site.hints.missing_members
    )
    if first == "self" and len(arguments) == 1 and is_method:
        yield site.insert_before("@property", f"`{function.name}` is to be read, not called")


@template(prior=2.0, precision=0.95)
def name_of_outside(site: Site) -> Iterator[Change]:
    """Declare an outer variable that is assigned inside: `nonlocal n`, `global n` (UnboundLocalError)."""
    function = site.function
    if function is None or "UnboundLocalError" not in site.hints.errors or site.statement is function:
        return
    first = function.body[1 if ast.get_docstring(function) is not None and len(function.body) > 1 else 0]
    start = site.source.get_line_start(first.lineno)
    set_here = {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    read = [n.id for n in site.nodes if isinstance(n, ast.Name)]
    around = site.source.find_enclosing_function(function)
    outside = site.source.list_names(around) if around else []
    for name in dict.fromkeys(each for each in read if each in set_here):
        words = ["nonlocal"] if name in outside else ["global"] if name in site.source.module_names else []
        for word in words:
            text = f"{site.source.get_indentation(first.lineno)}{word} {name}\n"
            yield Change(start=start, end=start, text=text, why=f"`{name}` belongs to the code around")


@template(prior=0.2, precision=0.9)
def brackets_forgotten(site: Site) -> Iterator[Change]:
    """Regroup the same operands: `a + b % m` → `(a + b) % m` (TBar FP11; re-association)."""
    for node in site.nodes:
        if isinstance(node, ast.BinOp):
            yield from _regroup_operands(site, node)
        elif isinstance(node, ast.BoolOp):
            for place, each in enumerate(node.values):
                if isinstance(each, ast.BoolOp) and type(each.op) is not type(node.op):
                    yield from _regroup_conditions(site, node, place, each)


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


def _regroup_operands(site: Site, node: ast.BinOp) -> Iterator[Change]:
    left, right = node.left, node.right
    one = _get_operator_text(site, left, right)
    if isinstance(left, ast.BinOp):
        two = _get_operator_text(site, left.left, left.right)
        a, b, c = site.get_text(left.left), site.get_text(left.right), site.get_text(right)
        yield site.replace_node(node, f"{a} {two} ({b} {one} {c})")
        yield site.replace_node(node, f"({a} {one} {c}) {two} {b}")
    if isinstance(right, ast.BinOp):
        two = _get_operator_text(site, right.left, right.right)
        a, b, c = site.get_text(left), site.get_text(right.left), site.get_text(right.right)
        yield site.replace_node(node, f"({a} {one} {b}) {two} {c}")


def _get_operator_text(site: Site, left: ast.expr, right: ast.expr) -> str:
    """Return an operator as it is written, without neighbouring brackets."""
    start, end = site.get_span_between(left, right)
    return site.source.text[start:end].strip("() \t\n\\")


def _regroup_conditions(site: Site, node: ast.BoolOp, place: int, inner: ast.BoolOp) -> Iterator[Change]:
    """`a and b or c` → `a and (b or c)`; existing brackets are dissolved."""
    outer, within = ("or", "and") if isinstance(node.op, ast.Or) else ("and", "or")
    if place + 1 < len(node.values):
        *head, last = map(site.get_text, inner.values)
        rest = [last, *map(site.get_text, node.values[place + 1 :])]
        before = [site.get_text(each) for each in node.values[:place]]
        text = f" {within} ".join([*head, f"({f' {outer} '.join(rest)})"])
        yield site.replace_node(node, f" {outer} ".join([*before, f"({text})"]) if before else text)
    if place:
        first, *tail = map(site.get_text, inner.values)
        rest = [*map(site.get_text, node.values[:place]), first]
        after = [site.get_text(each) for each in node.values[place + 1 :]]
        text = f" {within} ".join([f"({f' {outer} '.join(rest)})", *tail])
        yield site.replace_node(node, f" {outer} ".join([f"({text})", *after]) if after else text)
