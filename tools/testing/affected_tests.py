"""Tests that a change may break: those that import a changed module, directly or indirectly. Python only.

Static, so a test that reaches code by other ways (plugins, subprocesses, data files) is not detected; if anything
but a module changed, all tests are selected.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

from sandbox.errors import UserError
from sandbox.fs.regular_file import MANIFEST
from sandbox.fs.untrusted_file import read_workspace_file
from tools.lint.test_files import is_test_file

MOST = 5_000
"""Files that are read. Larger projects have their own tools for test selection."""

_NO_CODE = (".md", ".rst", ".txt", ".adoc", ".png", ".jpg", ".svg", ".gif")


def find_affected_tests(root: Path, files: Collection[str], changed: Iterable[str]) -> list[str] | None:
    """Return the sorted test files to run for the changed files; empty if none is affected, None for all.

    files: all of the project, relative to `root`
    """
    relevant = [path for path in changed if not path.endswith(_NO_CODE)]
    sources = [path for path in files if path.endswith(".py")]
    if not all(path.endswith(".py") for path in relevant) or len(sources) > MOST:
        return None
    if any(PurePosixPath(path).name == "setup.py" for path in relevant):
        return None
    modules = _index_modules({*sources, *relevant})  # deleted ones too: their importers break
    users = _index_importers(root, sources, modules)
    reached, waiting = set(relevant), list(relevant)
    while waiting:
        for user in users.get(waiting.pop(), ()):
            if user not in reached:
                reached.add(user)
                waiting.append(user)
    if any(PurePosixPath(path).name == "conftest.py" for path in reached):
        return None  # its fixtures reach tests that import nothing
    there = set(files)
    return sorted(path for path in reached if is_test_file(path) and path in there)


def _index_modules(sources: Iterable[str]) -> dict[str, list[str]]:
    """Map each dotted name by which files may be imported to them: any folder above may be the import root."""
    found: dict[str, list[str]] = {}
    for path in sources:
        parts = list(PurePosixPath(path).with_suffix("").parts)
        if parts[-1] == "__init__":
            parts.pop()
        for first in range(len(parts)):
            found.setdefault(".".join(parts[first:]), []).append(path)
    return found


def _index_importers(
    root: Path, sources: Iterable[str], modules: Mapping[str, list[str]]
) -> dict[str, set[str]]:
    """Map each file to the files that import it."""
    users: dict[str, set[str]] = {}
    for path in sources:
        for name in _list_imports(root, path):
            for imported in modules.get(name, ()):
                users.setdefault(imported, set()).add(path)
    return users


def _list_imports(root: Path, path: str) -> Iterator[str]:
    """Yield the dotted names that a file imports, and those of their parent packages."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(read_workspace_file(root, path, MANIFEST) or b"")
    except (UserError, SyntaxError, ValueError, RecursionError):  # deleted, or not valid Python here
        return
    package = list(PurePosixPath(path).parent.parts)
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [each.name for each in node.names]
        elif isinstance(node, ast.ImportFrom):
            around = package[: len(package) - node.level + 1] if node.level else []
            base = ".".join([*around, *([node.module] if node.module else [])])
            names = [base, *(f"{base}.{each.name}" for each in node.names)]
        else:
            continue
        for name in names:
            parts = name.split(".")
            yield from (".".join(parts[:count]) for count in range(1, len(parts) + 1))
