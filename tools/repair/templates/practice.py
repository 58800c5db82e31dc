"""Templates for what goes wrong in libraries rather than in exercises: types not thought of, None taken for falsy,
values kept as they came, names that differ by an underscore, statements in the wrong place.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tools.repair.templates.base import Change, Site, template
from tools.repair.templates.likeness import nearest
from tools.repair.templates.precedence import ATOM, COMPARISON
from tools.repair.templates.source import Function

_NORMALISING = ("lower", "upper", "strip", "casefold", "copy", "rstrip", "lstrip")
_SPECIAL = (
    ("__name__", "__qualname__"),
    ("__dict__", "__slots__"),
    ("__class__", "__name__"),
    ("__getattr__", "__getattribute__"),
    ("__str__", "__repr__"),
    ("__doc__", "__name__"),
)
_TYPES = ("str", "bytes", "int", "float", "list", "tuple", "set", "frozenset", "dict", "bool", "type(None)")
_COMPARING = (
    "__eq__",
    "__ne__",
    "__lt__",
    "__le__",
    "__gt__",
    "__ge__",
    "__add__",
    "__sub__",
    "__and__",
    "__or__",
)
MOST_TYPES = 14


@template(prior=0.9, precision=0.9)
def none_for_falsy(site: Site) -> Iterator[Change]:
    """`if x` where `if x is not None` is meant, and the other way round: 0 is a value too (PyTER, None check)."""
    for node in _conditions(site):
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not) and is_place(node.operand):
            yield site.replace(node, f"{site.text(node.operand)} is None")
        elif is_place(node):
            yield site.replace(node, f"{site.text(node)} is not None")
        elif (
            isinstance(node, ast.Compare)
            and isinstance(node.ops[0], ast.Is | ast.IsNot)
            and len(node.ops) == 1
        ):
            left = site.text(node.left)
            yield site.replace(node, left if isinstance(node.ops[0], ast.IsNot) else f"not {left}")
    for node in site.nodes:
        if isinstance(node, ast.BoolOp) and isinstance(node.op, ast.Or) and len(node.values) == 2:
            first, second = map(site.text, node.values)
            if is_place(node.values[0]):
                yield site.replace(node, f"{first} if {first} is not None else {second}")
        elif isinstance(node, ast.Call) and len(node.args) == 2 and site.text(node.func).endswith(".get"):
            key, default = map(site.text, node.args)
            yield site.replace(node, f"{site.text(node.func)}({key}) or {default}")


@template(prior=0.45, precision=0.85)
def normalised(site: Site) -> Iterator[Change]:
    """`x` → `x.lower()`, `.strip()`, `.copy()`: compared or kept as it came (PraPR, method call insertion)."""
    for node in site.nodes:
        above = site.source.parents.get(node)
        compared = isinstance(above, ast.Compare | ast.Subscript) and (
            not isinstance(above, ast.Subscript) or node is above.slice
        )
        passed = isinstance(above, ast.Call | ast.Assign | ast.Return | ast.keyword) and node is not getattr(
            above, "func", 0
        )
        if not (compared or passed) or not (is_place(node) or isinstance(node, ast.Call)):
            continue
        for method in _NORMALISING[: 4 if compared else 7]:
            yield site.replace(node, f"{site.operand(node, ATOM)}.{method}()")


@template(prior=1.0)
def special_name(site: Site) -> Iterator[Change]:
    """A special attribute taken for its neighbour: `__name__` for `__qualname__` (TBar FP13)."""
    for node in site.nodes:
        if isinstance(node, ast.Attribute) and node.attr.startswith("__"):
            for group in _SPECIAL:
                for other in group if node.attr in group else ():
                    if other != node.attr:
                        end = site.source.span(node)[1]
                        why = f"`.{node.attr}` should be `.{other}`"
                        yield Change(start=end - len(node.attr), end=end, text=other, why=why)


@template(prior=0.7, precision=0.9)
def similar_name(site: Site) -> Iterator[Change]:
    """A function, class or import of the module whose name is almost the same: `sympify`, `_sympify` (TBar FP10.1)."""
    for node in site.nodes:
        if (
            isinstance(node, ast.Name)
            and isinstance(node.ctx, ast.Load)
            and node.id in site.source.module_names
        ):
            others = [name for name in site.source.module_names if name != node.id]
            for near in nearest(node.id, others, 4, 0.7):
                yield site.replace(node, near)


@template(prior=0.6, precision=0.85)
def more_types(site: Site) -> Iterator[Change]:
    """One more type in `isinstance` or `except`: what was not thought of (PyTER; TBar FP1)."""
    for node in site.nodes:
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id in ("isinstance", "issubclass")
        ) and len(node.args) == 2:
            yield from _widened(site, node.args[1], _types(site))
            if isinstance(node.args[1], ast.Tuple):
                for place in range(len(node.args[1].elts)):
                    kept = [site.text(e) for i, e in enumerate(node.args[1].elts) if i != place]
                    yield site.replace(node.args[1], f"({', '.join(kept)},)")
    if isinstance(site.statement, ast.Try):
        for handler in site.statement.handlers:
            if handler.type is not None:
                common = ("TypeError", "ValueError", "AttributeError", "KeyError", "IndexError", "OSError")
                yield from _widened(site, handler.type, [*sorted(site.hints.errors), *common])


@template(prior=0.4, precision=0.8)
def membership_for_type(site: Site) -> Iterator[Change]:
    """`x in types` where subclasses count as well: `issubclass(x, types)`, and the other way round (PyTER)."""
    for node in site.nodes:
        if isinstance(node, ast.Compare) and len(node.ops) == 1:
            left, right = site.text(node.left), site.text(node.comparators[0])
            if isinstance(node.ops[0], ast.In | ast.NotIn):
                sign = "not " if isinstance(node.ops[0], ast.NotIn) else ""
                for text in (f"issubclass({left}, {right})", f"isinstance({left}, {right})"):
                    yield site.replace(node, sign + text)
            elif isinstance(node.ops[0], ast.Eq | ast.Is) and right in ("True", "False"):
                yield site.replace(node, f"isinstance({left}, bool)")
            elif isinstance(node.ops[0], ast.Eq | ast.Is) and left.startswith("type("):
                yield site.replace(node, f"isinstance({left[5:-1]}, {right})")
        elif isinstance(node, ast.Call) and site.text(node.func) == "isinstance" and len(node.args) == 2:
            yield site.replace(node, f"type({site.text(node.args[0])}) is {site.text(node.args[1])}")


@template(prior=0.8, precision=0.9)
def foreign_operand(site: Site) -> Iterator[Change]:
    """A comparison or operator method that takes the other for one of its kind (PyTER, type guard)."""
    function = site.function
    if function is None or function.name not in _COMPARING or not site.alone_on_lines:
        return
    owner = site.source.enclosing_class(function)
    if owner is None or site.statement is not function.body[0] or len(function.args.args) != 2:
        return
    other = function.args.args[1].arg
    for kind in (owner.name, "self.__class__"):
        for result in ("NotImplemented", "False"):
            why = f"`{other}` may be of another type"
            yield site.insert_before(f"if not isinstance({other}, {kind}):\n    return {result}", why)


@template(prior=0.35, precision=0.75)
def typed_condition(site: Site) -> Iterator[Change]:
    """A condition that holds for one type only (PyTER, type guard): `c` → `isinstance(x, str) and c`."""
    for test in conditions_of(site):
        names = [n.id for n in ast.walk(test) if isinstance(n, ast.Name) and n.id in site.variables]
        for name in dict.fromkeys(names):
            for kind in _types(site)[:8]:
                yield site.replace(test, f"isinstance({name}, {kind}) and {site.operand(test, COMPARISON)}")
                yield site.replace(
                    test, f"{site.operand(test, COMPARISON)} and not isinstance({name}, {kind})"
                )


@template(prior=1.5, precision=0.85)
def missing_key(site: Site) -> Iterator[Change]:
    """A key of which the failing tests say that it is missing: given in the display, or looked up with care (PyTER)."""
    for node in site.nodes:
        if isinstance(node, ast.Dict) and node.keys and node.keys[-1] is not None:
            given = {key.value for key in node.keys if isinstance(key, ast.Constant)}
            end = site.source.span(node.values[-1])[1]
            for key in sorted(site.hints.missing_keys - {each for each in given if isinstance(each, str)}):
                if key in site.variables:
                    yield Change(
                        start=end, end=end, text=f", {key!r}: {key}", why=f"the key {key!r} is missing"
                    )
        elif (
            isinstance(node, ast.Subscript)
            and isinstance(node.ctx, ast.Load)
            and "KeyError" in site.hints.errors
        ) and not isinstance(node.slice, ast.Slice | ast.Tuple):
            yield site.replace(node, f"{site.operand(node.value, ATOM)}.get({site.text(node.slice)})")


@template(prior=0.25, precision=0.85)
def moved_element(site: Site) -> Iterator[Change]:
    """An element of a list that belongs elsewhere in it: the first that fits is taken (TBar FP14)."""
    for node in site.nodes:
        if (
            isinstance(node, ast.List | ast.Tuple)
            and 2 < len(node.elts) <= 12
            and isinstance(node.ctx, ast.Load)
        ):
            texts = [site.text(each) for each in node.elts]
            start, end = site.source.span(node.elts[0])[0], site.source.span(node.elts[-1])[1]
            for here in range(len(texts)):
                for there in range(len(texts)):
                    if abs(here - there) > 1:
                        moved = texts[:here] + texts[here + 1 :]
                        moved.insert(there, texts[here])
                        why = f"`{texts[here]}` should stand elsewhere in the list"
                        yield Change(start=start, end=end, text=", ".join(moved), why=why)


@template(prior=0.3, precision=0.8)
def moved_further(site: Site) -> Iterator[Change]:
    """A statement that belongs further up or down in its block (TBar FP14)."""
    block = site.source.block(site.statement)
    if not site.alone_on_lines or isinstance(
        site.statement, Function | ast.ClassDef | ast.Return | ast.Raise
    ):
        return
    source, place = site.source, block.index(site.statement)
    for other in (place - 3, place - 2, place + 2, place + 3, 0, len(block) - 1):
        if not 0 <= other < len(block) or abs(other - place) < 2:
            continue
        first, last = sorted((place, other))
        lines = [
            (source.line_start(e.lineno), source.line_start((e.end_lineno or e.lineno) + 1)) for e in block
        ]
        (start, middle), (a, end) = lines[first], lines[last]
        end = min(end, len(source.text))
        if not all(Site(source=source, statement=block[i]).alone_on_lines for i in range(first, last + 1)):
            continue
        text = source.text
        moved = text[middle:end] + text[start:middle] if place == first else text[a:end] + text[start:a]
        if text[end - 1 : end] == "\n":
            when = "later" if place == first else "earlier"
            why = f"`{site.text(site.statement).splitlines()[0]}` should come {when}"
            yield Change(start=start, end=end, text=moved, why=why)


def _conditions(site: Site) -> Iterator[ast.expr]:
    """What is asked for its truth alone."""
    for test in conditions_of(site):
        todo = [test]
        while todo:
            node = todo.pop(0)
            if isinstance(node, ast.BoolOp):
                todo.extend(node.values)
            else:
                yield node


def conditions_of(site: Site) -> list[ast.expr]:
    found = [site.statement.test] if isinstance(site.statement, ast.If | ast.While | ast.Assert) else []
    for node in site.nodes:
        if isinstance(node, ast.IfExp):
            found.append(node.test)
        elif isinstance(node, ast.ListComp | ast.SetComp | ast.GeneratorExp | ast.DictComp):
            found.extend(test for each in node.generators for test in each.ifs)
    return found


def is_place(node: ast.AST) -> bool:
    return isinstance(node, ast.Name | ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Load)


def _types(site: Site) -> list[str]:
    """Classes of the file, and the built-in ones."""
    own = [name for name, by in site.source.module_names.items() if isinstance(by, ast.ClassDef)]
    imported = [
        n for n, by in site.source.module_names.items() if isinstance(by, ast.ImportFrom) and n[:1].isupper()
    ]
    around = site.source.enclosing_class(site.statement)
    first = [around.name] if around else []
    return list(dict.fromkeys([*first, *_TYPES[:6], *own[:MOST_TYPES], *imported[:MOST_TYPES], *_TYPES[6:]]))


def _widened(site: Site, node: ast.expr, names: list[str]) -> Iterator[Change]:
    held = [site.text(each) for each in node.elts] if isinstance(node, ast.Tuple) else [site.text(node)]
    for name in names:
        if name not in held:
            yield site.replace(
                node, f"({', '.join([*held, name])})", f"`{name}` is not among `{site.text(node)}`"
            )
