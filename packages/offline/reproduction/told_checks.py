"""Whether a report tells what a model's script expects: a small model makes expectations up, and any of them fails."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import suppress

from packages.offline.reproduction.report.text_elements import parse_code
from sandbox.lazy_pattern import compile_lazily

TELLING = 3
"""Characters of a text, as written, that a script has by more than chance in common with the report."""

_RAISING = compile_lazily(
    r"\b(?:rais|error|exception|throw|reject|refus|invalid|disallow|forbid|not allowed|should fail|must fail)",
    re.IGNORECASE,
)
"""Words of a report in which something has to be refused."""


def find_untold_expectation(script: str, report: str) -> str:
    """Return what a script expects and the report does not tell, "" if it tells all of it.

    A check without a literal (of a property) needs an input in the report's words.
    """
    tree = parse_code(script)
    if tree is None:
        return ""
    values = _find_single_values(tree)
    has_literal = False
    for node in ast.walk(tree):
        if _expects_exception(node) and not _RAISING.search(report):
            return "that an exception is raised"
        if (name := _find_raised(node)) and not is_told(name, report):
            return f"the {name} that the script raises itself"
        for operand in _list_operands(node):
            resolved = values.get(operand.id) if isinstance(operand, ast.Name) else operand
            if resolved is None:
                continue
            with suppress(ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
                value = ast.literal_eval(resolved)
                has_literal = True
                if not is_told(value, report):
                    return ast.unparse(resolved)[:200]
    if has_literal or any(_expects_exception(node) for node in ast.walk(tree)):
        return ""
    texts = [
        node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and node.value is not None
    ]
    telling = [each for each in texts if len(str(each)) >= TELLING and not isinstance(each, bool)]
    return "" if not telling or any(is_told(each, report) for each in telling) else "an input of its own"


def is_told(value: object, report: str) -> bool:
    """Return whether a report has a value's text; of a collection each of its members."""
    if isinstance(value, Mapping):
        value = [*value.keys(), *value.values()]
    if isinstance(value, list | tuple | set | frozenset):
        is_shown = not value and re.search(r"\[\]|\(\)|\{\}|\bempty\b", report)
        return bool(is_shown) or (bool(value) and all(is_told(each, report) for each in value))
    if isinstance(value, bytes):
        value = value.decode("latin-1")
    if isinstance(value, str):
        plain = " ".join(value.split())
        if not plain:
            return bool(re.search(r"''|\"\"|\bempty\b", report))
        return bool(re.search(rf"(?<!\w){re.escape(plain)}(?!\w)", " ".join(report.split())))
    return bool(re.search(rf"(?<![\w.]){re.escape(repr(value))}(?!\w|\.\d)", report, re.IGNORECASE))


def _list_operands(node: ast.AST) -> Iterator[ast.expr]:
    """Yield what an assertion compares."""
    if isinstance(node, ast.Assert):
        test = node.test.operand if isinstance(node.test, ast.UnaryOp) else node.test
        if isinstance(test, ast.Compare):
            yield from (test.left, *test.comparators)
    elif isinstance(node, ast.Call) and _is_own_assertion(node):
        yield from node.args[:2]


def _is_own_assertion(call: ast.Call) -> bool:
    """Return whether a call is a method like `assertEqual`."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    return name.startswith("assert") and "Raises" not in name


def _expects_exception(node: ast.AST) -> bool:
    """Return whether a statement fails if nothing is raised."""
    if isinstance(node, ast.Assert):
        return isinstance(node.test, ast.Constant) and not node.test.value
    if isinstance(node, ast.Raise):
        return _find_raised(node, "") == "AssertionError"
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        return node.func.attr in ("raises", "assertRaises", "assertRaisesRegex", "fail")
    return False


def _find_raised(node: ast.AST, own: str = "AssertionError") -> str:
    """Return the last name of the exception that a statement raises; "" of none, and of a script's `own` one."""
    exception = node.exc if isinstance(node, ast.Raise) else None
    kind = exception.func if isinstance(exception, ast.Call) else exception
    name = kind.attr if isinstance(kind, ast.Attribute) else kind.id if isinstance(kind, ast.Name) else ""
    return name if name != own else ""


def _find_single_values(tree: ast.AST) -> dict[str, ast.expr]:
    """Return the values of names that are bound once, by a plain assignment."""
    bound = Counter(
        node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    )
    return {
        node.targets[0].id: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Name)
        and bound[node.targets[0].id] == 1
    }
