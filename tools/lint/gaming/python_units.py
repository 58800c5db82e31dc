"""Units of Python test files, by their syntax trees."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Sequence

from tools.lint.checks.assertions import Check
from tools.lint.gaming.test_units import Statement, TestFile, TestUnit

_ASSERTING = re.compile(r"^(?:assert|check|verify|expect|fail)|[a-z]_?assert|raises$|warns$", re.IGNORECASE)
_RAISES = re.compile(r"raises|warns|assertRaises|assertWarns", re.IGNORECASE)
_SKIP = re.compile(
    r"(?:^|\.)(?:skip|skipif|skipIf|skipUnless|skipTest|xfail|expectedFailure|XFAIL|SkipTest|importorskip)$"
)
_RETRY = re.compile(r"(?:^|\.)(?:flaky|retry|retries|rerunfailures|repeat_on_failure)$")
_PATCH = re.compile(r"(?:^|\.)(?:patch|patch\.object|setattr|patch\.dict|patch\.multiple|setitem)$")

_STRENGTH = {
    **dict.fromkeys(("Eq", "Is"), 3),
    **dict.fromkeys(("In", "NotIn", "Lt", "LtE", "Gt", "GtE"), 2),
    **dict.fromkeys(("NotEq", "IsNot"), 1),
}
_METHODS = {
    "assertEqual": 3,
    "assertEquals": 3,
    "assertIs": 3,
    "assertDictEqual": 3,
    "assertListEqual": 3,
    "assertIsNone": 3,
    "assertIn": 2,
    "assertNotIn": 2,
    "assertAlmostEqual": 2,
    "assertGreater": 2,
    "assertLess": 2,
    "assertGreaterEqual": 2,
    "assertLessEqual": 2,
    "assertRegex": 2,
    "assertCountEqual": 2,
    "assertTrue": 1,
    "assertFalse": 1,
    "assertIsNotNone": 1,
    "assertNotEqual": 1,
    "assertIsInstance": 1,
    "assert_called_once_with": 3,
    "assert_called_with": 3,
    "assert_called_once": 2,
    "assert_called": 1,
}
_TOLERANCES = ("abs", "rel", "atol", "rtol", "delta", "abs_tol", "rel_tol", "tolerance", "tol")
_LOOSE_CALLS = frozenset({"len", "sorted", "set", "str", "repr", "round", "int", "bool", "type", "isinstance"})
_LOOSE_METHODS = frozenset({"lower", "upper", "strip", "split", "startswith", "endswith", "replace", "casefold"})
_BROAD = frozenset({"", "Exception", "BaseException", "AssertionError"})


def parse_test_file(source: str) -> TestFile | None:
    """Return the units of a Python file; None if it is not valid Python."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return None
    found = TestFile()
    lines = source.splitlines()
    imported = {
        alias.asname or alias.name
        for node in tree.body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }
    _visit_scope(tree.body, "", found, lines, imported, collects=True)
    return found


def _visit_scope(
    body: Sequence[ast.stmt],
    scope: str,
    found: TestFile,
    lines: list[str],
    imported: set[str],
    *,
    collects: bool,
) -> None:
    seen: set[str] = set()
    for node in body:
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                name = f"{scope}.{node.name}" if scope else node.name
                is_test = collects and node.name.startswith("test")
                if is_test and name in seen and not _is_overload(node):
                    found.twice.append((node.lineno, node.name))
                seen.add(name)
                if not scope and node.name in imported:
                    found.shadowed.append((node.lineno, node.name))
                found.units[name] = _read_unit(node, name, lines, is_test=is_test)
            case ast.ClassDef():
                inner = f"{scope}.{node.name}" if scope else node.name
                is_collected = collects and _collects_class(node)
                if not is_collected:
                    found.uncollected.add(inner)
                found.skips += ((text, has) for text, has in _list_skips(node.decorator_list))
                _visit_scope(node.body, inner, found, lines, imported, collects=is_collected)
            case ast.Assign(targets=[ast.Name(id="pytestmark")], value=value):
                parts = value.elts if isinstance(value, ast.List | ast.Tuple) else [value]
                found.skips += _list_skips(parts)
            case ast.Assign(targets=[ast.Name(id="__test__")], value=ast.Constant(value=False)):
                found.skips.append(("__test__ = False", False))
            case ast.Assign(targets=[ast.Name(id=name)]) if not scope and name in imported:
                found.shadowed.append((node.lineno, name))
            case ast.Expr(value=ast.Call() as call) if _SKIP.search(_dotted(call.func)):
                conditional = _dotted(call.func).endswith("importorskip")
                found.skips.append((_dotted(call.func), conditional))
            case ast.Raise(exc=ast.expr() as raised) if _SKIP.search(
                _dotted(raised.func if isinstance(raised, ast.Call) else raised)
            ):
                found.skips.append((_dotted(raised.func if isinstance(raised, ast.Call) else raised), False))
            case ast.If() if not scope or collects:
                _visit_scope(
                    [*node.body, *node.orelse] if not _is_never(node.test) else node.orelse,
                    scope,
                    found,
                    lines,
                    imported,
                    collects=collects,
                )
            case ast.Try() | ast.With():
                _visit_scope(node.body, scope, found, lines, imported, collects=collects)


def _is_overload(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return bool(node.decorator_list) and any(
        not _dotted(_func(each)).startswith(("pytest", "mark", "unittest", "mock", "patch"))
        for each in node.decorator_list
    )


def _func(node: ast.expr) -> ast.expr:
    return node.func if isinstance(node, ast.Call) else node


def _collects_class(node: ast.ClassDef) -> bool:
    """Return whether a runner takes the class for one of tests: named so, or derived from a class of tests."""
    if any(
        isinstance(each, ast.Assign)
        and _dotted(each.targets[0]) == "__test__"
        and isinstance(each.value, ast.Constant)
        and not each.value.value
        for each in node.body
    ):
        return False
    derived = any("Test" in _dotted(base) or "test" in _dotted(base) for base in node.bases)
    has_init = any(isinstance(each, ast.FunctionDef) and each.name == "__init__" for each in node.body)
    return derived or (node.name.startswith("Test") and not has_init) or "Test" in node.name and bool(node.bases)


def _read_unit(
    node: ast.FunctionDef | ast.AsyncFunctionDef, name: str, lines: list[str], *, is_test: bool
) -> TestUnit:
    first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
    text = "\n".join(lines[first - 1 : node.end_lineno])
    body = "\n".join(line.strip() for line in lines[node.body[0].lineno - 1 : node.end_lineno])
    return TestUnit(
        name=name,
        line=node.lineno,
        text=text,
        body=body,
        is_test=is_test,
        is_async=isinstance(node, ast.AsyncFunctionDef),
    )


def analyse_unit(unit: TestUnit) -> None:
    """Fill in the checks of a unit and what keeps them from counting, from its text."""
    try:
        tree = ast.parse(_dedent(unit.text))
    except (SyntaxError, ValueError, RecursionError):
        return
    node = tree.body[0]
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return
    reader = _UnitReader(unit, _dedent(unit.text).splitlines())
    unit.skips += _list_skips(node.decorator_list)
    for each in node.decorator_list:
        dotted = _dotted(_func(each))
        if _RETRY.search(dotted):
            unit.retries.append(dotted)
        if isinstance(each, ast.Call):
            reader.read_call(each)
            if dotted.endswith("parametrize"):
                reader.add_check(each, each.args[1:], strength=2)
    reader.visit_block(node.body, swallowed=False, guarded=False)


def _dedent(text: str) -> str:
    from textwrap import dedent

    return dedent(text)


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
                self._unit.unreached += sum(map(_is_check, ast.walk(node)))
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
                raised = _dotted(_func(node.exc)) if node.exc is not None else ""
                if _SKIP.search(raised):
                    self._unit.skips.append((raised, guarded))
                return True
            case ast.If():
                self._read_expressions(node.test)
                if _is_never(node.test):
                    self._unit.unreached += sum(_is_check(each) for stmt in node.body for each in ast.walk(stmt))
                    return self.visit_block(node.orelse, swallowed=swallowed, guarded=guarded)
                self.visit_block(node.body, swallowed=swallowed, guarded=True)
                self.visit_block(node.orelse, swallowed=swallowed, guarded=True)
            case ast.Try():
                caught = any(_swallows(each) for each in node.handlers)
                self.visit_block(node.body, swallowed=swallowed or caught, guarded=guarded)
                for each in node.handlers:
                    self.visit_block(each.body, swallowed=swallowed, guarded=True)
                self.visit_block(node.orelse, swallowed=swallowed, guarded=guarded)
                self.visit_block(node.finalbody, swallowed=swallowed, guarded=guarded)
            case ast.With() | ast.AsyncWith():
                hides = False
                for item in node.items:
                    if isinstance(item.context_expr, ast.Call):
                        called = _dotted(item.context_expr.func)
                        hides |= called.endswith("suppress") and any(
                            _dotted(arg) in _BROAD for arg in item.context_expr.args
                        )
                        self._read_call_check(item.context_expr)
                        self.read_call(item.context_expr)
                return self.visit_block(node.body, swallowed=swallowed or hides, guarded=guarded)
            case ast.For() | ast.AsyncFor():
                self._read_expressions(node.iter)
                if isinstance(node.iter, ast.List | ast.Tuple) and not node.iter.elts:
                    self._unit.unreached += sum(_is_check(each) for stmt in node.body for each in ast.walk(stmt))
                else:
                    if isinstance(node.iter, ast.List | ast.Tuple):
                        self.add_check(node.iter, [node.iter], strength=2)
                    self.visit_block(node.body, swallowed=swallowed, guarded=guarded)
            case ast.While():
                if _is_never(node.test):
                    self._unit.unreached += sum(_is_check(each) for stmt in node.body for each in ast.walk(stmt))
                else:
                    self.visit_block(node.body, swallowed=swallowed, guarded=guarded)
            case ast.FunctionDef() | ast.AsyncFunctionDef():
                self._unit.rebound.add(node.name)
                self.visit_block(node.body, swallowed=swallowed, guarded=guarded)
            case ast.ClassDef():
                self.visit_block(node.body, swallowed=swallowed, guarded=guarded)
            case ast.Assert():
                self._add_assert(node)
                self._count(swallowed=swallowed, guarded=guarded)
                self._read_expressions(node)
            case ast.Expr(value=value):
                call = value.value if isinstance(value, ast.Await) else value
                if isinstance(call, ast.Call):
                    if _SKIP.search(dotted := _dotted(call.func)):
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
        dotted = _dotted(call.func)
        if _PATCH.search(dotted):
            names = [
                str(arg.value).rpartition(".")[2]
                for arg in call.args[:2]
                if isinstance(arg, ast.Constant) and isinstance(arg.value, str)
            ]
            self._unit.patched.update(names[:1])
        if dotted.endswith("sleep"):
            self._unit.sleeps.append(ast.unparse(call))
        if re.search(r"(?:os\._exit|sys\.exit|pytest\.exit|quit|os\.kill|os\.abort)$", dotted):
            self._unit.exits.append(dotted)
        if dotted.endswith("timeout"):
            self._unit.timeouts += (
                float(arg.value)
                for arg in call.args
                if isinstance(arg, ast.Constant) and isinstance(arg.value, int | float)
            )
        for keyword in call.keywords:
            if (
                keyword.arg
                and "timeout" in keyword.arg
                and isinstance(keyword.value, ast.Constant)
                and isinstance(keyword.value.value, int | float)
            ):
                self._unit.timeouts.append(float(keyword.value.value))

    def _read_call_check(self, call: ast.Call) -> bool:
        name = _dotted(call.func).rpartition(".")[2]
        if not _ASSERTING.search(name):
            return False
        strength = _METHODS.get(name, 2)
        if name in ("assertEqual", "assertEquals", "assertIs") and len(call.args) > 1:
            if ast.dump(call.args[0]) == ast.dump(call.args[1]):
                strength = 0
        elif name == "assertTrue" and call.args:
            strength = _measure_strength(call.args[0])
        elif name == "assertFalse" and call.args and isinstance(call.args[0], ast.Constant):
            strength = 0
        raises: tuple[str, ...] = ()
        has_match = False
        if _RAISES.search(name) and call.args:
            first = call.args[0]
            raises = tuple(map(_dotted, first.elts if isinstance(first, ast.Tuple) else [first]))
            has_match = any(each.arg == "match" for each in call.keywords) or "Regex" in name
        self.add_check(call, [call], strength=strength, raises=raises, has_match=has_match)
        return True

    def _add_assert(self, node: ast.Assert) -> None:
        self.add_check(node, [node.test], strength=_measure_strength(node.test))

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
        facts = Counter(fact for part in parts for fact in _list_facts(part))
        wrappers = Counter(name for part in parts for name in _list_wrappers(part))
        names = {
            _dotted(each.func).rpartition(".")[2]
            for part in parts
            for each in ast.walk(part)
            if isinstance(each, ast.Call)
        }
        unit.calls.update(names)
        first = unit.text.count("\n", 0, 0)
        text = self._lines[node.lineno - 1].strip() if node.lineno <= len(self._lines) else ""
        line = unit.line + node.lineno - 1 - first - _count_decorator_lines(self._lines)
        check = Check(owner=unit.name, line=max(line, unit.line), text=text, facts=facts)
        unit.checks.append(
            Statement(
                check=check,
                strength=strength,
                raises=raises,
                has_match=has_match,
                tolerance=max(_list_tolerances(parts), default=None),
                wrappers=wrappers,
                shape="|".join(sorted(ast.dump(part) for part in parts)),
            )
        )


_EXPECTED_NAME = re.compile(r"(?i:expect|want|should|golden)|^[A-Z][A-Z0-9_]+$")


def _count_decorator_lines(lines: list[str]) -> int:
    return next((number for number, line in enumerate(lines) if line.startswith(("def ", "async def "))), 0)


def _is_check(node: ast.AST) -> bool:
    return isinstance(node, ast.Assert) or (
        isinstance(node, ast.Call) and bool(_ASSERTING.search(_dotted(node.func).rpartition(".")[2]))
    )


def _measure_strength(test: ast.expr) -> int:
    match test:
        case ast.Constant(value=value):
            return 0 if value else 3
        case ast.Tuple(elts=[_, *_]) | ast.Lambda() | ast.JoinedStr():
            return 0
        case ast.UnaryOp(op=ast.Not(), operand=ast.Constant(value=value)):
            return 3 if value else 0
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return 1 if not isinstance(operand, ast.Compare) else 1
        case ast.BoolOp(op=ast.Or(), values=values):
            strengths = [_measure_strength(each) for each in values]
            if 0 in strengths or _covers_all(values):
                return 0
            return min(min(strengths), 2)
        case ast.BoolOp(values=values):
            return max(map(_measure_strength, values))
        case ast.Compare(left=left, ops=[op], comparators=[right]):
            if ast.dump(left) == ast.dump(right) and isinstance(op, ast.Eq | ast.Is | ast.LtE | ast.GtE):
                return 0
            if isinstance(left, ast.Constant) and isinstance(right, ast.Constant):
                return 0
            if _is_size(left) and isinstance(right, ast.Constant):
                if (isinstance(op, ast.GtE) and right.value == 0) or (
                    isinstance(op, ast.Gt | ast.NotEq) and right.value == -1
                ):
                    return 0
            if _is_wildcard(left) or _is_wildcard(right):
                return 0
            if isinstance(op, ast.In) and isinstance(right, ast.Tuple | ast.List | ast.Set):
                return 0 if any(ast.dump(each) == ast.dump(left) for each in right.elts) else 2
            return _STRENGTH.get(type(op).__name__, 2)
        case ast.Call(func=ast.Name(id="isinstance"), args=[_, ast.Name(id="object")]):
            return 0
        case ast.Call(func=ast.Name(id="bool" | "any"), args=[inner]) if isinstance(inner, ast.List | ast.Tuple):
            return min([3, *map(_measure_strength, inner.elts)])
        case _:
            return 1


def _covers_all(values: Sequence[ast.expr]) -> bool:
    """Return whether alternatives are opposites: `x is None or x is not None`."""
    opposites = {("Is", "IsNot"), ("Eq", "NotEq"), ("In", "NotIn")}
    seen = {
        (type(each.ops[0]).__name__, ast.dump(each.left), ast.dump(each.comparators[0]))
        for each in values
        if isinstance(each, ast.Compare)
    }
    return any((a, x, y) in seen and (b, x, y) in seen for a, b in opposites for _, x, y in seen)


def _is_size(node: ast.expr) -> bool:
    return isinstance(node, ast.Call) and _dotted(node.func) in ("len", "abs")


def _is_wildcard(node: ast.expr) -> bool:
    return _dotted(node).rpartition(".")[2] == "ANY"


def _is_never(test: ast.expr) -> bool:
    match test:
        case ast.Constant(value=value):
            return not value
        case ast.UnaryOp(op=ast.Not(), operand=ast.Constant(value=value)):
            return bool(value)
        case ast.BoolOp(op=ast.And(), values=values):
            return any(map(_is_never, values))
        case ast.Compare(left=ast.Constant(value=left), ops=[ast.Eq()], comparators=[ast.Constant(value=right)]):
            return bool(left != right)
        case _:
            return False


def _swallows(handler: ast.ExceptHandler) -> bool:
    """Return whether a handler catches a failing check and lets the test go on."""
    if handler.type is None:
        caught = {""}
    else:
        parts = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
        caught = {_dotted(each).rpartition(".")[2] for each in parts}
    if not caught & _BROAD:
        return False
    return not any(
        isinstance(each, ast.Raise) or _is_check(each) for stmt in handler.body for each in ast.walk(stmt)
    )


def _list_skips(nodes: Sequence[ast.expr]) -> list[tuple[str, bool]]:
    found = []
    for node in nodes:
        dotted = _dotted(_func(node))
        if _SKIP.search(dotted):
            found.append((dotted, _has_condition(node, dotted)))
    return found


def _has_condition(node: ast.expr, dotted: str) -> bool:
    if not isinstance(node, ast.Call):
        return False
    if dotted.endswith(("skipif", "skipIf", "skipUnless")):
        first = next(iter(node.args), None)
        return not (isinstance(first, ast.Constant) and not isinstance(first.value, str))
    if dotted.endswith("xfail"):
        return bool(node.args) or any(each.arg == "condition" for each in node.keywords)
    return False


def _list_facts(node: ast.AST) -> Iterator[str]:
    for each in ast.walk(node):
        match each:
            case ast.Constant():
                yield f"{type(each.value).__name__} {each.value!r}"
            case ast.Compare():
                yield from (type(operator).__name__ for operator in each.ops)
            case ast.BoolOp() | ast.UnaryOp():
                yield type(each.op).__name__
            case ast.Call() if _ASSERTING.search(name := _dotted(each.func).rpartition(".")[2]):
                yield name


def _list_wrappers(node: ast.AST) -> Iterator[str]:
    for each in ast.walk(node):
        if isinstance(each, ast.Call):
            if isinstance(each.func, ast.Name) and each.func.id in _LOOSE_CALLS:
                yield each.func.id
            elif isinstance(each.func, ast.Attribute) and each.func.attr in _LOOSE_METHODS:
                yield each.func.attr
        elif isinstance(each, ast.Slice):
            yield "slice"


def _list_tolerances(parts: Sequence[ast.AST]) -> Iterator[float]:
    for part in parts:
        for each in ast.walk(part):
            if isinstance(each, ast.Call):
                for keyword in each.keywords:
                    value = keyword.value
                    if isinstance(value, ast.Constant) and isinstance(value.value, int | float):
                        if keyword.arg in _TOLERANCES:
                            yield float(value.value)
                        elif keyword.arg in ("places", "decimal"):
                            yield 10.0 ** -float(value.value)
                if _dotted(each.func).endswith(("assertAlmostEqual", "approx", "isclose")) and not any(
                    each_.arg in _TOLERANCES or each_.arg == "places" for each_ in each.keywords
                ):
                    yield 1e-7
            elif isinstance(each, ast.Compare) and isinstance(each.ops[0], ast.Lt | ast.LtE):
                value = each.comparators[0]
                if (
                    isinstance(each.left, ast.Call)
                    and _dotted(each.left.func).endswith("abs")
                    and isinstance(value, ast.Constant)
                    and isinstance(value.value, int | float)
                ):
                    yield float(value.value)


def _dotted(node: ast.AST) -> str:
    if isinstance(node, ast.Attribute):
        return f"{_dotted(node.value)}.{node.attr}"
    if isinstance(node, ast.Name):
        return node.id
    return _dotted(node.func) if isinstance(node, ast.Call) else ""
