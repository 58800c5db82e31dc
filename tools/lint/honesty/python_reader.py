"""Reader of one Python test: its checks, and what keeps them from counting."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Sequence
from textwrap import dedent

from sandbox.lazy_pattern import compile_lazily
from tools.lint.honesty.python_measures import (
    ASSERTING,
    SKIP,
    get_called,
    is_never,
    list_facts,
    list_skips,
    list_tolerances,
    list_wrappers,
    measure_strength,
    read_dotted_name,
    read_number,
)
from tools.lint.honesty.test_units import Check, TestUnit

_RAISES = compile_lazily(r"raises|warns|assertRaises|assertWarns", re.IGNORECASE)
_RETRY = compile_lazily(r"(?:^|\.)(?:flaky|retry|retries|rerunfailures|repeat_on_failure)$")
_PATCH = compile_lazily(r"(?:^|\.)(?:patch|patch\.object|setattr|patch\.dict|patch\.multiple|setitem)$")

_METHODS = {
    name: strength
    for strength, names in (
        (
            3,
            "assertEqual assertEquals assertIs assertDictEqual assertListEqual assertIsNone assert_called_with",
        ),
        (3, "assert_called_once_with"),
        (
            2,
            "assertIn assertNotIn assertAlmostEqual assertGreater assertLess assertGreaterEqual assertLessEqual",
        ),
        (2, "assertRegex assertCountEqual assert_called_once"),
        (1, "assertTrue assertFalse assertIsNotNone assertNotEqual assertIsInstance assert_called"),
    )
    for name in names.split()
}
"""Strength of the methods of unittest and its mocks, as of `Check`; of others 2."""

_BROAD = frozenset({"", "Exception", "BaseException", "AssertionError"})
"""Names of what catches failing checks; "" for an expression."""


def analyse_unit(unit: TestUnit) -> None:
    """Fill in the checks of a unit and what keeps them from counting, from its text."""
    try:
        tree = ast.parse(dedent(unit.text))
    except (SyntaxError, ValueError, RecursionError):
        return
    node = tree.body[0]
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return
    reader = _UnitReader(unit, dedent(unit.text).splitlines())
    unit.skips += list_skips(node.decorator_list)
    for each in node.decorator_list:
        dotted = read_dotted_name(get_called(each))
        if _RETRY.search(dotted):
            unit.retries.append(dotted)
        if isinstance(each, ast.Call):
            reader.read_call(each)
            if dotted.endswith("parametrize"):
                reader.add_check(each, each.args[1:], strength=2)
    for stmt in node.body:
        match stmt:
            case ast.Expr(value=ast.Yield(value=None)) if unit.is_test:  # a generator: its body never runs
                unit.unreached += _count_checks(node.body)
                return
    reader.visit_block(node.body, swallowed=False, guarded=False)


def _count_checks(body: Sequence[ast.stmt]) -> int:
    return sum(_is_check(each) for stmt in body for each in ast.walk(stmt))


class _UnitReader:
    """Walker over the statements of one unit."""

    def __init__(self, unit: TestUnit, lines: list[str]) -> None:
        self._unit = unit
        self._lines = lines

    def visit_block(self, body: Sequence[ast.stmt], *, swallowed: bool, guarded: bool) -> bool:
        """Read the statements of a block; return whether what follows the block is never reached."""
        ended = False
        for node in body:
            if ended:
                self._unit.unreached += _count_checks([node])
                continue
            ended = self._visit(node, swallowed=swallowed, guarded=guarded)
        return ended

    def _visit(self, node: ast.stmt, *, swallowed: bool, guarded: bool) -> bool:
        match node:
            case ast.Return() | ast.Continue() | ast.Break():
                if isinstance(node, ast.Return) and node.value is not None:
                    self._read_expressions(node)
                return True
            case ast.Raise():
                self._read_expressions(node)
                raised = read_dotted_name(get_called(node.exc)) if node.exc is not None else ""
                if SKIP.search(raised):
                    self._unit.skips.append((raised, guarded))
                return True
            case ast.If():
                self._read_expressions(node.test)
                if is_never(node.test):
                    self._unit.unreached += _count_checks(node.body)
                    return self.visit_block(node.orelse, swallowed=swallowed, guarded=guarded)
                guarded = guarded or not (_count_checks(node.body) and _count_checks(node.orelse))
                for block in (node.body, node.orelse):
                    self.visit_block(block, swallowed=swallowed, guarded=guarded)
            case ast.Try():
                caught = any(map(_swallows, node.handlers))
                self.visit_block(node.body, swallowed=swallowed or caught, guarded=guarded)
                for each in node.handlers:
                    self.visit_block(each.body, swallowed=swallowed, guarded=True)
                for block in (node.orelse, node.finalbody):
                    self.visit_block(block, swallowed=swallowed, guarded=guarded)
            case ast.With() | ast.AsyncWith():
                hides = expects = False
                for item in node.items:
                    if isinstance(item.context_expr, ast.Call):
                        called = read_dotted_name(item.context_expr.func)
                        hides |= called.endswith("suppress") and any(
                            read_dotted_name(arg) in _BROAD for arg in item.context_expr.args
                        )
                        expects |= bool(_RAISES.search(called))
                        self._read_call_check(item.context_expr)
                        self.read_call(item.context_expr)
                ended = self.visit_block(node.body, swallowed=swallowed or hides, guarded=guarded)
                return ended and not expects and not hides
            case ast.For() | ast.AsyncFor():
                self._read_expressions(node.iter)
                names = (each.id for each in ast.walk(node.target) if isinstance(each, ast.Name))
                self._unit.rebound.update(names)
                if isinstance(node.iter, ast.List | ast.Tuple):
                    if not node.iter.elts:
                        self._unit.unreached += _count_checks(node.body)
                        return False
                    self.add_check(node.iter, [node.iter], strength=2)
                self.visit_block(node.body, swallowed=swallowed, guarded=guarded)
            case ast.While():
                if is_never(node.test):
                    self._unit.unreached += _count_checks(node.body)
                else:
                    self.visit_block(node.body, swallowed=swallowed, guarded=guarded)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._unit.rebound.add(node.name)
                if not node.decorator_list and self._unit.text.count(node.name) == 1:  # nobody calls it
                    self._unit.unreached += _count_checks(node.body)
                    return False
                self.visit_block(node.body, swallowed=swallowed, guarded=guarded)
            case ast.ClassDef():
                for part in node.body:
                    if isinstance(part, ast.FunctionDef | ast.AsyncFunctionDef) and node.bases:
                        self.visit_block(part.body, swallowed=swallowed, guarded=guarded)  # its base calls it
                    else:
                        self._visit(part, swallowed=swallowed, guarded=guarded)
            case ast.Assert():
                self.add_check(node, [node.test], strength=measure_strength(node.test))
                self._count(swallowed=swallowed, guarded=guarded)
                self._read_expressions(node)
            case ast.Expr(value=value):
                call = value.value if isinstance(value, ast.Await) else value
                if isinstance(call, ast.Call):
                    if SKIP.search(dotted := read_dotted_name(call.func)):
                        has_condition = guarded or dotted.endswith("importorskip")
                        self._unit.skips.append((dotted, has_condition))
                        if not has_condition:
                            return True
                    elif self._read_call_check(call):
                        self._count(swallowed=swallowed, guarded=guarded)
                self._read_expressions(node)
            case ast.Assign(targets=targets):
                for target in targets:
                    if isinstance(target, ast.Name):
                        self._unit.rebound.add(target.id)
                        if _EXPECTED_NAME.search(target.id):
                            self.add_check(node, [node.value], strength=3)
                    elif isinstance(target, ast.Attribute) and isinstance(
                        node.value, ast.Lambda | ast.Name | ast.Call
                    ):
                        self._unit.patched[target.attr] += 1
                self._read_expressions(node)
            case _:
                self._read_expressions(node)
        return False

    def _count(self, *, swallowed: bool, guarded: bool) -> None:
        self._unit.swallowed += swallowed
        self._unit.guarded += guarded

    def _read_expressions(self, node: ast.AST) -> None:
        for each in ast.walk(node):
            if isinstance(each, ast.Call):
                self.read_call(each)

    def read_call(self, call: ast.Call) -> None:
        """Note replaced objects, waits, limits of time and exits."""
        dotted = read_dotted_name(call.func)
        if _PATCH.search(dotted):
            names = [
                str(arg.value).rpartition(".")[2]
                for arg in call.args[:2]
                if isinstance(arg, ast.Constant) and isinstance(arg.value, str)
            ]
            self._unit.patched.update(names[:1])
        if dotted.endswith("sleep"):
            self._unit.sleeps.append(ast.unparse(call))
        if re.search(r"^(?:os\._exit|sys\.exit|pytest\.exit|quit|os\.kill|os\.abort)$", dotted):
            self._unit.exits.append(dotted)
        given = list(call.args) if dotted.endswith("timeout") else []
        given += [each.value for each in call.keywords if "timeout" in (each.arg or "")]
        self._unit.timeouts += (number for each in given if (number := read_number(each)) is not None)

    def _read_call_check(self, call: ast.Call) -> bool:
        name = read_dotted_name(call.func).rpartition(".")[2]
        if not ASSERTING.search(name):
            return False
        strength = _METHODS.get(name, 2)
        if name in ("assertEqual", "assertEquals", "assertIs") and len(call.args) > 1:
            if ast.dump(call.args[0]) == ast.dump(call.args[1]):
                strength = 0
        elif name == "assertTrue" and call.args:
            strength = measure_strength(call.args[0])
        elif name == "assertFalse" and call.args and isinstance(call.args[0], ast.Constant):
            strength = 0
        raises: tuple[str, ...] = ()
        has_match = False
        if _RAISES.search(name) and call.args:
            first = call.args[0]
            named = first.elts if isinstance(first, ast.Tuple) else [first]
            raises = tuple(read_dotted_name(each).rpartition(".")[2] for each in named)
            has_match = any(each.arg == "match" for each in call.keywords) or "Regex" in name
        self.add_check(call, [call], strength=strength, raises=raises, has_match=has_match)
        return True

    def add_check(
        self,
        node: ast.stmt | ast.expr,
        parts: Sequence[ast.AST],
        *,
        strength: int,
        raises: tuple[str, ...] = (),
        has_match: bool = False,
    ) -> None:
        """Add a check whose facts are those of some parts of the tree."""
        unit = self._unit
        facts = Counter(fact for part in parts for fact in list_facts(part))
        wrappers = Counter(name for part in parts for name in list_wrappers(part))
        names = {
            read_dotted_name(each.func).rpartition(".")[2]
            for part in parts
            for each in ast.walk(part)
            if isinstance(each, ast.Call)
        }
        unit.calls.update(names)
        text = self._lines[node.lineno - 1].strip() if node.lineno <= len(self._lines) else ""
        heads = (number for number, each in enumerate(self._lines) if each.startswith(("def ", "async def ")))
        unit.checks.append(
            Check(
                line=max(unit.line + node.lineno - 1 - next(heads, 0), unit.line),
                text=text,
                facts=facts,
                strength=strength,
                raises=raises,
                has_match=has_match,
                tolerance=max(list_tolerances(parts), default=None),
                wrappers=wrappers,
                shape="|".join(sorted(ast.dump(part) for part in parts)),
            )
        )


_EXPECTED_NAME = compile_lazily(r"(?i:expect|want|should|golden)|^[A-Z][A-Z0-9_]+$")


def _is_check(node: ast.AST) -> bool:
    return isinstance(node, ast.Assert) or (
        isinstance(node, ast.Call) and bool(ASSERTING.search(read_dotted_name(node.func).rpartition(".")[2]))
    )


def _swallows(handler: ast.ExceptHandler) -> bool:
    """Return whether a handler catches a failing check and lets the test go on."""
    parts = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    caught = {read_dotted_name(each).rpartition(".")[2] for each in parts if each is not None}
    if caught and not caught & _BROAD:
        return False
    return not any(
        isinstance(each, ast.Raise) or _is_check(each) for stmt in handler.body for each in ast.walk(stmt)
    )
