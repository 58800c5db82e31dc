"""Coverage for tests of values computed at the import of their module: parameters, constants."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import PurePosixPath

from packages.offline.repair.localize.coverage_spectrum import Spectrum, Test, is_test_file
from packages.offline.repair.localize.statement_ranking import get_own_lines
from packages.offline.repair.templates import Source
from sandbox.lazy_pattern import compile_lazily

# Number of files that ran during imports and are searched for functions called then.
MOST_FILES = 60
_IMPORTED = compile_lazily(r"^\s*(?:from|import)\s+([\w.]+)", re.MULTILINE)


def add_import_time_lines(
    tests: Sequence[Test], spectrum: Spectrum, source: Callable[[str], Source], text: Callable[[str], str]
) -> list[Test]:
    """Return the tests with the lines that functions ran during imports added, if their files import the project.

    source, text: of a file, by its path. OSError, ValueError and similar errors are ignored.
    """
    called: dict[str, frozenset[int]] = {}
    for path in sorted(spectrum.imported)[:MOST_FILES]:
        if not is_test_file(path):
            with suppress(OSError, ValueError, SyntaxError, RecursionError):
                lines = frozenset(_iter_function_lines(source(path))) & spectrum.imported[path]
                called.update({path: lines} if lines else {})
    known = {part for path in called for part in PurePosixPath(path).with_suffix("").parts}
    return [replace(each, lines=called) if _imports_project(each, known, text) else each for each in tests]


def _iter_function_lines(source: Source) -> Iterator[int]:
    for function in source.functions:
        for node in ast.walk(function):
            if isinstance(node, ast.stmt) and node is not function:
                yield from get_own_lines(node)


def _imports_project(test: Test, known: set[str], text: Callable[[str], str]) -> bool:
    with suppress(OSError, ValueError):
        return any(not known.isdisjoint(name.split(".")) for name in _IMPORTED.findall(text(test.file)))
    return False
