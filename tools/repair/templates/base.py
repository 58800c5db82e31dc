"""What a mutation template sees (`Site`) and says (`Change`), and how new text is fitted into old source."""

from __future__ import annotations

import ast
import builtins
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Replace the characters start…end of a source by `text`; `why` is a sentence part for a person."""

    start: int
    end: int
    text: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Hints:
    """What the failing tests' messages say: names and attributes that do not exist, exceptions, values."""

    missing_names: frozenset[str] = frozenset()
    missing_attributes: frozenset[str] = frozenset()
    errors: frozenset[str] = frozenset()


BUILTINS = frozenset(dir(builtins))

Generator = Callable[["Site"], Iterator[Change]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A named way to change a statement.

    prior: how often such a change is the right one, relative to others, per place where it applies
    precision: how often it is right when it makes the tests pass; what takes something away passes weak tests
    """

    name: str
    prior: float
    precision: float
    changes: Generator


def template(prior: float, precision: float = 0.95) -> Callable[[Generator], Template]:
    """Make a `Template` of a generator function, under the function's name."""

    def decorate(function: Generator) -> Template:
        return Template(name=function.__name__, prior=prior, precision=precision, changes=function)

    return decorate


class Source:
    """One file's text with its syntax tree, and the way from tree positions to character offsets."""

    def __init__(self, path: str, text: str) -> None:
        self.path = path
        self.text = text
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)  # the project's own affair
            self.tree = ast.parse(text)
        self._names_in: dict[Function, list[str]] = {}
        self._lines = text.split("\n")
        self._starts = [0]
        for line in self._lines:
            self._starts.append(self._starts[-1] + len(line) + 1)
        self.parents: dict[ast.AST, ast.AST] = {
            child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)
        }

    def offset(self, line: int, column: int) -> int:
        """Characters before a position whose column counts UTF-8 bytes, as `ast` has it."""
        text = self._lines[line - 1]
        if not text.isascii():
            column = len(text.encode()[:column].decode())
        return self._starts[line - 1] + column

    def span(self, node: ast.expr | ast.stmt | ast.keyword | ast.excepthandler) -> tuple[int, int]:
        assert node.end_lineno is not None
        assert node.end_col_offset is not None
        return self.offset(node.lineno, node.col_offset), self.offset(node.end_lineno, node.end_col_offset)

    def segment(self, node: ast.expr | ast.stmt | ast.keyword | ast.excepthandler) -> str:
        start, end = self.span(node)
        return self.text[start:end]

    def line_start(self, line: int) -> int:
        return self._starts[line - 1]

    def indentation(self, line: int) -> str:
        text = self._lines[line - 1]
        return text[: len(text) - len(text.lstrip())]

    @cached_property
    def statements(self) -> list[ast.stmt]:
        return [node for node in ast.walk(self.tree) if isinstance(node, ast.stmt)]

    @cached_property
    def module_names(self) -> dict[str, ast.AST]:
        """Names bound at module level, with what binds them."""
        found: dict[str, ast.AST] = {}
        for node in _outside_functions(self.tree):
            for name in _bound(node):
                found.setdefault(name, node)
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
                    found.update(_bound(each))
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
        """Attributes that something in the file gives a value: methods, class variables, assignments."""
        classes = [node for node in ast.walk(self.tree) if isinstance(node, ast.ClassDef)]
        named = {name for node in classes for each in node.body for name in _bound(each)}
        return self.assigned_attributes | named

    @cached_property
    def strings(self) -> list[str]:
        values = {
            n.value for n in ast.walk(self.tree) if isinstance(n, ast.Constant) and isinstance(n.value, str)
        }
        return sorted(value for value in values if 0 < len(value) < 40 and "\n" not in value)

    def names_in(self, function: Function) -> list[str]:
        if function not in self._names_in:
            names, around = local_names(function), self.enclosing(function)
            self._names_in[function] = list(dict.fromkeys(names + (self.names_in(around) if around else [])))
        return self._names_in[function]

    def enclosing(self, node: ast.AST) -> Function | None:
        """The function around a node."""
        above = self.parents.get(node)
        while above is not None and not isinstance(above, Function):
            above = self.parents.get(above)
        return above

    def enclosing_class(self, node: ast.AST) -> ast.ClassDef | None:
        above = self.parents.get(node)
        while above is not None and not isinstance(above, ast.ClassDef):
            above = self.parents.get(above)
        return above

    def block(self, statement: ast.stmt) -> list[ast.stmt]:
        """The list of statements that `statement` is one of."""
        above = self.parents[statement]
        for name in ("body", "orelse", "finalbody"):
            block = getattr(above, name, None)
            if isinstance(block, list) and statement in block:
                return block
        return [statement]


def _outside_functions(tree: ast.Module) -> Iterator[ast.AST]:
    todo: list[ast.AST] = list(tree.body)
    while todo:
        node = todo.pop(0)
        yield node
        if not isinstance(node, Function | ast.ClassDef | ast.Lambda):
            todo.extend(ast.iter_child_nodes(node))


def _bound(node: ast.AST) -> list[str]:
    if isinstance(node, Function | ast.ClassDef):
        return [node.name]
    if isinstance(node, ast.Import | ast.ImportFrom):
        return [(each.asname or each.name).split(".")[0] for each in node.names]
    if isinstance(node, ast.Assign):
        return [each.id for target in node.targets for each in ast.walk(target) if isinstance(each, ast.Name)]
    if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        return [node.target.id]
    return []


@dataclass(frozen=True, kw_only=True)
class Site:
    """A suspicious statement, with what surrounds it."""

    source: Source
    statement: ast.stmt
    hints: Hints = field(default_factory=Hints)

    @cached_property
    def function(self) -> Function | None:
        return (
            self.statement if isinstance(self.statement, Function) else self.source.enclosing(self.statement)
        )

    @cached_property
    def nodes(self) -> list[ast.expr]:
        """Expressions of the statement itself: of a compound statement, its header's."""
        return header_nodes(self.statement)

    @cached_property
    def variables(self) -> list[str]:
        """Names bound in the function, in order of their first appearance; then those of functions around it."""
        return self.source.names_in(self.function) if self.function else []

    def known(self, name: str) -> bool:
        """Whether a name is bound anywhere that this place can see."""
        return name in self.variables or name in self.source.module_names or name in BUILTINS

    def text(self, node: ast.expr | ast.stmt | ast.keyword) -> str:
        return self.source.segment(node)

    def operand(self, node: ast.expr, level: int) -> str:
        """A node's text, in parentheses if it binds more loosely than `level`."""
        text = self.text(node)
        return f"({text})" if binding(node) < level else text

    def between(self, left: ast.expr, right: ast.expr) -> tuple[int, int]:
        """The span between two neighbouring expressions: where their operator or comma stands."""
        return self.source.span(left)[1], self.source.span(right)[0]

    def replace(self, node: ast.expr, text: str, why: str = "") -> Change:
        """Put an expression in a node's place, in parentheses where the surroundings need them."""
        start, end = self.source.span(node)
        old = self.source.text[start:end]
        fitted = text
        if self._needed(node) > _text_binding(text) and not self._enclosed(start, end):
            fitted = f"({text})"
        return Change(start=start, end=end, text=fitted, why=why or f"`{old}` should be `{text}`")

    def _needed(self, node: ast.expr) -> int:
        return required(self.source.parents.get(node), node)

    def _enclosed(self, start: int, end: int) -> bool:
        text = self.source.text
        before, after = text[:start].rstrip()[-1:], text[end : end + 80].lstrip()[:1]
        return before == "(" and after == ")"

    def insert_before(self, text: str, why: str) -> Change:
        """New lines before the statement; `text` is indented to its depth."""
        start = self.source.line_start(first_line(self.statement))
        return Change(start=start, end=start, text=self._indented(text), why=why)

    def insert_after(self, text: str, why: str) -> Change:
        assert self.statement.end_lineno is not None
        start = min(self.source.line_start(self.statement.end_lineno + 1), len(self.source.text))
        added = self._indented(text)
        if start and self.source.text[start - 1] != "\n":
            added = "\n" + added[:-1]
        return Change(start=start, end=start, text=added, why=why)

    def _indented(self, text: str) -> str:
        margin = self.source.indentation(self.statement.lineno)
        return "".join(f"{margin}{line}\n" for line in text.split("\n"))

    def rewrite(self, text: str, why: str) -> Change:
        """Put other text in the place of the whole statement (its first line's indentation stays)."""
        start, end = self.source.span(self.statement)
        return Change(start=start, end=end, text=text, why=why)

    @cached_property
    def alone_on_lines(self) -> bool:
        """No other statement shares the statement's lines, so whole lines may be moved."""
        start, end = self.source.span(self.statement)
        text = self.source.text
        before = text[text.rfind("\n", 0, start) + 1 : start]
        after = text[end : text.find("\n", end) if "\n" in text[end:] else len(text)].strip()
        return not before.strip() and (not after or after.startswith("#"))


def first_line(statement: ast.stmt) -> int:
    """Decorators included."""
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(each.lineno for each in decorators)])


def local_names(function: Function) -> list[str]:
    """Parameters, then everything assigned in the function, each once."""
    arguments = function.args
    every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
    names = [each.arg for each in (*every, arguments.vararg, arguments.kwarg) if each is not None]
    stores = [n for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)]
    nested = [n for n in ast.walk(function) if isinstance(n, Function) and n is not function]
    names += [node.id for node in sorted(stores, key=lambda n: (n.lineno, n.col_offset))]
    for inner in nested:
        names += [inner.name, *(each.arg for each in inner.args.args)]
    return list(dict.fromkeys(names))


def header_nodes(statement: ast.stmt) -> list[ast.expr]:
    """Expressions of a statement itself: of a compound statement, its header's."""
    found: list[ast.expr] = []
    todo: list[ast.AST] = _header(statement)
    while todo:
        node = todo.pop(0)
        if isinstance(node, ast.expr):
            found.append(node)
        if not isinstance(node, ast.JoinedStr):  # positions inside f-strings are not exact before 3.12
            todo.extend(ast.iter_child_nodes(node))
    return found


_BODIES = frozenset(
    {"body", "orelse", "finalbody", "handlers", "cases", "decorator_list", "returns", "annotation"}
)


def _header(statement: ast.stmt) -> list[ast.AST]:
    """The children of a statement that are not statements, nor annotations of types."""
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


# How tightly expressions bind (the language reference's table, loosest first); an atom binds tightest.
LOOSEST, TERNARY, OR, AND, NOT, COMPARISON = 0, 1, 2, 3, 4, 5
BITOR, BITXOR, BITAND, SHIFT, SUM, PRODUCT, UNARY, POWER, AWAIT, ATOM = 6, 7, 8, 9, 10, 11, 12, 13, 14, 15
_OPERATORS: dict[type[ast.operator], int] = {
    ast.BitOr: BITOR,
    ast.BitXor: BITXOR,
    ast.BitAnd: BITAND,
    ast.LShift: SHIFT,
    ast.RShift: SHIFT,
    ast.Add: SUM,
    ast.Sub: SUM,
    ast.Pow: POWER,
}
_KINDS: dict[type[ast.expr], int] = {
    ast.NamedExpr: LOOSEST,
    ast.Lambda: TERNARY,
    ast.IfExp: TERNARY,
    ast.Yield: LOOSEST,
    ast.YieldFrom: LOOSEST,
    ast.Starred: LOOSEST,
    ast.Compare: COMPARISON,
    ast.Await: AWAIT,
}


def binding(node: ast.expr) -> int:
    """How tightly a node holds together when written without parentheses of its own."""
    if isinstance(node, ast.BinOp):
        return _OPERATORS.get(type(node.op), PRODUCT)
    if isinstance(node, ast.BoolOp):
        return OR if isinstance(node.op, ast.Or) else AND
    if isinstance(node, ast.UnaryOp):
        return NOT if isinstance(node.op, ast.Not) else UNARY
    if (
        isinstance(node, ast.Constant)
        and isinstance(node.value, int | float)
        and str(node.value).startswith("-")
    ):
        return UNARY
    return _KINDS.get(type(node), ATOM)


def required(parent: ast.AST | None, node: ast.expr) -> int:
    """How tightly a child must hold together to stand in its parent as it is."""
    if isinstance(parent, ast.BinOp):
        level = binding(parent)
        if isinstance(parent.op, ast.Pow):
            return UNARY if node is parent.right else AWAIT
        return level if node is parent.left else level + 1
    if isinstance(parent, ast.BoolOp):
        return binding(parent) + 1
    if isinstance(parent, ast.Compare):
        return BITOR
    if isinstance(parent, ast.UnaryOp):
        return NOT if isinstance(parent.op, ast.Not) else UNARY
    if isinstance(parent, ast.IfExp | ast.comprehension):
        return OR
    if isinstance(parent, ast.Starred):
        return BITOR
    if isinstance(parent, ast.Attribute | ast.Await) or _is_head(parent, node):
        return ATOM
    return TERNARY


def _is_head(parent: ast.AST | None, node: ast.expr) -> bool:
    if isinstance(parent, ast.Call):
        return node is parent.func
    return isinstance(parent, ast.Subscript) and node is parent.value


@lru_cache(maxsize=4096)
def _text_binding(text: str) -> int:
    if text.isidentifier() or text.isdigit():
        return ATOM
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except SyntaxError:  # a slice or a keyword: nothing to put parentheses around
        return ATOM
    if isinstance(node, ast.Tuple) and not text.lstrip().startswith("("):
        return LOOSEST
    return binding(node)
