"""Input (`Site`) and output (`Change`) of a mutation template, and insertion of new text into a source."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterator
from dataclasses import field
from functools import cached_property

from packages.offline.repair.templates.support.precedence import (
    get_binding,
    get_required_binding,
    parse_binding,
)
from packages.offline.repair.templates.support.project_sources import ProjectSources
from packages.offline.repair.templates.support.source_tree import (
    Function,
    Source,
    get_first_line,
    list_header_nodes,
)
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Replace the characters start…end of a source by `text`; `why` is part of a sentence for the user."""

    start: int
    end: int
    text: str
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Hints:
    """Facts from the failing tests' messages: missing names, attributes and modules, exceptions, values.

    texts: pairs of differing compared texts, actual and expected, in either order
    missing_members: (type, attribute) of AttributeErrors: the attribute that an object of that type lacks
    test_words: words of the failing tests (`word_relevance.collect_test_words`)
    """

    missing_names: frozenset[str] = frozenset()
    missing_attributes: frozenset[str] = frozenset()
    missing_modules: frozenset[str] = frozenset()
    errors: frozenset[str] = frozenset()
    texts: tuple[tuple[str, str], ...] = ()
    missing_members: frozenset[tuple[str, str]] = frozenset()
    test_words: frozenset[str] = frozenset()

    def may_be_none(self, attribute: str) -> bool:
        """Return whether no message reports another type than None for the object without the attribute."""
        kinds = {kind for kind, name in self.missing_members if name == attribute}
        return not kinds or "NoneType" in kinds


# Lines before and after a statement that are near it.
NEAR = 5
_WORD = compile_lazily(r"[A-Za-z_]\w*")

BUILTINS = frozenset(dir(builtins))

Generator = Callable[["Site"], Iterator[Change]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Template:
    """A named way to change a statement.

    prior: how often such a change is the right one, relative to others, per place where it applies
    precision: how often it is right when it makes the tests pass; removals pass weak tests
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


@dataclass(frozen=True, kw_only=True)
class Site:
    """A suspicious statement in its context; `around`: the project's files, if there are others."""

    source: Source
    statement: ast.stmt
    hints: Hints = field(default_factory=Hints)
    around: ProjectSources | None = None

    @cached_property
    def project_sources(self) -> ProjectSources:
        """The files to borrow from, this one included."""
        return self.around or ProjectSources((self.source,))

    @cached_property
    def function(self) -> Function | None:
        return (
            self.statement
            if isinstance(self.statement, Function)
            else self.source.find_enclosing_function(self.statement)
        )

    @cached_property
    def nodes(self) -> list[ast.expr]:
        """Expressions of the statement itself: of a compound statement, its header's."""
        return list_header_nodes(self.statement, self.source)

    @cached_property
    def variables(self) -> list[str]:
        """Names bound in the function, in order of their first appearance; then those of functions around it."""
        return self.source.list_names(self.function) if self.function else []

    @cached_property
    def statement_words(self) -> frozenset[str]:
        """The words of the statement, with those of its body."""
        return frozenset(_WORD.findall(self.get_text(self.statement)))

    @cached_property
    def nearby_words(self) -> frozenset[str]:
        """The words of the lines around its first."""
        first = self.statement.lineno
        lines = self.source.text.split("\n")[max(0, first - 1 - NEAR) : first + NEAR]
        del lines[min(first - 1, NEAR)]
        return frozenset(_WORD.findall("\n".join(lines)))

    @cached_property
    def is_block(self) -> bool:
        """Whether it contains other statements."""
        return isinstance(getattr(self.statement, "body", None), list)

    def is_known(self, name: str) -> bool:
        """Return whether a name is bound in any visible scope; with `import *`, unless a test reports it as unbound."""
        if name in self.variables or name in self.source.module_names or name in BUILTINS:
            return True
        return self.source.imports_everything and name not in self.hints.missing_names

    def get_text(self, node: ast.expr | ast.stmt | ast.keyword) -> str:
        return self.source.get_text(node)

    def format_operand(self, node: ast.expr, level: int) -> str:
        """Return a node's text, in parentheses if it binds more loosely than `level`."""
        text = self.get_text(node)
        return f"({text})" if get_binding(node) < level else text

    def get_span_between(self, left: ast.expr, right: ast.expr) -> tuple[int, int]:
        """Return the span between two neighbouring expressions, with their operator or comma."""
        return self.source.get_span(left)[1], self.source.get_span(right)[0]

    def replace_node(self, node: ast.expr, text: str, why: str = "") -> Change:
        """Replace a node by an expression, in parentheses where its parent needs them."""
        start, end = self.source.get_span(node)
        old = self.source.text[start:end]
        fitted = text
        if self._get_required_binding(node) > parse_binding(text) and not self._is_enclosed(start, end):
            fitted = f"({text})"
        return Change(start=start, end=end, text=fitted, why=why or f"`{old}` should be `{text}`")

    def _get_required_binding(self, node: ast.expr) -> int:
        return get_required_binding(self.source.parents.get(node), node)

    def _is_enclosed(self, start: int, end: int) -> bool:
        text = self.source.text
        before, after = text[:start].rstrip()[-1:], text[end : end + 80].lstrip()[:1]
        return before == "(" and after == ")"

    def insert_before(self, text: str, why: str) -> Change:
        """Insert new lines before the statement; `text` is indented to its depth."""
        start = self.source.get_line_start(get_first_line(self.statement))
        return Change(start=start, end=start, text=self._indent_text(text), why=why)

    def insert_after(self, text: str, why: str) -> Change:
        assert self.statement.end_lineno is not None
        start = min(self.source.get_line_start(self.statement.end_lineno + 1), len(self.source.text))
        added = self._indent_text(text)
        if start and self.source.text[start - 1] != "\n":
            added = "\n" + added[:-1]
        return Change(start=start, end=start, text=added, why=why)

    def _indent_text(self, text: str) -> str:
        margin = self.source.get_indentation(self.statement.lineno)
        return "".join(f"{margin}{line}\n" for line in text.split("\n"))

    def rewrite_statement(self, text: str, why: str) -> Change:
        """Replace the whole statement by other text (its first line's indentation stays)."""
        start, end = self.source.get_span(self.statement)
        return Change(start=start, end=end, text=text, why=why)

    @cached_property
    def is_alone_on_lines(self) -> bool:
        """Whether no other statement shares its lines, so that they may be moved (an `elif` is part of an `if`)."""
        start, end = self.source.get_span(self.statement)
        text = self.source.text
        if isinstance(self.statement, ast.If) and text.startswith("elif", start):
            return False
        before = text[text.rfind("\n", 0, start) + 1 : start]
        after = text[end : text.find("\n", end) if "\n" in text[end:] else len(text)].strip()
        after = after.removeprefix(";").lstrip()  # as written by users of other languages
        return not before.strip() and (not after or after.startswith("#"))
