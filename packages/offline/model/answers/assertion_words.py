"""Assertions of a Python test in words, read off its syntax tree."""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Iterator, Mapping

from sandbox.lazy_dataclass import dataclass
from tools.core.text import clip

MOST_CODE = 100
"""Characters of an expression that is quoted."""

_COMPARISONS: Mapping[type[ast.cmpop], str] = {
    ast.Eq: "equals",
    ast.NotEq: "differs from",
    ast.Lt: "is less than",
    ast.LtE: "is at most",
    ast.Gt: "is greater than",
    ast.GtE: "is at least",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "is in",
    ast.NotIn: "is not in",
}

_METHODS: Mapping[str, str] = {
    "assertEqual": "{0} equals {1}",
    "assertEquals": "{0} equals {1}",
    "assertNotEqual": "{0} differs from {1}",
    "assertTrue": "{0} is true",
    "assertFalse": "{0} is false",
    "assertIs": "{0} is {1}",
    "assertIsNot": "{0} is not {1}",
    "assertIsNone": "{0} is None",
    "assertIsNotNone": "{0} is not None",
    "assertIn": "{0} is in {1}",
    "assertNotIn": "{0} is not in {1}",
    "assertIsInstance": "{0} is of the type {1}",
    "assertGreater": "{0} is greater than {1}",
    "assertGreaterEqual": "{0} is at least {1}",
    "assertLess": "{0} is less than {1}",
    "assertLessEqual": "{0} is at most {1}",
    "assertAlmostEqual": "{0} nearly equals {1}",
    "assertRegex": "{0} matches {1}",
    "assertRaises": "{0} is raised",
    "assertRaisesRegex": "{0} is raised",
    "assertCountEqual": "{0} has the elements of {1}, in any order",
}
"""Sentence for each assertion method of `unittest`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TestContent:
    """doc: its documentation; assertions: in words; calls: names that it calls; given: its arguments, which fixtures
    or sets of values provide"""

    __test__ = False

    doc: str
    assertions: list[str]
    calls: list[str]
    given: list[str]


def read_test(source: str) -> TestContent | None:
    """Read the source of one Python test function or class; None if it cannot be parsed."""
    try:
        tree = ast.parse(textwrap.dedent(source))
    except (SyntaxError, ValueError, RecursionError):
        return None
    node = next((each for each in tree.body if isinstance(each, _DEFINITIONS)), None)
    if node is None:
        return None
    given = (
        [] if isinstance(node, ast.ClassDef) else [each.arg for each in node.args.args if each.arg != "self"]
    )
    given += [f"{_count_sets(each)} sets of values" for each in node.decorator_list if _count_sets(each)]
    return TestContent(
        doc=(ast.get_docstring(node) or "").partition("\n\n")[0].replace("\n", " ").strip(),
        assertions=[text for each in _walk(node) for text in _describe_statement(each)],
        calls=list(dict.fromkeys(_list_calls(node))),
        given=given,
    )


_DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


def _walk(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes below one, in the order of the source."""
    for child in ast.iter_child_nodes(node):
        yield child
        yield from _walk(child)


def _describe_statement(node: ast.AST) -> Iterator[str]:
    if isinstance(node, ast.Assert):
        yield _describe_condition(node.test)
    elif isinstance(node, ast.With | ast.AsyncWith):
        for item in node.items:
            if _get_called_name(item.context_expr) in (
                "raises",
                "assertRaises",
                "assertRaisesRegex",
                "warns",
            ):
                yield _describe_raises(item.context_expr, node.body)
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        name = _get_called_name(node.value)
        if name in _METHODS and not name.startswith("assertRaises"):
            arguments = [_quote(each) for each in node.value.args] + ["?", "?"]
            yield _METHODS[name].format(*arguments)
        elif name.startswith("assert_"):
            yield f"{_quote(node.value)} holds"


def _describe_condition(test: ast.expr) -> str:
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        return f"{_quote(test.left)} {_COMPARISONS[type(test.ops[0])]} {_quote(test.comparators[0])}"
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return f"{_quote(test.operand)} is false or empty"
    if isinstance(test, ast.Call) and _get_called_name(test) == "isinstance" and len(test.args) == 2:
        return f"{_quote(test.args[0])} is of the type {_quote(test.args[1])}"
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return ", and ".join(_describe_condition(each) for each in test.values)
    return f"{_quote(test)} is true"


def _describe_raises(call: ast.expr, body: list[ast.stmt]) -> str:
    assert isinstance(call, ast.Call)
    error = _quote(call.args[0]) if call.args else "an exception"
    match = next((_quote(each.value) for each in call.keywords if each.arg == "match"), "")
    inside = "; ".join(_quote(each) for each in body[:2])
    return f"{inside} raises {error}" + (f" with a message that matches {match}" if match else "")


def _list_calls(node: ast.AST) -> Iterator[str]:
    for each in _walk(node):
        if isinstance(each, ast.Call):
            name = _get_called_name(each)
            if name and not name.startswith("assert") and name not in _PLUMBING:
                yield name


_PLUMBING = frozenset(
    {"raises", "warns", "parametrize", "isinstance", "len", "print", "fixture", "approx", "super"}
)


def _get_called_name(node: ast.AST) -> str:
    if not isinstance(node, ast.Call):
        return ""
    function = node.func
    return function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")


def _count_sets(decorator: ast.expr) -> int:
    """Return the number of value sets of a `parametrize`, 0 for another decorator."""
    if _get_called_name(decorator) != "parametrize" or not isinstance(decorator, ast.Call):
        return 0
    values = decorator.args[1] if len(decorator.args) > 1 else None
    return len(values.elts) if isinstance(values, ast.List | ast.Tuple) else 0


def _quote(node: ast.AST) -> str:
    return f"`{clip(' '.join(ast.unparse(node).split()), MOST_CODE)}`"
