"""Checks of a function's results: assertions and examples, as calls with an expected value where they say one."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from packages.search.programs.behaviour import compute_value_key
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

SEPARATOR = compile_lazily(r"\s*(?:==|=+>|-+>|➞|→|➝|⇒|#\s*=>|=|(?:should |will |must )?returns?:?)\s*")
"""What stands between a call and its result in the prose of examples."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Check:
    """One check of a function.

    text: the statement; call: its arguments as text of a literal, "" if it is no comparison with one call
    expected: key of the expected value
    count: how often it was written, for checks that a model sampled
    """

    text: str
    call: str = ""
    expected: str = ""
    count: int = 1


def parse_checks(text: str, function: str) -> list[Check]:
    """Return the assertions and examples in a text: Python source, or prose with examples."""
    found = list(_parse_source(text, function)) or [
        *_parse_assertion_lines(text, function),
        *parse_examples(text, function),
    ]
    return list({(each.call, each.expected) if each.call else each.text: each for each in found}.values())


def parse_assertion(text: str, function: str) -> Check | None:
    """Return the check of an assert statement; None if it is no Python or does not mention the function."""
    try:
        body = ast.parse(text.strip()).body
    except (SyntaxError, ValueError, MemoryError, RecursionError):  # ends anywhere, if a model wrote it
        return None
    if len(body) != 1 or not isinstance(body[0], ast.Assert):
        return None
    return _read_assertion(body[0], function)


def parse_examples(text: str, function: str) -> Iterator[Check]:
    """Yield examples: `>>> f(1)` with its result on the next line, and `f(1) -> 2` with any usual arrow."""
    lines = text.split("\n")
    for number, line in enumerate(lines):
        for match in re.finditer(rf"\b{re.escape(function)}\(", line):
            end = _find_closing(line, match.end() - 1)
            if end < 0:
                continue
            call, rest = line[match.start() : end + 1], line[end + 1 :]
            if ">>>" in line[: match.start()] and not rest.strip():
                rest = f"-> {lines[number + 1].strip()}" if number + 1 < len(lines) else ""
            separator = SEPARATOR.match(rest)
            if separator is None:
                continue
            value = _read_leading_literal(rest[separator.end() :])
            check = parse_assertion(f"assert {call} == {value}", function) if value else None
            if check is not None and check.call:
                yield check


def _parse_source(text: str, function: str) -> Iterator[Check]:
    """Yield checks of assert statements anywhere in Python source, and of doctests in it."""
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError):
        return
    asserts = [each for each in ast.walk(tree) if isinstance(each, ast.Assert)]
    for each in asserts:
        if (check := _read_assertion(each, function)) is not None:
            yield check
    if asserts or any(isinstance(each, ast.FunctionDef) for each in tree.body):
        yield from parse_examples(text, function)


def _parse_assertion_lines(text: str, function: str) -> Iterator[Check]:
    for line in text.split("\n"):
        if line.lstrip().startswith("assert"):
            check = parse_assertion(line, function)
            if check is not None:
                yield check


def _read_assertion(node: ast.Assert, function: str) -> Check | None:
    names = {each.id for each in ast.walk(node.test) if isinstance(each, ast.Name)}
    if function not in names:
        return None
    call, expected = _split_comparison(node.test, function)
    return Check(text=f"assert {ast.unparse(node.test)}", call=call, expected=expected)


def _split_comparison(test: ast.expr, function: str) -> tuple[str, str]:
    """Return (arguments, expected key) of a comparison of one call with a literal, else ("", "")."""
    match test:
        case ast.Compare(left=left, ops=[ast.Eq() | ast.Is()], comparators=[right]):
            sides = [(left, right), (right, left)]
        case ast.Compare(
            left=left, ops=[ast.In()], comparators=[ast.List(elts=[right]) | ast.Tuple(elts=[right])]
        ):
            sides = [(left, right)]
        case ast.UnaryOp(op=ast.Not(), operand=left):
            sides = [(left, ast.Constant(False))]
        case ast.Call():
            sides = [(test, ast.Constant(True))]
        case _:
            return "", ""
    for call, value in sides:
        arguments = read_call(call, function)
        if arguments:
            try:
                return arguments, compute_value_key(ast.literal_eval(value))
            except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):  # no literal
                return "", ""
    return "", ""


def read_call(node: ast.AST, function: str) -> str:
    """Return the arguments of a call of the function as text of a literal; "" if they are none."""
    match node:
        case ast.Call(func=ast.Name(id=name) | ast.Attribute(attr=name), args=args, keywords=keywords):
            if name != function or any(each.arg is None for each in keywords):
                return ""
            try:
                positional = [ast.literal_eval(each) for each in args]
                named = {str(each.arg): ast.literal_eval(each.value) for each in keywords}
            except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
                return ""
            return repr((positional, named))
    return ""


def _find_closing(line: str, start: int) -> int:
    """Return the place of the bracket that closes the one at start, outside of strings; -1 if there is none."""
    depth, quote = 0, ""
    for place in range(start, len(line)):
        letter = line[place]
        if quote:
            quote = "" if letter == quote and line[place - 1] != "\\" else quote
        elif letter in "\"'":
            quote = letter
        elif letter in "([{":
            depth += 1
        elif letter in ")]}":
            depth -= 1
            if not depth:
                return place
    return -1


def _read_leading_literal(text: str) -> str:
    """Return the longest literal with which a text begins, "" for none; a sentence may follow it."""
    text = text.strip().rstrip("\\")
    ends = [len(text), *(m.start() for m in re.finditer(r"[\s.;,)#]", text))][:60]
    for end in sorted(ends, reverse=True):
        try:
            ast.literal_eval(text[:end].strip())
        except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):  # no literal
            continue
        return text[:end].strip()
    return ""
