"""Templates for calls, with what the project knows of the function that is called: its options, how others call it."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator

from tools.repair.templates.base import Change, Site, template
from tools.repair.templates.practice import is_place
from tools.repair.templates.precedence import ATOM
from tools.repair.templates.source import Function

MOST_KEYWORDS, MOST_METHODS, MOST_HANDED_ON = 6, 8, 24
# Methods of built-in types that are useless without being called.
_CALLED = frozenset({
    "keys", "values", "items", "lower", "upper", "strip", "lstrip", "rstrip", "copy", "title", "casefold", "split",
    "splitlines", "encode", "decode", "isdigit", "isalpha", "isalnum", "isspace", "clear", "sort", "reverse", "close",
    "read", "readline", "readlines", "total_seconds",
})  # fmt: skip


@template(prior=0.7, precision=0.85)
def forwarded_option(site: Site) -> Iterator[Change]:
    """An option that the called function has, and a value of the same name at hand (TBar FP10.4): `f(x, p=p)`."""
    for node in _calls(site):
        for name in _free_options(site, node):
            if name in site.variables:
                yield _with(site, node, f"{name}={name}")
            receiver = _receiver(site)
            owners = [receiver, *_owners(site, node, name)] if receiver else _owners(site, node, name)
            for owner in dict.fromkeys(owners):
                if name in site.source.members.get(owner, ()):
                    yield _with(site, node, f"{name}={owner}.{name}")


@template(prior=0.45, precision=0.85)
def flipped_option(site: Site) -> Iterator[Change]:
    """An option that is off unless it is asked for, by the definition of the function that is called (TBar FP10.4)."""
    for node in _calls(site):
        for name, default in _free_options(site, node).items():
            if isinstance(default, ast.Constant) and isinstance(default.value, bool):
                yield _with(site, node, f"{name}={not default.value}")


@template(prior=0.4, precision=0.8)
def own_attribute_handed_on(site: Site) -> Iterator[Change]:
    """One more attribute handed on as others are: `f(a=self.a)` lacks `b=self.b` (TBar FP10.4)."""
    for node in _calls(site):
        pairs = [(each.arg, each.value) for each in node.keywords]
        alike = [
            value.value.id for name, value in pairs
            if isinstance(value, ast.Attribute) and isinstance(value.value, ast.Name) and value.attr == name
        ]  # fmt: skip
        given, receiver = {name for name, _ in pairs}, _receiver(site)
        for owner in dict.fromkeys(alike):
            held = set(site.source.members.get(owner, ()))
            held |= site.source.assigned_attributes if owner == receiver else set()
            for name in sorted(each for each in held - given if not each.startswith("_"))[:MOST_HANDED_ON]:
                yield _with(site, node, f"{name}={owner}.{name}")


@template(prior=0.4, precision=0.8)
def argument_of_others(site: Site) -> Iterator[Change]:
    """A keyword argument that calls of the same name in other files have (plastic surgery; TBar FP10.4)."""
    for node in _calls(site):
        name, given = called(node), {each.arg for each in node.keywords}
        own = site.source.keywords.get(name, ())
        for text, _ in site.package.keywords(name).most_common(MOST_KEYWORDS):
            option, _, value = text.partition("=")
            if text in own or option in given:
                continue  # that is said by another template already
            if all(site.known(each) for each in site.source.names_of(value)):
                yield _with(site, node, text)


@template(prior=0.6, precision=0.9)
def missing_parentheses(site: Site) -> Iterator[Change]:
    """A method that is named and not called: `d.keys` → `d.keys()` (PyTER); or called, being a property."""
    methods = site.package.bare_calls
    for node in site.nodes:
        above = site.source.parents.get(node)
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            is_called = isinstance(above, ast.Call) and node is above.func
            if not is_called and (node.attr in _CALLED or node.attr in methods):
                yield site.replace(node, f"{site.text(node)}()")
        elif (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and not (node.args or node.keywords)
        ):
            yield site.replace(node, site.text(node.func))


@template(prior=0.3, precision=0.75)
def method_of_others(site: Site) -> Iterator[Change]:
    """`x` → `x.method()`, one that the project often calls so (PraPR, method call insertion; plastic surgery)."""
    usual = [name for name, _ in site.package.bare_calls.most_common(MOST_METHODS) if name != "append"]
    own = [name for name, _ in site.source.bare_calls.most_common(MOST_METHODS)]
    for node in site.nodes:
        above = site.source.parents.get(node)
        handed_on = isinstance(
            above,
            ast.Call
            | ast.Assign
            | ast.Return
            | ast.keyword
            | ast.Compare
            | ast.comprehension
            | ast.For
            | ast.Tuple,
        ) and node is not getattr(above, "func", 0)
        if handed_on and (is_place(node) or isinstance(node, ast.Call)):
            for name in dict.fromkeys([*own, *usual]):
                yield site.replace(node, f"{site.operand(node, ATOM)}.{name}()")


@template(prior=0.35, precision=0.8)
def class_for_self(site: Site) -> Iterator[Change]:
    """`self.X` where the class itself has it, and the other way round (PraPR, field access)."""
    owner, receiver = site.source.enclosing_class(site.statement), _receiver(site)
    if owner is None or not receiver:
        return
    for node in site.nodes:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            if node.value.id == receiver:
                for other in (owner.name, f"type({receiver})", f"super({owner.name}, {receiver})", "super()"):
                    yield site.replace(node.value, other)
            elif node.value.id == owner.name:
                yield site.replace(node.value, receiver)


@template(prior=0.5, precision=0.85)
def attribute_of_self(site: Site) -> Iterator[Change]:
    """The object itself, or a parameter, where one of its attributes is meant that other methods use (TBar FP13.2)."""
    receiver = _receiver(site)
    for node in site.nodes:
        above = site.source.parents.get(node)
        if not (isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)) or isinstance(
            above, ast.Attribute
        ):
            continue
        if isinstance(above, ast.Call) and node is above.func:
            continue
        if node.id == receiver:
            used = site.source.members.get(receiver, Counter())
            for name in sorted(
                site.source.assigned_attributes & set(used), key=lambda each: (-used[each], each)
            ):
                yield site.replace(node, f"{receiver}.{name}")
        elif receiver and node.id in site.source.assigned_attributes:
            yield site.replace(node, f"{receiver}.{node.id}")


@template(prior=4.0, precision=0.98)
def unqualified_name(site: Site) -> Iterator[Change]:
    """A name that nothing binds, but that a module has which is imported (NameError): `islice` → `itertools.islice`."""
    missing = site.hints.missing_names
    modules = [name for name, by in site.source.module_names.items() if isinstance(by, ast.Import)]
    for node in site.nodes:
        if isinstance(node, ast.Name) and node.id in missing:
            for module in modules:
                yield site.replace(node, f"{module}.{node.id}", f"`{node.id}` belongs to `{module}`")


@template(prior=0.2, precision=0.65)
def own_call(site: Site) -> Iterator[Change]:
    """A call of a method of the same object that is missing, one that needs nothing (TBar FP4; PraPR, method call)."""
    receiver, owner = _receiver(site), site.source.enclosing_class(site.statement)
    if not receiver or owner is None or not site.alone_on_lines or isinstance(site.statement, Function):
        return
    here = site.function.name if site.function else ""
    for function in owner.body:
        plain = isinstance(function, Function) and function.name != here and not function.decorator_list
        if isinstance(function, Function) and plain and _needs_nothing(function):
            text = f"{receiver}.{function.name}()"
            yield site.insert_before(text, f"`{text}` is not called")
            if not isinstance(site.statement, ast.Return | ast.Raise):
                yield site.insert_after(text, f"`{text}` is not called")


def called(node: ast.Call) -> str:
    """The last name of what is called."""
    return node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")


def _calls(site: Site) -> Iterator[ast.Call]:
    return (node for node in site.nodes if isinstance(node, ast.Call))


def _free_options(site: Site, node: ast.Call) -> dict[str, ast.expr]:
    """Parameters with a default that the call gives no value, as far as the project defines what is called."""
    parameters = site.package.parameters(called(node))
    given = {each.arg for each in node.keywords}
    if None in given or any(isinstance(each, ast.Starred) for each in node.args):
        return {}
    free = list(parameters.items())[len(node.args) :]
    return {name: default for name, default in free if default is not None and name not in given}


def _owners(site: Site, node: ast.Call, name: str) -> list[str]:
    """Variables that the call's arguments begin with: `f(p.value)` may want `p.flags` as well."""
    every = [each for argument in node.args for each in ast.walk(argument) if isinstance(each, ast.Name)]
    return [each.id for each in every if each.id in site.variables]


def _with(site: Site, node: ast.Call, text: str) -> Change:
    """The call with one more argument, written behind the others so that the rest stays as it is."""
    every: list[ast.expr | ast.keyword] = [*node.args, *node.keywords]
    why = f"`{text}` is missing in a call of `{site.text(node.func)}`"
    if not every or (len(node.args) == 1 and isinstance(node.args[0], ast.GeneratorExp)):
        inside = ", ".join([*(f"({site.text(each).strip('()')})" for each in node.args), text])
        return site.replace(node, f"{site.text(node.func)}({inside})", why)
    end = max(site.source.span(each)[1] for each in every)
    return Change(start=end, end=end, text=f", {text}", why=why)


def _receiver(site: Site) -> str:
    arguments = site.function.args.args if site.function else []
    first = arguments[0].arg if arguments else ""
    return first if first in ("self", "cls") else ""


def _needs_nothing(function: Function) -> bool:
    arguments = function.args
    needed = len(arguments.posonlyargs) + len(arguments.args) - len(arguments.defaults)
    yields = any(isinstance(node, ast.Yield | ast.YieldFrom) for node in ast.walk(function))
    special = function.name.startswith("__")
    return needed == 1 and None not in arguments.kw_defaults and not yields and not special
