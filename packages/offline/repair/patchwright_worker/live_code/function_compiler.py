"""Compilation of single functions of a changed file, so that the cost does not depend on the file's size."""

from __future__ import annotations

import ast
import builtins
import copy
import itertools
import types
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from typing import Any

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_BURNING = (*_FUNCTIONS, ast.While, ast.For, ast.AsyncFor)
# Fields of nodes that contain statements, or nodes with statements.
_BODIES = ("body", "orelse", "finalbody", "handlers", "cases")
_PLACE = ("lineno", "col_offset", "end_lineno", "end_col_offset")
# The name of the fuel in instrumented code, among the built-ins of the child that runs it.
FUEL = "__patchwright_fuel__"


class Outside(Exception):
    """The change is not inside the body of one function."""


class OuterFunction:
    """An outermost function with the classes around it, outermost first.

    start, end: offsets of the lines of its body, where changes are supported
    """

    def __init__(self, node: Any, classes: Sequence[ast.ClassDef], starts: Sequence[int], size: int) -> None:
        self.node, self.classes = node, list(classes)
        first = node.body[0]
        decorated = [each.lineno for each in getattr(first, "decorator_list", ())]
        self.first_line = min([node.lineno] + [each.lineno for each in node.decorator_list])
        self.begin = starts[self.first_line - 1]
        self.end = starts[node.end_lineno] if node.end_lineno < len(starts) else size
        own_line = min([first.lineno, *decorated]) > find_header_end(node)
        self.start = starts[min([first.lineno, *decorated]) - 1] if own_line else -1
        self.key = (self.first_line, node.name)


class Program:
    """One file's text, parsed once."""

    def __init__(self, path: str, text: str) -> None:
        self.path, self.text = path, text
        self._tree = ast.parse(text)
        self._flags = _compute_future_flags(self._tree)
        self._starts = [0]
        for line in text.split("\n"):
            self._starts.append(self._starts[-1] + len(line) + 1)
        self._outers = list(_iter_outer_functions(self._tree, [], self._starts, len(text)))

    def find_outer(self, start: int, end: int) -> OuterFunction:
        """Return the function whose body contains the span. Raises Outside."""
        for each in self._outers:
            if each.start != -1 and each.start <= start and end <= each.end:
                return each
        raise Outside

    def find_top_statement(self, start: int, end: int) -> tuple[Any, int, int]:
        """Return the module-level statement that contains the span, with the offsets of its lines. Raises Outside."""
        for each in self._tree.body:
            decorated = [node.lineno for node in getattr(each, "decorator_list", ())]
            begin = self._starts[min([each.lineno, *decorated]) - 1]
            stop = min(self._starts[each.end_lineno or each.lineno], len(self.text))
            if begin <= start and end <= stop:
                return each, begin, stop
        raise Outside

    def list_following(self, statement: Any) -> list[Any]:
        """Return the module-level statements after this one."""
        return self._tree.body[self._tree.body.index(statement) + 1 :]

    def compile_original(self, outer: OuterFunction, fuelled: bool = False) -> types.CodeType:
        return self._compile_function(outer, outer.node, fuelled)

    def compile_changed(
        self, outer: OuterFunction, edits: Sequence[Sequence[Any]], fuelled: bool
    ) -> types.CodeType:
        """Compile the function with the edits. Raises Outside if more than its body changed, or SyntaxError."""
        lines = self.text[outer.begin : outer.end]
        for start, end, text in sorted(edits, key=lambda edit: edit[0], reverse=True):
            lines = lines[: start - outer.begin] + text + lines[end - outer.begin :]
        indented = lines[:1] in (" ", "\t")
        # Prepend empty lines, which the parser skips quickly, so that its line numbers are right.
        head = "\n" * (outer.first_line - 2) + "if 1:\n" if indented else "\n" * (outer.first_line - 1)
        tree = ast.parse(head + lines)
        body = tree.body[0].body if indented and isinstance(tree.body[0], ast.If) else tree.body
        if len(body) != 1 or len(tree.body) != 1 or not isinstance(body[0], _FUNCTIONS):
            raise Outside  # something was moved out of the function
        return self._compile_function(outer, body[0], fuelled)

    def _compile_function(self, outer: OuterFunction, function: Any, fuelled: bool) -> types.CodeType:
        if fuelled:
            function = copy.deepcopy(function) if function is outer.node else function
            _insert_fuel([function])
        node: ast.stmt = function
        for each in reversed(outer.classes):
            shell = copy.copy(each)
            shell.body, shell.decorator_list, shell.bases, shell.keywords = [node], [], [], []
            node = shell
        module = ast.Module(body=[node], type_ignores=[])
        code: types.CodeType = compile(module, self.path, "exec", flags=self._flags, dont_inherit=True)
        for each in outer.classes:
            code = _find_code(code, each.name)
        return _find_code(code, outer.node.name)


class Fuel:
    """Counter of loop iterations and calls in instrumented code, which raises StopIteration when it is used up."""

    def __init__(self, amount: int) -> None:
        self._amount = amount
        self._left: Any = iter(())

    def refill(self) -> None:
        self._left = itertools.repeat(None, self._amount)
        setattr(builtins, FUEL, self._left.__next__)

    @property
    def is_used_up(self) -> bool:
        return int(self._left.__length_hint__()) == 0


def _insert_fuel(statements: list[Any]) -> None:
    """Put a use of fuel at the head of each function and each loop, at any depth; changes statements in place.

    Only statements are visited, and nodes get their positions when they are made: this is done for every
    candidate, and a visit of all nodes of a function takes longer than the tests do.
    """
    for each in statements:
        for name in _BODIES:
            inside = getattr(each, name, None)
            if isinstance(inside, list) and inside:
                _insert_fuel(inside)
        if isinstance(each, _BURNING):
            first = each.body[0]
            place = {key: getattr(first, key) for key in _PLACE}
            call = ast.Call(ast.Name(FUEL, ast.Load(), **place), [], [], **place)
            after_text = isinstance(each, _FUNCTIONS) and _is_constant_statement(first)
            each.body.insert(1 if after_text else 0, ast.Expr(call, **place))


def _is_constant_statement(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _iter_outer_functions(
    node: Any, classes: list[ast.ClassDef], starts: list[int], size: int
) -> Iterator[OuterFunction]:
    for each in ast.iter_child_nodes(node):
        if isinstance(each, _FUNCTIONS):
            yield OuterFunction(each, classes, starts, size)
        elif isinstance(each, ast.ClassDef):
            yield from _iter_outer_functions(each, [*classes, each], starts, size)
        elif isinstance(each, ast.stmt) or type(each).__name__ == "ExceptHandler":
            yield from _iter_outer_functions(each, classes, starts, size)


def find_header_end(node: Any) -> int:
    """Return the last line of a function's parameters and return annotation."""
    arguments = node.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *arguments.defaults]
    every += [each for each in arguments.kw_defaults if each is not None]
    every += [each for each in (arguments.vararg, arguments.kwarg, node.returns) if each is not None]
    last: int = max([node.lineno, *[each.end_lineno or 0 for each in every]])
    return last


def _find_code(code: types.CodeType, name: str) -> types.CodeType:
    """Return the code of the function or class of that name, for which a shell was compiled."""
    for each in code.co_consts:
        if isinstance(each, types.CodeType) and each.co_name == name:
            return each
    raise Outside  # it has a scope of its own, as one with type parameters does


def _compute_future_flags(tree: ast.Module) -> int:
    import __future__

    flags = 0
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            for each in node.names:
                flags |= getattr(__future__, each.name).compiler_flag
    return flags
