"""Modules declare dataclasses and patterns by those that are made late: a start imports hundreds and uses few."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from tests.support.cli import CHECKOUT

FLOORS = ("cli", "agent", "tools", "sandbox", "packages")

IN_OTHER_PYTHONS = ("packages/offline/repair/patchwright_worker", "tools/kernel/patchwright_kernel")
"""What runs in a project's own Python, without our modules."""

MAKERS = ("sandbox/lazy_dataclass.py", "sandbox/lazy_pattern.py")


def list_modules() -> Iterator[tuple[str, ast.Module]]:
    for floor in FLOORS:
        for path in sorted((CHECKOUT / floor).rglob("*.py")):
            name = path.relative_to(CHECKOUT).as_posix()
            if not name.startswith((*IN_OTHER_PYTHONS, *MAKERS)):
                yield name, ast.parse(path.read_text("utf-8"))


def list_early_patterns(node: ast.AST) -> Iterator[int]:
    """Yield the lines on which a pattern is compiled when the module is imported."""
    for each in ast.iter_child_nodes(node):
        if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
            continue
        if isinstance(each, ast.Call) and ast.unparse(each.func) == "re.compile":
            yield each.lineno
        yield from list_early_patterns(each)


def test_no_module_compiles_a_pattern_when_it_is_imported() -> None:
    found = [f"{name}:{line}" for name, tree in list_modules() for line in list_early_patterns(tree)]
    assert not found, "use compile_lazily of sandbox/lazy_pattern.py"


def test_dataclasses_are_made_late() -> None:
    found = [
        name
        for name, tree in list_modules()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        and node.module == "dataclasses"
        and any(each.name == "dataclass" for each in node.names)
    ]
    assert not found, "use sandbox/lazy_dataclass.py"


def test_an_early_pattern_is_found() -> None:
    source = (
        "import re\nA = re.compile('a')\nB = (1, [re.compile('b')])\ndef f():\n    return re.compile('c')\n"
    )
    assert list(list_early_patterns(ast.parse(source))) == [2, 3]
