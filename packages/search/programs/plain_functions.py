"""Functions whose answers depend on their arguments alone, cut out of their module with all that they need.

What cannot be shown to be such a function is none: one that reads a clock, a file, the environment or a variable, calls
a method of the project's classes, or comes from a decorator.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Mapping

from sandbox.lazy_dataclass import dataclass
from sandbox.policy.shell.parsing.syntax import parse_word_set

MOST_HELPERS = 20
"""Other definitions of the module that a function may need."""

_BUILTINS = parse_word_set(
    "abs all any ascii bin bool bytearray bytes chr complex dict divmod enumerate filter float format frozenset hex int"
    " isinstance issubclass iter len list map max min next object oct ord pow range repr reversed round set slice"
    " sorted str sum tuple type zip"
)
_MODULES = parse_word_set(
    "math re string itertools functools collections collections.abc operator bisect heapq statistics decimal fractions"
    " textwrap unicodedata json copy typing __future__ numbers cmath difflib html urllib.parse base64 binascii"
)
"""Modules that give the same answers everywhere."""

_UNSTEADY = parse_word_set("dump load cache lru_cache cached_property singledispatch getcontext setcontext")
"""Their names that keep something between calls, or read and write files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Module:
    """Definitions of a module by name. values: constants; imports: statements of steady modules"""

    functions: Mapping[str, ast.FunctionDef]
    values: Mapping[str, ast.stmt]
    imports: Mapping[str, ast.stmt]


def extract_plain_function(text: str, name: str) -> str | None:
    """Return a source with a function at the top of a module and what it needs; None if it is not plain."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    try:
        return _cut_out(_read_module(tree), name)
    except RecursionError:  # hundreds of terms: parsed in C, and too deep to be copied
        return None


def _cut_out(module: _Module, name: str) -> str | None:
    function = module.functions.get(name)
    if function is None or not (function.args.args or function.args.posonlyargs):
        return None
    needed: dict[str, ast.stmt] = {}
    rest = [name]
    while rest:
        own = rest.pop()
        if own in needed:
            continue
        found = module.functions.get(own) or module.values.get(own) or module.imports.get(own)
        if found is None or len(needed) > MOST_HELPERS or not _is_plain(found):
            return None
        needed[own] = found
        rest += [
            each for each in _list_free_names(found) if each not in _BUILTINS and not _is_exception(each)
        ]
    ordered = sorted({id(each): each for each in needed.values()}.values(), key=lambda each: each.lineno)
    return "\n".join(ast.unparse(_drop_annotations(each)) for each in ordered) + "\n"


def _read_module(tree: ast.Module) -> _Module:
    functions: dict[str, ast.FunctionDef] = {}
    values: dict[str, ast.stmt] = {}
    imports: dict[str, ast.stmt] = {}
    bound: dict[str, int] = {}
    touched: set[str] = set()
    for node in tree.body:
        names: list[str] = []
        match node:
            case ast.FunctionDef(name=name):
                functions[name] = node
                names = [name]
            case (
                ast.Assign(targets=[ast.Name(id=name)], value=value)
                | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value)
            ):
                names = [name]
                if _is_constant(value):
                    values[name] = node
            case ast.Import(names=[ast.alias(name=module, asname=asname)]):
                names = [asname or module.partition(".")[0]]
                if module in _MODULES:
                    imports[names[0]] = node
            case ast.ImportFrom(module=str(module), level=0, names=aliases):
                names = [each.asname or each.name for each in aliases]
                if module in _MODULES and not any(each.name in _UNSTEADY for each in aliases):
                    imports.update(dict.fromkeys(names, node))
            case ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                names = [name]
            case _:  # what it binds may be bound otherwise, and a table that it reads may be changed
                names = 2 * list(_list_bound_names(node))
                touched |= {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
        for each in names:
            bound[each] = bound.get(each, 0) + 1
    once = {each for each, count in bound.items() if count == 1}
    return _Module(
        functions={name: node for name, node in functions.items() if name in once},
        values={name: node for name, node in values.items() if name in once - touched},
        imports={name: node for name, node in imports.items() if name in once},
    )


def _list_bound_names(node: ast.stmt) -> Iterator[str]:
    for each in ast.walk(node):
        match each:
            case ast.Name(id=name, ctx=ast.Store() | ast.Del()):
                yield name
            case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.alias(name=name, asname=asname):
                yield asname or name.partition(".")[0]


def _is_constant(value: ast.expr) -> bool:
    """Return whether a value is a literal or a compiled pattern."""
    match value:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="re"), attr="compile"), args=arguments):
            return all(not isinstance(each, ast.Starred) for each in arguments)
    try:
        ast.literal_eval(value)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return False
    return True


def _is_plain(node: ast.stmt) -> bool:
    if isinstance(node, ast.FunctionDef) and node.decorator_list:
        return False
    kept = (ast.Global, ast.Nonlocal, ast.Yield, ast.YieldFrom, ast.Await, ast.AsyncFunctionDef, ast.ClassDef)
    for each in ast.walk(node):
        if isinstance(each, kept) or (isinstance(each, ast.Import | ast.ImportFrom) and each is not node):
            return False
        if isinstance(each, ast.Attribute) and (each.attr in _UNSTEADY or each.attr.startswith("__")):
            return False
    defaults = [*node.args.defaults, *node.args.kw_defaults] if isinstance(node, ast.FunctionDef) else []
    return all(each is None or _is_constant(each) or isinstance(each, ast.Name) for each in defaults)


def _list_free_names(node: ast.stmt) -> Iterator[str]:
    """Yield the names that a definition reads and does not bind itself."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return
    bound = {each.arg for each in ast.walk(node) if isinstance(each, ast.arg)}
    bound |= {each.name for each in ast.walk(node) if isinstance(each, ast.ExceptHandler) and each.name}
    bound |= {each.name for each in ast.walk(node) if isinstance(each, ast.FunctionDef) and each is not node}
    names = [each for each in ast.walk(_drop_annotations(node)) if isinstance(each, ast.Name)]
    if isinstance(node, ast.FunctionDef):
        bound |= {each.id for each in names if not isinstance(each.ctx, ast.Load)}
    for each in names:
        if isinstance(each.ctx, ast.Load) and each.id not in bound:
            yield each.id


def _is_exception(name: str) -> bool:
    found = getattr(builtins, name, None)
    return isinstance(found, type) and issubclass(found, BaseException)


def _drop_annotations(node: ast.stmt) -> ast.stmt:
    """Return a copy without annotations, whose names need not be there."""
    from copy import deepcopy

    made = deepcopy(node)
    for each in ast.walk(made):
        if isinstance(each, ast.arg):
            each.annotation = None
        elif isinstance(each, ast.FunctionDef):
            each.returns = None
    if isinstance(made, ast.AnnAssign) and made.value is not None:
        return ast.copy_location(ast.Assign(targets=[made.target], value=made.value), made)
    for each in ast.walk(made):
        for name in ("body", "orelse", "finalbody"):
            held = getattr(each, name, None)
            if isinstance(held, list):
                held[:] = [_plain_assignment(one) for one in held]
    return made


def _plain_assignment(node: ast.AST) -> ast.AST:
    if isinstance(node, ast.AnnAssign):
        if node.value is None:
            return ast.copy_location(ast.Pass(), node)
        return ast.copy_location(ast.Assign(targets=[node.target], value=node.value), node)
    return node
