"""One function as the rewrites see it: its loops, what changes in them, and how its text is replaced."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Collection, Iterator, Sequence
from functools import cached_property
from typing import Any

from packages.improve.rewrites.code_pattern import match_code
from packages.improve.rewrites.rewrite import Rewrite, TextEdit
from packages.offline.repair.templates.support.source_tree import Function, Source

Loop = ast.For | ast.AsyncFor | ast.While | ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)

PURE_BUILTINS = frozenset(
    [
        "abs", "all", "any", "bool", "chr", "dict", "divmod", "enumerate", "float", "frozenset", "hash", "int",
        "isinstance", "len", "list", "max", "min", "ord", "print", "range", "repr", "reversed", "round", "set",
        "sorted", "str", "sum", "tuple", "zip",
    ]
)  # fmt: skip
"""Functions that change none of their arguments, as long as these are containers, numbers and texts."""

PURE_METHODS = frozenset(
    [
        "bit_length", "casefold", "center", "copy", "count", "decode", "difference", "encode", "endswith", "find",
        "format", "get", "index", "intersection", "isalnum", "isalpha", "isdecimal", "isdigit", "isdisjoint",
        "isidentifier", "islower", "isnumeric", "isspace", "issubset", "issuperset", "istitle", "isupper", "items",
        "join", "keys", "ljust", "lower", "lstrip", "partition", "removeprefix", "removesuffix", "replace", "rfind",
        "rjust", "rpartition", "rsplit", "rstrip", "split", "splitlines", "startswith", "strip", "swapcase", "title",
        "translate", "union", "upper", "values", "zfill",
    ]
)  # fmt: skip
"""Methods of containers and texts that change nothing."""

PURE_MODULES = frozenset(("math", "operator", "cmath"))

PASSING = frozenset(("enumerate", "zip", "reversed", "items", "keys", "values"))
"""Builtins and methods whose result can be gone through only once, or changes with the container."""


class RewriteScope:
    """A function of a source. name: qualified, as Class.method"""

    def __init__(self, source: Source, function: Function, name: str) -> None:
        self.source = source
        self.function = function
        self.name = name
        self._made = 0

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes of the body, those of nested functions included."""
        return [each for part in self.function.body for each in ast.walk(part)]

    @cached_property
    def bound_names(self) -> frozenset[str]:
        """Names that the function binds, its parameters included."""
        stored = {n.id for n in self.nodes if isinstance(n, ast.Name) and not isinstance(n.ctx, ast.Load)}
        arguments = {n.arg for n in ast.walk(self.function.args) if isinstance(n, ast.arg)}
        return frozenset(stored | arguments)

    @cached_property
    def used_names(self) -> list[str]:
        """All names in the body, in order."""
        return sorted({n.id for n in self.nodes if isinstance(n, ast.Name)})

    @cached_property
    def declared_names(self) -> frozenset[str]:
        """Names that belong to another scope by `global` or `nonlocal`, or that nested functions read."""
        found = {name for n in self.nodes if isinstance(n, ast.Global | ast.Nonlocal) for name in n.names}
        for node in self.nodes:
            if isinstance(node, Function | ast.Lambda):
                found |= {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
        return frozenset(found)

    def is_builtin(self, name: str) -> bool:
        """Return whether the name still means the builtin here."""
        is_bound = name in self.bound_names or name in self.source.module_names
        return hasattr(builtins, name) and not is_bound

    def can_import(self, module: str) -> bool:
        """Return whether `import module` at the top gives the name no second meaning."""
        known = self.source.module_names.get(module)
        is_same = isinstance(known, ast.Import) and any(
            each.name == module and each.asname is None for each in known.names
        )
        return module not in self.bound_names and (known is None or is_same)

    def is_module(self, name: str) -> bool:
        """Return whether the name is a module that the file imports under its own name."""
        return name not in self.bound_names and isinstance(self.source.module_names.get(name), ast.Import)

    def create_name(self, wanted: str) -> str:
        """Return a name that the file does not use."""
        taken = self.source.names | self.bound_names | set(self.source.module_names)
        name, number = wanted, 2
        while name in taken:
            name, number = f"{wanted}_{number}", number + 1
        return name

    def iter_loops(self, node: ast.AST) -> Iterator[Loop]:
        """Yield the loops of the function that evaluate the node more than once, innermost first."""
        below, above = node, self.source.parents.get(node)
        while above is not None and below is not self.function:
            if isinstance(above, ast.Lambda | Function) and above is not self.function:
                return
            if (
                (isinstance(above, ast.For | ast.AsyncFor) and below in above.body)
                or (isinstance(above, ast.While) and (below is above.test or below in above.body))
                or (
                    isinstance(above, COMPREHENSIONS)
                    and (below is not above.generators[0] or self._is_repeated(below, node))
                )
            ):
                yield above
            below, above = above, self.source.parents.get(above)

    def _is_repeated(self, generator: ast.AST, node: ast.AST) -> bool:
        return isinstance(generator, ast.comprehension) and any(
            node is each for test in generator.ifs for each in ast.walk(test)
        )

    def find_outermost_loop(self, node: ast.AST, *names: str) -> Loop | None:
        """Return the outermost loop around a node, without gaps, that changes none of the names."""
        found = None
        for loop in self.iter_loops(node):
            if any(self.is_changed(name, loop) for name in names):
                break
            found = loop
        return found

    def is_changed(self, name: str, inside: ast.AST) -> bool:
        """Return whether the code may bind the name anew, or change the object that it names."""
        if name in self.declared_names and name in self.bound_names:
            return True
        return any(self.is_change(node, name) for node in ast.walk(inside))

    def is_change(self, node: ast.AST, name: str) -> bool:
        """Return whether the node names the object to bind the name anew, or to change the object."""
        if not (isinstance(node, ast.Name) and node.id == name):
            return False
        if not isinstance(node.ctx, ast.Load):
            return True
        above = self.source.parents.get(node)
        match above:
            case ast.Subscript(value=value, ctx=context) if value is node:
                return not isinstance(context, ast.Load)
            case ast.Attribute(value=value, attr=attribute, ctx=context) if value is node:
                call = self.source.parents.get(above)
                is_called = isinstance(call, ast.Call) and call.func is above
                return not isinstance(context, ast.Load) or (is_called and attribute not in PURE_METHODS)
            case ast.Call(func=ast.Name(id=called)) if node in above.args:
                return not (called in PURE_BUILTINS and self.is_builtin(called))
            case ast.Call(func=ast.Attribute(attr=attribute)) if node in above.args:
                return attribute not in PURE_METHODS | {"append", "add", "extend"}
            case ast.Starred() | ast.keyword():
                return True
        return False

    def is_pure(self, value: ast.expr) -> bool:
        """Return whether the whole expression reads names and calls pure functions only, and gives a lasting value."""
        for node in ast.walk(value):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func).rpartition(".")[2] if node is value else ""
                if not self.is_pure_call(node) or called in PASSING:
                    return False
            elif isinstance(node, ast.Lambda | ast.Await | ast.NamedExpr | ast.Yield | ast.YieldFrom):
                return False
            elif isinstance(node, ast.GeneratorExp) and not isinstance(
                self.source.parents.get(node), ast.Call
            ):
                return False  # it can be gone through only once
        return bool(list_names(value) & self.bound_names)

    def is_pure_call(self, call: ast.Call) -> bool:
        """Return whether the call itself, whatever its arguments, changes nothing and gives the same each time."""
        match call.func:
            case ast.Name(id=name):
                return name in PURE_BUILTINS - {"print"} and self.is_builtin(name)
            case ast.Attribute(value=ast.Name(id=module)) if module in PURE_MODULES:
                return self.is_module(module)
            case ast.Attribute(attr=attribute):
                return attribute in PURE_METHODS - {"copy"}
        return False

    def is_read_behind(self, loop: ast.AST, names: Collection[str]) -> bool:
        """Return whether one of the names occurs behind a loop, which leaves it with its last value."""
        end = getattr(loop, "end_lineno", 0), getattr(loop, "end_col_offset", 0)
        return any(
            isinstance(n, ast.Name) and n.id in names and (n.lineno, n.col_offset) > end for n in self.nodes
        )

    def is_fallback(self, node: ast.expr) -> bool:
        """Return whether the expression is what a conditional one evaluates else, as rewrites leave it."""
        return isinstance(above := self.source.parents.get(node), ast.IfExp) and above.orelse is node

    def list_uses(self, name: str) -> list[ast.Name]:
        """Return all places that name it."""
        return [n for n in self.nodes if isinstance(n, ast.Name) and n.id == name]

    def find_before(self, statement: ast.stmt) -> ast.stmt | None:
        """Return the statement before another one in the same block."""
        block = self.source.get_block(statement)
        place = block.index(statement)
        return block[place - 1] if place else None

    def is_in_loop(self, node: ast.AST) -> bool:
        """Return whether a loop evaluates the node more than once."""
        return any(True for _ in self.iter_loops(node))

    def iter_code(self, *patterns: str) -> Iterator[tuple[Any, Any]]:
        """Yield each part that one of the patterns matches, with what its names stand for. way: the pattern's number"""
        for node in self.nodes:
            for way, pattern in enumerate(patterns if not isinstance(node, ast.Expr) else ()):
                if (found := match_code(node, pattern)) is not None:
                    found.way = way
                    yield node, found
                    break

    def find_place(self, node: ast.AST, *names: str) -> ast.stmt | None:
        """Return the statement before which a node of a loop can be evaluated once; None if the names change there."""
        loop = self.find_outermost_loop(node, *names)
        return self.find_statement(loop) if loop is not None else None

    def find_statement(self, node: ast.AST) -> ast.stmt | None:
        """Return the statement around a node before which another one can stand."""
        above: ast.AST | None = node
        while above is not None and not isinstance(above, ast.stmt):
            above = self.source.parents.get(above)
        if above is None or above is self.function or not self.begins_line(above):
            return None
        return above

    def begins_line(self, statement: ast.stmt) -> bool:
        """Return whether nothing stands before the statement in its line, and it is no `elif`."""
        start, _ = self.source.get_span(statement)
        before = self.source.text[self.source.get_line_start(statement.lineno) : start]
        return not before.strip() and not self.source.text.startswith("elif", start)

    def get_text(self, node: ast.expr | ast.stmt) -> str:
        return self.source.get_text(node)

    def replace(self, node: ast.expr | ast.stmt, text: str) -> TextEdit:
        """Return the edit that gives a node another text; further lines are indented as the node is."""
        start, end = self.source.get_span(node)
        indentation = self.source.get_indentation(node.lineno)
        return TextEdit(start, end, text.replace("\n", f"\n{indentation}"))

    def insert_before(self, statement: ast.stmt, text: str) -> TextEdit:
        """Return the edit that puts lines before a statement."""
        start, _ = self.source.get_span(statement)
        indentation = self.source.get_indentation(statement.lineno)
        return TextEdit(start, start, text.replace("\n", f"\n{indentation}") + f"\n{indentation}")

    def insert_after(self, statement: ast.stmt, text: str) -> TextEdit:
        """Return the edit that puts lines after a statement."""
        _, end = self.source.get_span(statement)
        line_end = self.source.text.find("\n", end)
        end = len(self.source.text) if line_end < 0 else line_end  # behind a comment
        indentation = self.source.get_indentation(statement.lineno)
        return TextEdit(end, end, f"\n{indentation}" + text.replace("\n", f"\n{indentation}"))

    def build(self, kind: str, line: int, *edits: TextEdit, **header: tuple[str, ...]) -> Rewrite:
        """Return a rewrite of this function. header: its imports and constants"""
        return Rewrite(kind=kind, function=self.name, line=line, edits=edits, **header)

    def name_value(self, kind: str, at: ast.stmt, name: str, text: str, uses: Sequence[ast.expr]) -> Rewrite:
        """Return a rewrite that gives a value a name before a statement, and takes that in its places."""
        edits = [self.insert_before(at, f"{name} = {text}"), *(self.replace(each, name) for each in uses)]
        return self.build(kind, at.lineno, *edits)

    def replace_from(self, first: ast.stmt, last: ast.stmt, text: str) -> TextEdit:
        """Return the edit that gives the statements from the first to the last another text."""
        return TextEdit(self.source.get_span(first)[0], self.source.get_span(last)[1], text)

    def find_list_start(self, name: str) -> ast.Assign | ast.AnnAssign | None:
        """Return the only statement that binds the name, if that is to a new list, in a line of its own."""
        stores = [each for each in self.list_uses(name) if isinstance(each.ctx, ast.Store)]
        if len(stores) != 1 or name in self.declared_names:
            return None
        match statement := self.source.parents.get(stores[0]):
            case ast.Assign(targets=[ast.Name()], value=value) | ast.AnnAssign(value=value):
                is_call = isinstance(value, ast.Call) and ast.unparse(value.func) == "list"
                is_list = isinstance(value, ast.List) or (is_call and self.is_builtin("list"))
                return statement if is_list and self.begins_line(statement) else None
        return None


def iter_scopes(source: Source) -> Iterator[RewriteScope]:
    """Yield each function of a file at its top or in its classes."""
    for node in source.tree.body:
        if isinstance(node, Function):
            yield RewriteScope(source, node, node.name)
        elif isinstance(node, ast.ClassDef):
            for each in node.body:
                if isinstance(each, Function):
                    yield RewriteScope(source, each, f"{node.name}.{each.name}")


def is_empty_list(node: ast.AST | None) -> bool:
    """Return whether the node is `[]`."""
    return isinstance(node, ast.List) and not node.elts


def is_repeatable(node: ast.expr) -> bool:
    """Return whether evaluating the expression a second time gives the same and does nothing."""
    allowed = (ast.Name, ast.Constant, ast.Tuple, ast.expr_context, ast.Attribute, ast.Subscript)
    return all(isinstance(each, allowed) for each in ast.walk(node))


def list_names(node: ast.AST) -> set[str]:
    """Return the names that occur in a node."""
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}
