"""Modules that a Python file imports, by its syntax tree: statements, and calls that import by name."""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence

from sandbox.lazy_pattern import compile_lazily

PYTHON_FILE = compile_lazily(r"\.(py|pyi|pyw)$")

COMPUTED = "a module whose name is computed"
"""Stands for an import that cannot be judged."""

_IMPORTERS = frozenset(
    (
        *("__import__", "import_module", "run_module", "resolve_name", "find_spec", "find_loader"),
        *("load_module", "spec_from_file_location", "SourceFileLoader", "run_path", "load_source"),
    )
)
"""Functions whose argument names the module that they load, whatever object they belong to."""

_RUNNERS = frozenset(("exec", "eval", "compile"))
"""Functions that run source; what cannot be read there may import anything."""

_MOST_NESTED = 3
"""Levels of `exec("exec(…)")` that are read."""


def find_forbidden_imports(before: str, after: str, modules: Collection[str]) -> list[str]:
    """Return what a changed file begins to import of these modules, or may, sorted; text that does not parse: none."""
    new = collect_imports(after) - collect_imports(before)
    found = {each for each in new for module in modules if each == module or each.startswith(f"{module}.")}
    return sorted(found | (new & {COMPUTED}))


def collect_imports(text: str) -> set[str]:
    """Return the absolute names of all imported modules and attributes, and `COMPUTED` for others."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return set()
    return set(_iterate_imports(tree, 0))


def _iterate_imports(tree: ast.AST, level: int) -> Iterator[str]:
    called = {id(each.func) for each in ast.walk(tree) if isinstance(each, ast.Call)}
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                yield from (each.name for each in node.names)
            case ast.ImportFrom(module=str(module), level=0):
                yield module
                yield from (f"{module}.{each.name}" for each in node.names)
                yield from _find_renamed(node.names)
            case ast.Call():
                yield from _judge_call(node, level)
            case ast.Subscript() if _get_name(node.value) == "modules":
                yield from _name_or_computed(node.slice)
            case ast.Name() | ast.Attribute() if id(node) not in called and _get_name(node) == "__import__":
                yield COMPUTED  # kept under another name
            case ast.Constant(value="__import__" | "import_module"):
                yield COMPUTED  # looked up by its name


def _find_renamed(names: Sequence[ast.alias]) -> Iterator[str]:
    """Yield `COMPUTED` for an importing function that gets another name: its calls cannot be told from others."""
    if any(each.name in _IMPORTERS and each.asname not in (None, each.name) for each in names):
        yield COMPUTED


def _judge_call(node: ast.Call, level: int) -> Iterator[str]:
    name = _get_name(node.func)
    arguments = [*node.args, *(each.value for each in node.keywords if each.arg in ("name", "fullname"))]
    if name in _IMPORTERS and arguments:
        yield from _name_or_computed(arguments[0])
    elif name in _RUNNERS and isinstance(node.func, ast.Name) and arguments:
        source = _read_text(arguments[0])
        if source is None or level >= _MOST_NESTED:
            yield COMPUTED
            return
        try:
            yield from _iterate_imports(ast.parse(source), level + 1)
        except (SyntaxError, ValueError):  # then it raises when it is run, too
            return


def _name_or_computed(node: ast.AST) -> Iterator[str]:
    text = _read_text(node)
    yield COMPUTED if text is None else text


def _read_text(node: ast.AST) -> str | None:
    """Return the text that an expression surely is, None if it is computed in any other way than by joining."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.BinOp(op=ast.Add()):
            left, right = _read_text(node.left), _read_text(node.right)
            return None if left is None or right is None else left + right
        case ast.JoinedStr():
            parts = [_read_text(each) for each in node.values]
            return None if None in parts else "".join(filter(None, parts))
    return None


def _get_name(node: ast.AST) -> str:
    """Return the last part of a dotted name."""
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else ""
