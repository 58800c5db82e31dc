"""The import graph of the floors has no cycle; imports for types and imports inside functions count."""

from __future__ import annotations

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow


ROOT = Path(__file__).parents[2]
FLOORS = ("sandbox", "tools", "agent", "cli", "patchwright", "packages")


def read_modules(root: Path) -> dict[str, Path]:
    """Return the files of all modules below the floors of `root`, by dotted name."""
    paths = [
        path for floor in FLOORS for path in (root / floor).rglob("*.py") if "_checkout" not in path.parts
    ]
    return {_module_name(path.relative_to(root)): path for path in paths}


def build_graph(modules: dict[str, Path]) -> dict[str, set[str]]:
    """Return, by module, the modules that it imports anywhere in its text."""
    return {
        name: {
            target
            for node in ast.walk(ast.parse(path.read_text("utf-8")))
            for target in _imports(modules, name, node)
        }
        & (modules.keys() - {name})
        for name, path in modules.items()
    }


def _module_name(path: Path) -> str:
    return ".".join(path.with_suffix("").parts).removesuffix(".__init__")


def _imports(modules: dict[str, Path], name: str, node: ast.AST) -> set[str]:
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names}
    if not isinstance(node, ast.ImportFrom):
        return set()
    package = name.split(".") if modules[name].name == "__init__.py" else name.split(".")[:-1]
    above = package[: len(package) - node.level + 1] if node.level else []
    base = ".".join([*above, *([node.module] if node.module else [])])
    submodules = {f"{base}.{alias.name}" for alias in node.names} & modules.keys()
    return submodules or {base}


def find_cycle(graph: dict[str, set[str]]) -> list[str]:
    """Return the modules of one cycle, [] if there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def test_no_module_imports_itself_over_others() -> None:
    modules = read_modules(ROOT)
    assert len(modules) > 500
    assert find_cycle(build_graph(modules)) == []


@pytest.mark.parametrize(
    "back",
    [
        "from tools.a import A",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from tools.a import A",
        "def f():\n    import tools.a",
        "from .a import A",
        "from . import a",
    ],
)
def test_a_cycle_is_found_however_it_is_written(tmp_path: Path, back: str) -> None:
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools/__init__.py").write_text("")
    (tmp_path / "tools/a.py").write_text("from tools import b\n")
    (tmp_path / "tools/b.py").write_text(back)
    assert set(find_cycle(build_graph(read_modules(tmp_path)))) == {"tools.a", "tools.b"}
