"""One source file for templates: its text, its syntax tree, and the names that are bound in it."""

from __future__ import annotations

import ast
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from functools import cached_property

from packages.offline.repair.templates.support.code_usage import CodeUsage, iter_operands
from packages.offline.repair.templates.support.name_bindings import (
    iter_outside_functions,
    list_bound_names,
    list_local_names,
)
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

# Longer texts are no names.
LONGEST_MEMBER = 40
# A word, a number or an operator.
TOKEN = compile_lazily(r"\w+|[<>=!*/]=|\*\*|//|\S")

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True, kw_only=True)
class Hunk:
    """A change since an earlier version: replace the characters start…end by `text` to revert it.

    first, last: its lines; for a pure deletion the line after it
    since: the commit that changed it; "" if uncommitted
    """

    start: int
    end: int
    text: str
    first: int
    last: int
    since: str


class Source:
    """One file's text with its syntax tree, and the mapping of tree positions to character offsets.

    hunks: differences from earlier versions, as far as known
    """

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        self.hunks: list[Hunk] = []
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # the project's own affair
            self.tree = ast.parse(text)
        self._names_in: dict[Function, list[str]] = {}
        self._names_of: dict[str, frozenset[str]] = {}
        self._nodes_in: dict[Function, list[ast.AST]] = {}
        self._lines = text.split("\n")
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line) + 1)
        self.parents: dict[ast.AST, ast.AST] = {
            child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)
        }

    def to_offset(self, line: int, column: int) -> int:
        """Return the character offset of a position whose column counts UTF-8 bytes, as in `ast`."""
        text = self._lines[line - 1]
        if not text.isascii():
            column = len(text.encode()[:column].decode())
        return self._starts[line - 1] + column

    def get_span(self, node: ast.expr | ast.stmt | ast.keyword | ast.excepthandler) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self.to_offset(node.lineno, node.col_offset), self.to_offset(
            node.end_lineno, node.end_col_offset
        )

    def get_text(self, node: ast.expr | ast.stmt | ast.keyword | ast.excepthandler) -> str:
        start, end = self.get_span(node)
        return self.text[start:end]

    def iter_format_expressions(self, literal: ast.JoinedStr) -> Iterator[ast.expr]:
        """Yield the expressions in the braces of an f-string, with format specifications, where positions are exact.

        Before Python 3.12 positions are sometimes wrong, so the text there is compared.
        """
        for part in literal.values:
            if isinstance(part, ast.FormattedValue):
                if self._has_exact_position(part.value):
                    yield part.value
                if isinstance(part.format_spec, ast.JoinedStr):
                    yield from self.iter_format_expressions(part.format_spec)

    def _has_exact_position(self, node: ast.expr) -> bool:
        if sys.version_info >= (3, 12):
            return True
        if node.lineno != node.end_lineno or not 0 < node.lineno <= len(self._lines):
            return False
        try:
            there = ast.parse(self.get_text(node), mode="eval").body
        except (SyntaxError, ValueError):
            return False
        return ast.dump(there) == ast.dump(node)

    @cached_property
    def hunks_at(self) -> dict[ast.stmt, list[Hunk]]:
        """The hunks, each at the first statement that begins in it, else at the one around it or after it."""
        found: dict[ast.stmt, list[Hunk]] = {}
        ordered = sorted(self.statements, key=lambda each: (each.lineno, each.col_offset))
        for hunk in self.hunks:
            inside = [each for each in ordered if hunk.first <= each.lineno <= hunk.last]
            around = [each for each in ordered if each.lineno < hunk.first <= (each.end_lineno or 0)]
            behind = [each for each in ordered if each.lineno > hunk.last]
            place = next(iter([*inside, *around[::-1], *behind]), None)
            if place is not None:
                found.setdefault(place, []).append(hunk)
        return found

    def get_line_start(self, line: int) -> int:
        return self._starts[line - 1]

    def get_indentation(self, line: int) -> str:
        text = self._lines[line - 1]
        return text[: len(text) - len(text.lstrip())]

    @cached_property
    def usage(self) -> CodeUsage:
        """Usage patterns of the file, which templates borrow from."""
        return CodeUsage(self)

    @cached_property
    def token_triples(self) -> frozenset[tuple[str, str, str]]:
        """All sequences of three consecutive tokens."""
        row = TOKEN.findall(self.text)
        return frozenset(zip(row, row[1:], row[2:], strict=False))

    @cached_property
    def statements(self) -> list[ast.stmt]:
        return [node for node in ast.walk(self.tree) if isinstance(node, ast.stmt)]

    @cached_property
    def module_names(self) -> dict[str, ast.AST]:
        """Names bound at module level, with the nodes that bind them."""
        found: dict[str, ast.AST] = {}
        for node in iter_outside_functions(self.tree):
            for name in list_bound_names(node):
                found.setdefault(name, node)
        return found

    @cached_property
    def imports_everything(self) -> bool:
        """Whether some `from … import *` binds names that the text does not show."""
        imports = (n for n in ast.walk(self.tree) if isinstance(n, ast.ImportFrom))
        return any(each.name == "*" for node in imports for each in node.names)

    @cached_property
    def names(self) -> frozenset[str]:
        """Every name and attribute that the file reads or binds."""
        every = [node for node in ast.walk(self.tree) if isinstance(node, ast.Name | ast.Attribute)]
        return frozenset(node.id if isinstance(node, ast.Name) else node.attr for node in every)

    @cached_property
    def constants(self) -> list[tuple[str, ast.stmt]]:
        """Names that assignments of the module or of its classes bind, each with its statement."""
        found: list[tuple[str, ast.stmt]] = []
        for node in iter_outside_functions(self.tree):
            if isinstance(node, ast.ClassDef):
                inside: list[ast.AST] = [*node.body]
            else:
                inside = [node]
            for each in inside:
                if isinstance(each, ast.Assign | ast.AnnAssign | ast.AugAssign):
                    found.extend((name, each) for name in list_bound_names(each))
        return found

    @cached_property
    def functions(self) -> list[Function]:
        return [node for node in ast.walk(self.tree) if isinstance(node, Function)]

    @cached_property
    def attributes(self) -> list[str]:
        """Attribute and method names that occur or are defined in the file, sorted."""
        found = {node.attr for node in ast.walk(self.tree) if isinstance(node, ast.Attribute)}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ClassDef):
                for each in node.body:
                    found.update(list_bound_names(each))
        return sorted(name for name in found if not name.startswith("__"))

    @cached_property
    def assigned_attributes(self) -> frozenset[str]:
        """Attributes that are assigned to anywhere in the file."""
        stored = (
            n for n in ast.walk(self.tree) if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Store)
        )
        return frozenset(node.attr for node in stored)

    @cached_property
    def attributes_bound(self) -> frozenset[str]:
        """Attributes bound in the file: methods, class variables, assignments."""
        classes = [node for node in ast.walk(self.tree) if isinstance(node, ast.ClassDef)]
        named = {name for node in classes for each in node.body for name in list_bound_names(each)}
        return self.assigned_attributes | named

    @cached_property
    def strings(self) -> list[str]:
        values = {
            n.value for n in ast.walk(self.tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)
        }
        return sorted(value for value in values if 0 < len(value) < 40 and "\n" not in value)

    def list_names(self, function: Function) -> list[str]:
        if function not in self._names_in:
            names, around = list_local_names(function), self.find_enclosing_function(function)
            self._names_in[function] = list(
                dict.fromkeys(names + (self.list_names(around) if around else []))
            )
        return self._names_in[function]

    def list_nodes(self, function: Function | None) -> list[ast.AST]:
        """Return all nodes of a function, or none; cached, since requests for the same function recur."""
        if function is None:
            return []
        if function not in self._nodes_in:
            self._nodes_in[function] = list(ast.walk(function))
        return self._nodes_in[function]

    @cached_property
    def keywords(self) -> dict[str, Counter[str]]:
        """Keyword arguments as written, by the last name of the callee; most of one line."""
        found: dict[str, Counter[str]] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Call):
                name = (
                    node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
                )
                for each in node.keywords:
                    text = self.get_text(each)
                    if each.arg and "\n" not in text:
                        found.setdefault(name, Counter())[text] += 1
        return found

    @cached_property
    def definitions(self) -> dict[str, list[ast.arguments]]:
        """Parameters of functions, methods and classes, by their names."""
        found: dict[str, list[ast.arguments]] = {}
        for function in self.functions:
            above = self.parents[function]
            is_made = function.name == "__init__" and isinstance(above, ast.ClassDef)
            name = above.name if is_made and isinstance(above, ast.ClassDef) else function.name
            found.setdefault(name, []).append(function.args)
        return found

    @cached_property
    def members(self) -> dict[str, Counter[str]]:
        """Attributes by the plain name that they are read from, for names that begin a chain of them."""
        found: dict[str, Counter[str]] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                found.setdefault(node.value.id, Counter())[node.attr] += 1
        return found

    @cached_property
    def displays(self) -> list[frozenset[str]]:
        """The texts of each list, tuple, set and dictionary display with several elements."""
        found = []
        for node in ast.walk(self.tree):
            if isinstance(node, ast.List | ast.Tuple | ast.Set | ast.Dict):
                held = node.keys if isinstance(node, ast.Dict) else node.elts
                values = [each.value for each in held if isinstance(each, ast.Constant)]
                texts = [each for each in values if isinstance(each, str) and len(each) < LONGEST_MEMBER]
                if len(texts) > 1:
                    found.append(frozenset(texts))
        return found

    @cached_property
    def bare_calls(self) -> Counter[str]:
        """Methods that are called without arguments."""
        every = (n for n in ast.walk(self.tree) if isinstance(n, ast.Call) and not n.args and not n.keywords)
        return Counter(each.func.attr for each in every if isinstance(each.func, ast.Attribute))

    @cached_property
    def conditions(self) -> Counter[str]:
        """Names and attributes whose truth is tested anywhere in the file."""
        found: Counter[str] = Counter()
        nodes = ast.walk(self.tree)
        for node in iter_operands(
            [each.test for each in nodes if isinstance(each, ast.If | ast.While | ast.IfExp)]
        ):
            if isinstance(node, ast.Name | ast.Attribute):
                found[self.get_text(node)] += 1
        return found

    def find_names(self, text: str) -> frozenset[str]:
        """Return the names that an expression of this file reads."""
        if text not in self._names_of:
            nodes = ast.walk(ast.parse(f"({text})", mode="eval"))  # it may go over several lines
            self._names_of[text] = frozenset(node.id for node in nodes if isinstance(node, ast.Name))
        return self._names_of[text]

    @cached_property
    def one_argument_calls(self) -> Counter[str]:
        """Number of calls with one argument, by the function's name in the call."""
        every = (n for n in ast.walk(self.tree) if isinstance(n, ast.Call) and len(n.args) == 1)
        plain = (n.func for n in every if not n.keywords and isinstance(n.func, ast.Name | ast.Attribute))
        return Counter(self.get_text(each) for each in plain)

    def find_enclosing_function(self, node: ast.AST) -> Function | None:
        """Return the function around a node."""
        above = self.parents.get(node)
        while above is not None and not isinstance(above, Function):
            above = self.parents.get(above)
        return above

    def find_enclosing_class(self, node: ast.AST) -> ast.ClassDef | None:
        above = self.parents.get(node)
        while above is not None and not isinstance(above, ast.ClassDef):
            above = self.parents.get(above)
        return above

    def get_block(self, statement: ast.stmt) -> list[ast.stmt]:
        """Return the list of statements that contains `statement`."""
        above = self.parents[statement]
        for name in ("body", "orelse", "finalbody"):
            block = getattr(above, name, None)
            if isinstance(block, list) and statement in block:
                return block
        return [statement]


def get_first_line(statement: ast.stmt) -> int:
    """Return the first line, decorators included."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(each.lineno for each in decorators)])


def list_header_nodes(statement: ast.stmt, source: Source | None = None) -> list[ast.expr]:
    """Return the expressions of a statement itself: of a compound statement, its header's.

    Expressions in the braces of an f-string are included only if `source` shows that their positions are
    exact.
    """
    found: list[ast.expr] = []
    todo: list[ast.AST] = _list_header_children(statement)
    while todo:
        node = todo.pop(0)
        if isinstance(node, ast.expr):
            found.append(node)
        if not isinstance(node, ast.JoinedStr):
            todo.extend(ast.iter_child_nodes(node))
        elif source is not None:
            todo.extend(source.iter_format_expressions(node))
    return found


_BODIES = frozenset(
    {"body", "orelse", "finalbody", "handlers", "cases", "decorator_list", "returns", "annotation"}
)


def _list_header_children(statement: ast.stmt) -> list[ast.AST]:
    """Return the children of a statement that are neither statements nor type annotations."""
    found: list[ast.AST] = []
    for name, value in ast.iter_fields(statement):
        if name in _BODIES and not isinstance(statement, ast.Expr):
            continue
        found.extend(
            each for each in (value if isinstance(value, list) else [value]) if isinstance(each, ast.AST)
        )
    if isinstance(statement, Function):
        arguments = statement.args
        return [each for each in (*arguments.defaults, *arguments.kw_defaults) if each is not None]
    return found
