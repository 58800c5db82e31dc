"""Patched source in memory: behind the import system, or in the code of existing functions."""

from __future__ import annotations

import gc
import importlib.abc
import importlib.machinery
import importlib.util
import linecache
import opcode
import os
import sys
import types
from typing import TYPE_CHECKING, ClassVar

from ..tracing.line_recorder import get_code_lines

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence
    from typing import Any


class Overlay(importlib.abc.MetaPathFinder):
    """Import hook for patched modules: `texts` maps absolute paths to the text that replaces the file.

    instrumented: returns the code to use for a file, or None for the file's own
    """

    texts: ClassVar[dict[str, str]] = {}
    instrumented: ClassVar[Callable[[str], types.CodeType | None] | None] = None

    def find_spec(self, name: str, path: Any, target: Any = None) -> importlib.machinery.ModuleSpec | None:
        if not Overlay.texts and Overlay.instrumented is None:
            return None
        spec = importlib.machinery.PathFinder.find_spec(name, path) or _find_package_spec(name, path)
        if spec is None or spec.origin is None:
            return None
        instrumented = (
            Overlay.instrumented is not None and type(spec.loader) is importlib.machinery.SourceFileLoader
        )
        if spec.origin not in Overlay.texts and not instrumented:
            return None
        locations = spec.submodule_search_locations
        loader = OverlayLoader(name, spec.origin)
        return importlib.util.spec_from_file_location(
            name, spec.origin, loader=loader, submodule_search_locations=locations
        )


def _find_package_spec(name: str, path: Any) -> importlib.machinery.ModuleSpec | None:
    """Find a package in its own folder, as pytest does with `--import-mode=importlib`."""
    parent, _, last = name.rpartition(".")
    for folder in path or ():
        first = os.path.join(folder, "__init__.py")
        is_parent = folder in getattr(sys.modules.get(parent), "__path__", ())
        if os.path.basename(folder) == last and not is_parent and os.path.isfile(first):
            return importlib.util.spec_from_file_location(name, first, submodule_search_locations=[folder])
    return None


class OverlayLoader(importlib.machinery.SourceFileLoader):
    def get_code(self, fullname: str) -> types.CodeType:
        code = Overlay.instrumented(self.path) if Overlay.instrumented is not None else None
        text = Overlay.texts.get(self.path)
        if text is not None:  # decorators that compile their functions again read the source there
            linecache.cache[self.path] = len(text), None, text.splitlines(True), self.path
        if code is None and text is not None:
            code = compile_source(text, self.path)
        return code or super().get_code(fullname)  # type: ignore[return-value]  # there is source

    def get_data(self, path: str) -> bytes:
        text = Overlay.texts.get(str(path))
        return super().get_data(path) if text is None else text.encode()


def compile_source(text: str, path: str) -> types.CodeType:
    code = compile(text, path, "exec", dont_inherit=True)
    assert isinstance(code, types.CodeType)
    return code


def apply_edits(text: str, edits: Sequence[Sequence[Any]]) -> str:
    """Replace spans of `text`; each edit is (start, end, replacement), none overlapping another."""
    for start, end, replacement in sorted(edits, key=lambda edit: edit[0], reverse=True):
        text = text[:start] + replacement + text[end:]
    return text


class NeedsImport(Exception):
    """The change is not inside a live function, so the module must be imported again."""


class Swapper:
    """Puts new code into existing functions, wherever references to them are held."""

    def __init__(self, root: str) -> None:
        prefix = root + os.sep
        self._functions: dict[tuple[str, types.CodeType], list[types.FunctionType]] = {}
        self._places: dict[tuple[str, int, str], list[types.FunctionType]] = {}
        gc.unfreeze()  # objects frozen by the project's tests would be missing
        for each in gc.get_objects():
            if type(each) is types.FunctionType and each.__code__.co_filename.startswith(prefix):
                code = each.__code__
                self._functions.setdefault((code.co_filename, code), []).append(each)
                place = (code.co_filename, code.co_firstlineno, code.co_name)
                self._places.setdefault(place, []).append(each)

    def list_paths(self) -> set[str]:
        """Return files with existing functions."""
        return {path for path, _, _ in self._places}

    def count_functions(self, paths: Collection[str]) -> int:
        """Return the number of existing functions of some files."""
        return sum(len(functions) for (path, _, _), functions in self._places.items() if path in paths)

    def find_functions(self, path: str, first_line: int, name: str) -> list[types.FunctionType]:
        """Return the function objects made from the definition at that line."""
        return self._places.get((path, first_line, name), [])

    def swap_functions(self, path: str, old_text: str, new_text: str, imported_lines: set[int]) -> None:
        """Replace code. Raises SyntaxError if the new text does not compile, NeedsImport if an import is required."""
        old, new = compile_source(old_text, path), compile_source(new_text, path)
        for before, after in self._iter_changed(old, new):
            if any(line in imported_lines for line in get_code_lines(before) - {before.co_firstlineno}):
                raise NeedsImport("it ran while modules were imported, so its results may be stored")
            live = self._functions.get((path, before), [])
            if not live:
                raise NeedsImport("nothing refers to that function")
            for function in live:
                exchange_code(function, after)
        # Code after a change of several lines is the same, but its line numbers in the new text are used as
        # well.
        for before, after in _iter_moved(old, new):
            for function in self._functions.get((path, before), []):
                exchange_code(function, after)

    def _iter_changed(
        self, old: types.CodeType, new: types.CodeType
    ) -> Iterator[tuple[types.CodeType, types.CodeType]]:
        """Yield pairs of function codes that differ, below module and class bodies that do not."""
        before, after = _list_child_codes(old), _list_child_codes(new)
        if not _has_same_shell(old, new) or len(before) != len(after):
            raise NeedsImport("module or class level code changed")
        for first, second in zip(before, after):
            if _is_same_code(first, second):
                continue
            if first.co_flags & 0x1 or first.co_name.startswith("<"):  # CO_OPTIMIZED: a function, not a class
                yield first, second
            else:
                yield from self._iter_changed(first, second)


def _iter_moved(old: types.CodeType, new: types.CodeType) -> Iterator[tuple[types.CodeType, types.CodeType]]:
    """Yield pairs of function codes that differ in line numbers only, at any depth."""
    for first, second in zip(_list_child_codes(old), _list_child_codes(new)):
        if first.co_firstlineno != second.co_firstlineno and _is_same_code(first, second):
            yield first, second
        yield from _iter_moved(first, second)


def exchange_code(function: types.FunctionType, code: types.CodeType) -> None:
    """Put new code into a function. Raises NeedsImport if its closure variables differ."""
    if function.__code__.co_freevars != code.co_freevars:
        raise NeedsImport("it closes over other variables")
    function.__code__ = code


def _list_child_codes(code: types.CodeType) -> list[types.CodeType]:
    return [each for each in code.co_consts if isinstance(each, types.CodeType)]


def _has_same_shell(a: types.CodeType, b: types.CodeType) -> bool:
    def collect_facts(code: types.CodeType) -> tuple[Any, ...]:
        instructions, values = _without_own_line(code)
        constants = [repr(c) for c in values if not isinstance(c, types.CodeType)]
        table = getattr(code, "co_exceptiontable", b"")
        names = (code.co_names, code.co_varnames, code.co_cellvars, code.co_freevars)
        counts = (code.co_argcount, code.co_posonlyargcount, code.co_kwonlyargcount, code.co_flags)
        return (code.co_name, instructions, constants, table, names, counts)

    return collect_facts(a) == collect_facts(b)


def _without_own_line(code: types.CodeType) -> tuple[bytes, Sequence[object]]:
    """Return instructions and constants, without the line that a class body of Python 3.13 and later says it begins at.

    It is a constant or, from 3.14 on, the operand of the instruction that loads it. A constant with other uses stays.
    """
    if "__firstlineno__" not in code.co_names:
        return code.co_code, code.co_consts
    pairs = list(zip(code.co_code[::2], code.co_code[1::2]))
    store = (opcode.opmap["STORE_NAME"], code.co_names.index("__firstlineno__"))
    if store not in pairs:  # a use of the attribute
        return code.co_code, code.co_consts
    at = pairs.index(store) - 1
    instructions, values = bytearray(code.co_code), list(code.co_consts)
    instructions[2 * at + 1] = 0
    operation, number = pairs[at]
    if operation == opcode.opmap["LOAD_CONST"] and pairs.count(pairs[at]) == 1:
        values[number] = None
    return bytes(instructions), values


def _is_same_code(a: types.CodeType, b: types.CodeType) -> bool:
    """Return whether both are equal except for line numbers."""
    first, second = _list_child_codes(a), _list_child_codes(b)
    return _has_same_shell(a, b) and len(first) == len(second) and all(map(_is_same_code, first, second))
