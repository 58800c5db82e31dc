"""Which test files ran which files' lines, as a coverage database of the workspace tells, if somebody recorded one.

Read from `.coverage` (coverage.py's SQLite format, version 5 and later) where it was recorded with contexts, as
`pytest --cov --cov-context=test` does. It may be old: what it says is a hint among others.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

DATABASE = ".coverage"

MOST_CONTEXTS = 100_000
"""Tests of a database that are looked at."""


def find_covering_tests(root: Path, changed: Iterable[str], tests: Sequence[str]) -> Mapping[str, set[str]]:
    """Changed path → files of tests that ran a line of it; nothing without a database that says so.

    tests: the workspace's files of tests, of which contexts name one ("tests/test_cart.py::test_total|run" as
        pytest-cov writes, "tests.test_cart.test_total" as coverage itself does)
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
    except (
        sqlite3.Error,
        UnicodeError,
    ):  # another program's file of that name, an older format, a broken one
        return {}
    finally:
        connection.close()


class _TestFileNames:
    """Files of tests by the ways in which contexts name them."""

    def __init__(self, tests: Sequence[str]) -> None:
        self._paths = set(tests)
        self._modules: dict[str, str] = {}
        for path in tests:
            parts = path.removesuffix(".py").split("/")
            for first in range(
                len(parts)
            ):  # runners import it from any folder above; "" where that is not one file
                name = ".".join(parts[first:])
                self._modules[name] = "" if name in self._modules else path

    def find_test_file(self, context: str) -> str:
        """The file of a context, "" for one that is none of ours."""
        path, marked, _ = context.partition("::")
        if marked:
            return path if path in self._paths else ""
        parts = context.split(".")
        for first in range(
            len(parts)
        ):  # a package of tests may lie in a folder, or a folder above be its root
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
        spelled = (str(root / path), path)  # relative where coverage was told `relative_files`
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
