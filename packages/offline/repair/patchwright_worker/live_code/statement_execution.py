"""Changes outside functions, tried without an import: the changed statement is executed in its live module.

Module constants, tables, class attributes and defaults get their new values wherever the module's own old
ones are held by name. Values computed from them at import are unchanged, so this is only a guess, which a
trial in a new session has to confirm.
"""

from __future__ import annotations

import ast
import copy
import sys
import types
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

    from .function_compiler import Program

_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_SHARED = (
    int,
    float,
    str,
    bytes,
    bool,
    type(None),
    complex,
    tuple,
    type,
    types.FunctionType,
    types.ModuleType,
)


class NotPlaceable(Exception):
    """The change cannot be made without a new import."""


class InPlaceChange:
    """A changed statement of a module or class body, in effect inside the `with` block.

    Raises NotPlaceable, or SyntaxError when the new text is not valid.
    """

    def __init__(self, program: Program, edits: Sequence[Sequence[Any]]) -> None:
        self._undo: list[tuple[Any, str, Any]] = []
        self._path, self._module = program.path, _find_module(program.path)
        first, last = min(edit[0] for edit in edits), max(edit[1] for edit in edits)
        old, begin, end = program.find_top_statement(first, last)
        text = program.text[begin:end]
        for start, stop, new in sorted(edits, key=lambda edit: edit[0], reverse=True):
            text = text[: start - begin] + new + text[stop - begin :]
        self._changes = list(_iter_changed([old], ast.parse(text).body, [], program.list_following(old)))
        if not self._changes:
            raise NotPlaceable

    def __enter__(self) -> None:
        try:
            for classes, statement, following in self._changes:
                owner: Any = self._module
                for name in classes:
                    owner = owner.__dict__[name]
                self._execute_statement(owner, statement)
                changed = set(_list_target_names(statement))
                for each in following if changed else ():  # values computed from it in the same body
                    if _list_target_names(each) and changed & _collect_read_names(each):
                        self._execute_statement(owner, each)
                        changed.update(_list_target_names(each))
        except BaseException as error:  # anything that the statement raises, out of its context
            self.__exit__()
            raise NotPlaceable from error

    def __exit__(self, *_: object) -> None:
        while self._undo:
            owner, name, old = self._undo.pop()
            if isinstance(owner, dict):
                owner[name] = old
            else:
                setattr(owner, name, old)

    def _execute_statement(self, owner: Any, statement: Any) -> None:
        space = dict(owner.__dict__)
        definition = isinstance(statement, _DEFINITIONS)
        if definition:
            statement = copy.copy(statement)
            statement.decorator_list = []
        code = compile(ast.Module(body=[statement], type_ignores=[]), self._path, "exec", dont_inherit=True)
        exec(code, self._module.__dict__ if owner is not self._module else space, space)
        if definition:
            self._redefine_function(owner, statement.name, space[statement.name])
            return
        for name in _list_target_names(statement):
            old, new = owner.__dict__[name], space[name]
            self._set_attribute(owner, name, old, new)
            if not isinstance(old, _SHARED):
                for holder in _iter_holders(name, old):
                    self._set_attribute(holder, name, old, new)

    def _redefine_function(self, owner: Any, name: str, new: Any) -> None:
        live = owner.__dict__[name]
        live = getattr(live, "__func__", live)  # of a class or static method
        while not isinstance(live, types.FunctionType) or live.__code__.co_name != name:
            live = live.__wrapped__
        for part in ("__defaults__", "__kwdefaults__"):
            self._undo.append((live, part, getattr(live, part)))
            setattr(live, part, getattr(new, part))
        self._undo.append((live, "__code__", live.__code__))
        live.__code__ = new.__code__

    def _set_attribute(self, owner: Any, name: str, old: Any, new: Any) -> None:
        self._undo.append((owner, name, old))
        setattr(owner, name, new)


def _find_module(path: str) -> types.ModuleType:
    for module in list(sys.modules.values()):
        if getattr(module, "__file__", None) == path:
            return module
    raise NotPlaceable


def _iter_holders(name: str, value: object) -> Iterator[types.ModuleType]:
    """Yield other modules that imported the value by its name."""
    for module in list(sys.modules.values()):
        if getattr(module, "__dict__", {}).get(name) is value:
            yield module


def _iter_changed(
    before: Sequence[Any], after: Sequence[Any], classes: list[str], following: Sequence[Any] = ()
) -> Iterator[tuple[list[str], Any, Sequence[Any]]]:
    """Yield (enclosing class names, new statement, those after it) for each difference. Raises NotPlaceable."""
    if len(before) != len(after):
        raise NotPlaceable
    for place, (old, new) in enumerate(zip(before, after)):
        if ast.dump(old) == ast.dump(new):
            continue
        if isinstance(old, ast.ClassDef) and isinstance(new, ast.ClassDef) and old.name == new.name:
            yield from _iter_changed(old.body, new.body, [*classes, old.name])
        elif type(old) is type(new) and (_list_target_names(new) or isinstance(new, _DEFINITIONS)):
            yield classes, new, [*after[place + 1 :], *following]
        else:
            raise NotPlaceable


def _collect_read_names(statement: Any) -> set[str]:
    return {n.id for n in ast.walk(statement) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}


def _list_target_names(statement: Any) -> list[str]:
    """Return names that an assignment binds; none if it binds anything else."""
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]
    names = [each.id for each in targets if isinstance(each, ast.Name)]
    return names if len(names) == len(targets) else []
