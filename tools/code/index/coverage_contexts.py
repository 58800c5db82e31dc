"""Test files that ran lines of other files, from a coverage database in the workspace, if one was recorded.

Read from `.coverage` (coverage.py's SQLite format, version 5 and later) if it was recorded with contexts, as by
`pytest --cov --cov-context=test`. It may be outdated: it is one hint among others.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

DATABASE = ".coverage"

MOST_CONTEXTS = 100_000
"""Contexts that are read from a database."""


def find_covering_tests(root: Path, changed: Iterable[str], tests: Sequence[str]) -> Mapping[str, set[str]]:
    """Return changed path → test files that ran a line of it; empty without a usable database.

    tests: the workspace's test files; contexts name one of them ("tests/test_cart.py::test_total|run" as written
        by pytest-cov, "tests.test_cart.test_total" by coverage itself)
    """
    place = root / DATABASE
    if not place.is_file():
        return {}
    try:
        connection = sqlite3.connect(f"{place.absolute().as_uri()}?mode=ro&immutable=1", uri=True)
    except sqlite3.Error:
        return {}
    try:
        return _read_contexts(connection, root, list(changed), _TestFileNames(tests))
    except (sqlite3.Error, UnicodeError):  # a foreign file of that name, an older format, or damaged
        return {}
    finally:
        connection.close()


class _TestFileNames:
    """Test files by the names used for them in contexts."""

    def __init__(self, tests: Sequence[str]) -> None:
        self._paths = set(tests)
        self._modules: dict[str, str] = {}
        for path in tests:
            parts = path.removesuffix(".py").split("/")
            # Runners import it from any folder above; "" if the name is ambiguous.
            for first in range(len(parts)):
                name = ".".join(parts[first:])
                self._modules[name] = "" if name in self._modules else path

    def find_test_file(self, context: str) -> str:
        """Return the file of a context, "" if it is no test file of the workspace."""
        path, marked, _ = context.partition("::")
        if marked:
            return path if path in self._paths else ""
        parts = context.split(".")
        # A package of tests may be in a folder, or have its root in a folder above.
        for first in range(len(parts)):
            for last in range(len(parts) - 1, first, -1):
                name = ".".join(parts[first:last])
                if name in self._modules:
                    return self._modules[name]
        return ""


def _read_contexts(
    connection: sqlite3.Connection, root: Path, changed: list[str], names: _TestFileNames
) -> dict[str, set[str]]:
    tables = {name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
    found: dict[str, set[str]] = {}
    for path in changed:
        spelled = (str(root / path), path)  # relative if coverage ran with `relative_files`
        for table in ("line_bits", "arc"):
            if table not in tables:
                continue
            rows = connection.execute(
                f"SELECT DISTINCT context.context FROM {table} JOIN context ON context.id = {table}.context_id"
                f" JOIN file ON file.id = {table}.file_id WHERE file.path IN (?, ?) LIMIT {MOST_CONTEXTS}",
                spelled,
            )
            ran = {file for (context,) in rows if (file := names.find_test_file(str(context)))}
            if ran:
                found.setdefault(path, set()).update(ran)
    return found
