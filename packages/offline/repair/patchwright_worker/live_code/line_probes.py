"""Line coverage by probes in the code itself: every statement of a function records in a list that it runs.

A Python tracer before 3.12 makes most tests take ten times as long, since it is called for each line; storing
an item takes a few nanoseconds. Instrumented code is put into the existing functions, as a candidate's is.
"""

from __future__ import annotations

import ast
import builtins
import itertools
import os
import sys
import types
from typing import TYPE_CHECKING

from .code_patching import NeedsImport, Overlay, exchange_code
from .function_compiler import find_header_end

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from typing import Any

    from .code_patching import Swapper

# The names of the lists of lines, among the built-ins, in the files' code.
RAN = "__patchwright_ran_%d__"
# Characters of all instrumented files together: about three seconds.
LARGEST = 2_000_000
# Maximum share of functions left uninstrumented: lambdas that share a line, or functions that a decorator has
# compiled again.
MOST_UNKNOWN = 0.02
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_CONDITIONS = (ast.If, ast.While)
_LOOPS = (ast.For, ast.AsyncFor)
_WITH = (ast.With, ast.AsyncWith)
_PLACE = ("lineno", "col_offset", "end_lineno", "end_col_offset")


class TracerWanted(Exception):
    """Instrumenting takes longer than a tracer would, or much of the code cannot be instrumented."""


class Probes:
    """Recorder of lines of the workspace's own files between two calls of `take_lines`, without test modules.

    name: a file's name relative to the root, "" for those that are not the workspace's own
    """

    def __init__(self, name: Callable[[str], str], swapper: Swapper) -> None:
        self._name, self._swapper = name, swapper
        self._files: list[ProbedFile] = []
        self._exchanges: list[tuple[types.FunctionType, types.CodeType]] = []

    def prepare(self) -> None:
        """Compile imported files with probes, so that children start at once. Raises TracerWanted."""
        paths = sorted({path for path in self._swapper.list_paths() if self._is_own_file(path)})
        if sum(os.path.getsize(path) for path in paths if os.path.exists(path)) > LARGEST:
            raise TracerWanted
        for path in paths:
            code = self.compile_with_probes(path)
            if code is not None:
                self._match_functions(path, code)
        if len(self._exchanges) < (1 - MOST_UNKNOWN) * self._swapper.count_functions(paths):
            raise TracerWanted

    def compile_with_probes(self, path: str) -> types.CodeType | None:
        """Return a file's code with probes; None when it cannot be read or compiled."""
        try:
            text = Overlay.texts.get(path)
            if text is None:
                with open(path, "rb") as stream:
                    tree = ast.parse(stream.read(), path)
            else:
                tree = ast.parse(text, path)
            file = ProbedFile(self._name(path), RAN % len(self._files))
            file.instrument_tree(tree)
            code: types.CodeType = compile(tree, path, "exec", dont_inherit=True)
        except (
            OSError,
            SyntaxError,
            ValueError,
            RecursionError,
        ):  # the imported code differs from the file
            return None
        self._files.append(file)
        setattr(builtins, file.variable, file.ran)
        return code

    def start(self) -> None:
        """In a child: exchange the code of all functions, and of modules imported from now on."""
        for function, code in self._exchanges:
            try:
                exchange_code(function, code)
            except NeedsImport:
                continue
        Overlay.instrumented = lambda path: self.compile_with_probes(path) if self._name(path) else None

    def take_lines(self) -> dict[str, list[int]]:
        found: dict[str, list[int]] = {}
        for file in self._files:
            lines = file.take_lines()
            if lines:  # a module may have been imported twice
                found[file.name] = sorted({*found[file.name], *lines}) if file.name in found else lines
        return found

    def wrap_unrecorded(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the function without recording of its lines: formatting a failure is not part of the test."""

        def call_unrecorded(*arguments: Any, **options: Any) -> Any:
            kept = [(file.ran, file.ran[:]) for file in self._files]
            try:
                return function(*arguments, **options)
            finally:
                for ran, before in kept:
                    ran[:] = before

        return call_unrecorded

    def _is_own_file(self, path: str) -> bool:
        return bool(self._name(path)) and path not in _list_rewritten_files()

    def _match_functions(self, path: str, code: types.CodeType) -> None:
        for (first_line, name), codes in _group_functions(code).items():
            if len(codes) > 1:
                continue  # two lambdas on one line cannot be distinguished
            for function in self._swapper.find_functions(path, first_line, name):
                if _has_same_signature(function.__code__, codes[0]) and _sees_builtins(function):
                    self._exchanges.append((function, codes[0]))


class ProbedFile:
    """The probes of one file: `ran` has a 1 for each that was passed."""

    def __init__(self, name: str, variable: str) -> None:
        self.name, self.variable = name, variable
        self.ran: list[int] = []
        self._lines: list[range] = []
        self._known: dict[bytes, list[int]] = {}

    def take_lines(self) -> list[int]:
        """Return the lines that ran since the last call."""
        if 1 not in self.ran:
            return []
        key = bytes(self.ran)
        self.ran[:] = itertools.repeat(0, len(self.ran))
        known = self._known.get(key)
        if known is None:
            passed = itertools.compress(self._lines, key)
            known = self._known[key] = sorted(set(itertools.chain.from_iterable(passed)))
        return known

    def instrument_tree(self, tree: ast.Module) -> None:
        """Put a probe before every statement; changes the tree in place."""
        for node in ast.walk(tree):
            if isinstance(node, ast.Lambda):
                node.body = self._create_probe_expression(node.body, node.body)
            elif isinstance(node, ast.ExceptHandler) and node.type is not None:
                node.type = self._create_probe_expression(node.type, node.type)
        self._insert_probes(tree.body, documented=True)

    def _insert_probes(self, body: list[Any], documented: bool) -> None:
        filled: list[Any] = []
        for place, each in enumerate(body):
            if not (documented and place == 0 and _is_constant_statement(each)) and not _is_future(each):
                filled.append(self._create_probe(each))
            filled.append(each)
            holds_text = isinstance(each, (*_FUNCTIONS, ast.ClassDef))
            for inside in _iter_bodies(each):
                self._insert_probes(inside, holds_text)
        body[:] = filled

    def _create_probe(self, statement: Any) -> ast.Assign:
        place = {key: getattr(statement, key) for key in _PLACE}
        index: Any = ast.Constant(self._add_probe(_get_own_lines(statement)), **place)
        if sys.version_info < (3, 9):
            index = ast.Index(index, **place)
        ran = ast.Subscript(ast.Name(self.variable, ast.Load(), **place), index, ast.Store(), **place)
        return ast.Assign([ran], ast.Constant(1, **place), **place)

    def _create_probe_expression(self, value: Any, at: Any) -> ast.BoolOp:
        """Return an expression that records its evaluation: storing gives None, so the value decides."""
        place = {key: getattr(at, key) for key in _PLACE}
        store = ast.Attribute(
            ast.Name(self.variable, ast.Load(), **place), "__setitem__", ast.Load(), **place
        )
        index = self._add_probe(range(at.lineno, (at.end_lineno or at.lineno) + 1))
        arguments: list[ast.expr] = [ast.Constant(index, **place), ast.Constant(1, **place)]
        return ast.BoolOp(ast.Or(), [ast.Call(store, arguments, [], **place), value], **place)

    def _add_probe(self, lines: range) -> int:
        self._lines.append(lines)
        self.ran.append(0)
        return len(self.ran) - 1


def _get_own_lines(node: Any) -> range:
    """Return the lines of a statement without those of the statements inside it."""
    first, last = node.lineno, node.end_lineno or node.lineno
    if isinstance(node, (*_FUNCTIONS, ast.ClassDef)):
        first = min([first, *[each.lineno for each in node.decorator_list]])
        last = find_header_end(node) if isinstance(node, _FUNCTIONS) else node.lineno
    elif isinstance(node, _CONDITIONS):
        last = node.test.end_lineno or last
    elif isinstance(node, _LOOPS):
        last = node.iter.end_lineno or last
    elif isinstance(node, _WITH):
        last = max(each.context_expr.end_lineno or first for each in node.items)
    elif hasattr(node, "cases"):
        last = node.subject.end_lineno or last
    elif hasattr(node, "handlers"):
        last = first
    return range(first, last + 1)


def _iter_bodies(node: Any) -> Iterator[list[Any]]:
    for name in ("body", "orelse", "finalbody"):
        inside = getattr(node, name, None)
        if isinstance(inside, list) and inside:
            yield inside
    for name in ("handlers", "cases"):
        for each in getattr(node, name, ()):
            yield each.body


def _is_constant_statement(node: Any) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)


def _is_future(node: Any) -> bool:
    return isinstance(node, ast.ImportFrom) and node.module == "__future__"


def _group_functions(code: types.CodeType) -> dict[tuple[int, str], list[types.CodeType]]:
    """Return all functions in a module's code, by their first line and name."""
    found: dict[tuple[int, str], list[types.CodeType]] = {}
    waiting = [code]
    while waiting:
        for each in waiting.pop().co_consts:
            if isinstance(each, types.CodeType):
                waiting.append(each)
                found.setdefault((each.co_firstlineno, each.co_name), []).append(each)
    return found


def _has_same_signature(a: types.CodeType, b: types.CodeType) -> bool:
    """Return whether both have the same parameters and closure variables: probably made by one definition."""
    return all(
        getattr(a, name) == getattr(b, name)
        for name in ("co_argcount", "co_kwonlyargcount", "co_flags", "co_freevars", "co_cellvars")
    )


def _sees_builtins(function: types.FunctionType) -> bool:
    own: Any = function.__globals__.get("__builtins__", builtins)
    return own is builtins or own is builtins.__dict__


def _list_rewritten_files() -> set[str]:
    """Return files of the modules whose assertions pytest has rewritten: tests and their helpers."""
    found = set()
    for module in list(sys.modules.values()):
        loader = getattr(getattr(module, "__spec__", None), "loader", None)
        if type(loader).__module__ == "_pytest.assertion.rewrite":
            found.add(str(getattr(module, "__file__", "")))
    return found
