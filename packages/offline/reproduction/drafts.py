"""Drafts of a reproduction, built from the report's own code: statements to run and the results told for them."""

from __future__ import annotations

import ast
import builtins
import re
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TypeGuard

from packages.offline.reproduction.report.report_fields import Exchange, Report, Snippet
from packages.offline.reproduction.report.text_elements import normalize_code, parse_code
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

MOST_DRAFTS = 8
"""Drafts that are run for one report."""

MODEL = "model"
"""Origin of the draft of a model's script."""

_NOTE = compile_lazily(r"\s+(?:<-+|#).*$")
_FOREIGN = compile_lazily(
    r"(?i)\b(?:fix(?:e[sd])?|patch|workaround|suggest\w*|propos\w*|solution|source of"
    r"|add(?:ing)? (?:the )?(?:following|these)|code (?:of|for|is|in)|implementation|defined as|definition"
    r"|on the line)\b"
)
"""Prose before code of the project itself, or of a fix."""

_VERSION = compile_lazily(r"__version__|\bversion(?:_info)?\b")
_ALIAS = compile_lazily(
    r"\bimport (?P<module>[\w.]+) as (?P<name>\w+)|\bfrom (?P<source>[\w.]+) import (?P<member>\w+)\b"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """Statements of one piece of the report.

    exchanges: each one statement with its told result; of those before `first` no result counts
    origin: where it comes from, for a person
    is_whole: it has all told outputs of the report, so that one of them is wrong if all are seen
    """

    exchanges: tuple[Exchange, ...]
    first: int = 0
    origin: str = ""
    is_whole: bool = True

    @property
    def source(self) -> str:
        return "\n".join(each.source for each in self.exchanges)


def build_drafts(report: Report) -> list[Draft]:
    """Return the drafts of a report, the likeliest first."""
    snippets = [replace(each, exchanges=tuple(_clean(each.exchanges))) for each in report.snippets]
    snippets = [each for each in snippets if each.exchanges]
    drafts: list[Draft] = []
    for place in sorted(range(len(snippets)), key=lambda place: (_rank(snippets[place]), place)):
        snippet = snippets[place]
        before = [each for each in snippets[:place] if each.origin != "inline" and _rank(each) < 9]
        alone = Draft(exchanges=snippet.exchanges, origin=snippet.origin)
        setup = tuple(
            replace(e, output="", error=None) for each in before for e in each.exchanges if e.source
        )
        if setup and _needs(snippet.exchanges, setup):
            drafts.append(
                Draft(exchanges=(*setup, *snippet.exchanges), first=len(setup), origin=snippet.origin)
            )
        else:
            drafts.append(alone)
    told = [
        each
        for each in snippets
        if _rank(each) in (0, 1) and any(e.output or e.error for e in each.exchanges)
    ]
    if len(told) > 1:
        joint = Draft(exchanges=tuple(e for each in told for e in each.exchanges), origin="all snippets")
        first = sum(any(e.error for e in each.exchanges) for each in snippets)
        drafts = [replace(each, is_whole=False) for each in drafts]
        drafts.insert(min(first, len(drafts)), joint)
    return list({each.source: each for each in drafts}.values())[:MOST_DRAFTS]


def build_model_draft(source: str) -> Draft:
    """Return the draft of a model's script; what it runs as a program is run like the rest, but for a test runner."""
    from packages.offline.reproduction.report.extract import split_statements

    lines, tree = source.split("\n"), parse_code(source)
    guards = [each for each in (tree.body if tree else ()) if _is_main_guard(each)]
    for guard in reversed(guards):
        body = lines[guard.body[0].lineno - 1 : guard.end_lineno]
        runs_tests = any("pytest.main" in line or "unittest.main" in line for line in body)
        lines[guard.lineno - 1 : guard.end_lineno] = (
            [] if runs_tests else textwrap.dedent("\n".join(body)).split("\n")
        )
    return Draft(exchanges=tuple(split_statements("\n".join(lines))), origin=MODEL)


def _is_main_guard(node: ast.stmt) -> TypeGuard[ast.If]:
    """Return whether a statement runs its block only in a program, with the block in lines of its own."""
    return (
        isinstance(node, ast.If)
        and ast.unparse(node.test) == "__name__ == '__main__'"
        and not node.orelse
        and node.body[0].lineno > node.lineno
    )


def find_undefined_names(source: str) -> list[str]:
    """Return names that code reads and nothing in it binds, in their order."""
    tree = parse_code(source)
    if tree is None:
        return []
    bound = {name for node in ast.walk(tree) for name in _bound_names(node)}
    read = [
        node.id
        for node in _walk_in_order(tree)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    ]
    bound |= _injected_names(tree)
    free = [
        name
        for name in read
        if name not in bound and not hasattr(builtins, name) and not name.startswith("__")
    ]
    first = _read_before_bound(tree, bound)
    called = {
        node.func.id
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)
    }
    # `_` is the last value of a session, but a function of gettext where it is called
    return [name for name in dict.fromkeys([*free, *first]) if name != "_" or name in called]


def find_told_imports(text: str) -> dict[str, str]:
    """Return the imports that a report names anywhere, by the name that they bind: one beside the code is enough."""
    found: dict[str, str] = {}
    for match in _ALIAS.finditer(text):
        name = match["name"] or match["member"]
        line = (
            f"import {match['module']} as {name}"
            if match["name"]
            else f"from {match['source']} import {name}"
        )
        found.setdefault(name, line)
    return found


def find_star_imports(source: str) -> list[str]:
    """Return the modules of `from MODULE import *`."""
    tree = parse_code(source)
    nodes = ast.walk(tree) if tree else ()
    return [
        node.module
        for node in nodes
        if isinstance(node, ast.ImportFrom) and node.module and any(alias.name == "*" for alias in node.names)
    ]


def add_test_calls(exchanges: Sequence[Exchange]) -> list[Exchange]:
    """Return the statements with calls of the test functions and classes that they define."""
    calls = []
    for each in exchanges:
        tree = parse_code(each.source)
        for node in tree.body if tree else ():
            if isinstance(node, ast.FunctionDef) and node.name.startswith("test") and not node.args.args:
                calls.append(Exchange(source=f"{node.name}()", role="unknown"))
            if isinstance(node, ast.ClassDef) and any("TestCase" in ast.unparse(base) for base in node.bases):
                names = [
                    inner.name for inner in node.body
                    if isinstance(inner, ast.FunctionDef) and inner.name.startswith("test")
                ]  # fmt: skip
                calls += [Exchange(source=f"{node.name}({name!r}).debug()") for name in names]
    return [*exchanges, *calls]


def _clean(exchanges: Sequence[Exchange]) -> Iterator[Exchange]:
    """Yield what can be run: parsed statements, without notes and questions for the version."""
    for each in exchanges:
        source = normalize_code(each.source)
        if parse_code(source) is None:
            source = normalize_code(_NOTE.sub("", each.source))
        tree = parse_code(source)
        if tree is None or not tree.body or _VERSION.search(source) or re.match(r"(?:exit|quit)\b", source):
            continue
        yield replace(each, source=source)


def _rank(snippet: Snippet) -> int:
    if any(each.error for each in snippet.exchanges):
        return 0
    tree = parse_code(snippet.source)
    nodes = list(ast.walk(tree)) if tree else []
    if _FOREIGN.search(snippet.lead[-120:]) or any(
        isinstance(each, ast.Return) for each in (tree.body if tree else ())
    ):
        return 9
    if any(each.output for each in snippet.exchanges):
        return 1 if snippet.origin != "inline" else 3
    if any(isinstance(each, ast.Assert) for each in nodes):
        return 2
    return 4 if snippet.origin != "inline" else 5


def _needs(exchanges: Sequence[Exchange], setup: Sequence[Exchange]) -> bool:
    """Return whether statements use names that earlier ones bind."""
    free = set(find_undefined_names("\n".join(each.source for each in exchanges)))
    bound: set[str] = set()
    for each in setup:
        tree = parse_code(each.source)
        if tree is None:
            continue
        bound |= {name for node in ast.walk(tree) for name in _bound_names(node)} | _injected_names(tree)
        if any(isinstance(node, ast.alias) and node.name == "*" for node in ast.walk(tree)):
            return bool(free)
    return bool(free & bound)


def _bound_names(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
        yield node.id
    elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield node.name
    elif isinstance(node, ast.arg):
        yield node.arg
    elif isinstance(node, ast.alias):
        yield (node.asname or node.name).partition(".")[0]
    elif isinstance(node, ast.ExceptHandler) and node.name:
        yield node.name


def _injected_names(tree: ast.AST) -> set[str]:
    """Return names that `var("a b")` puts into the global names."""
    found: set[str] = set()
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Name)
            and node.func.id == "var"
            and node.args
        ):
            first = node.args[0]
            if isinstance(first, ast.Constant) and isinstance(first.value, str):
                found.update(re.split(r"[\s,]+", first.value.strip()))
    return found


def _read_before_bound(tree: ast.Module, bound: set[str]) -> Iterator[str]:
    """Yield names that a top-level statement reads before the first that binds them: `x = x + 1`."""
    seen: set[str] = set()
    for statement in tree.body:
        if isinstance(statement, (ast.Assign, ast.Expr, ast.AugAssign)):
            inner = {name for node in ast.walk(statement) for name in _bound_names(node)}
            inner -= {
                n.id
                for t in getattr(statement, "targets", ())
                for n in ast.walk(t)
                if isinstance(n, ast.Name)
            }
            for node in ast.walk(statement):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                    later = node.id in bound and node.id not in seen and node.id not in inner
                    if later and not hasattr(builtins, node.id):
                        yield node.id
        seen |= {name for node in ast.walk(statement) for name in _bound_names(node)} | _injected_names(
            statement
        )


def _walk_in_order(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _walk_in_order(child)


def bind_names(tree: ast.AST) -> set[str]:
    """Return the names that code binds."""
    return {name for node in ast.walk(tree) for name in _bound_names(node)} | _injected_names(tree)


def read_names(tree: ast.AST) -> set[str]:
    """Return the names that code reads."""
    return {
        each.id for each in ast.walk(tree) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)
    }
