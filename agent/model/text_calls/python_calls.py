"""Calls written as Python: `read(path="a.py")`, a list of them, or a block of nothing else."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from typing import Any

from agent.model.text_calls.json_calls import FENCE
from agent.model.text_calls.known_tools import Call, Candidate, KnownTools

_LANGUAGES = frozenset({"", "python", "py", "tool_code", "tool_call", "tool", "tools", "action"})


def parse_python_calls(code: str, known: KnownTools) -> tuple[Call, ...]:
    """Return the calls in Python code that consists of calls of known tools with plain values; else none."""
    if not any(f"{name}(" in re.sub(r"\s+\(", "(", code) for name in _iter_known_names(code, known)):
        return ()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of an unknown escape, which would appear on the user's screen
            tree = ast.parse(code.strip())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    calls = list[Call]()
    for statement in tree.body:
        value = statement.value if isinstance(statement, ast.Expr | ast.Assign | ast.Return) else None
        if value is None:
            return ()
        for part in value.elts if isinstance(value, ast.List | ast.Tuple) else [value]:
            call = _parse_call(part, known)
            if call is None:
                return ()
            calls.append(call)
    return tuple(calls)


def find_candidates(text: str, known: KnownTools) -> Iterator[Candidate]:
    """Yield blocks, lists and lines that are nothing but calls."""
    fences = list(FENCE.finditer(text))
    for fence in fences:
        if fence[2].lower() in _LANGUAGES and (calls := parse_python_calls(fence[3], known)):
            named = fence[2].lower().startswith("tool")
            yield Candidate(start=fence.start(), end=fence.end(), calls=calls, explicit=named)
    for begin in re.finditer(r"^[ \t]*(?=\[?\s*(?:print\()?[\w.]+\()", text, re.MULTILINE):
        if any(fence.start() <= begin.end() < fence.end() for fence in fences):
            continue
        end = _find_closing_bracket(text, begin.end())
        if end and not text[end:].partition("\n")[0].strip(" \t;"):
            calls = parse_python_calls(text[begin.end() : end], known)
            if calls:
                yield Candidate(start=begin.start(), end=end, calls=calls, explicit=False)


def _iter_known_names(code: str, known: KnownTools) -> Iterator[str]:
    for written in re.findall(r"([A-Za-z_][\w-]*)\s*\(", code):
        if known.resolve_name(written):
            yield written


def _parse_call(node: ast.expr, known: KnownTools) -> Call | None:
    if isinstance(node, ast.Await):
        node = node.value
    if not isinstance(node, ast.Call):
        return None
    function = node.func
    written = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if written == "print" and len(node.args) == 1 and not node.keywords:
        return _parse_call(node.args[0], known)
    tool = known.resolve_name(written)
    if tool is None:
        return None
    names = list(known.argument_schemas(tool))
    arguments: dict[str, object] = {}
    try:
        if len(node.args) == 1 and isinstance(node.args[0], ast.Dict) and not node.keywords:
            return Call(tool, _evaluate_literal(node.args[0]))
        if len(node.args) > len(names):
            return None
        for name, value in zip(names, node.args, strict=False):
            arguments[name] = _evaluate_literal(value)
        for keyword in node.keywords:
            if keyword.arg is None or keyword.arg in arguments:
                return None
            arguments[keyword.arg] = _evaluate_literal(keyword.value)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None  # not plain values: an expression is no call
    return Call(tool, arguments)


def _evaluate_literal(node: ast.expr) -> Any:
    return _to_json_value(ast.literal_eval(node))


def _to_json_value(value: object) -> Any:
    """Return a value as JSON. Raises ValueError for bytes, sets, and the `...` of an explanation."""
    match value:
        case None | str() | float():
            return value
        case int() if value.bit_length() <= 1024:
            return value
        case list() | tuple():
            return [_to_json_value(each) for each in value]
        case dict() if all(isinstance(key, str) for key in value):
            return {key: _to_json_value(each) for key, each in value.items()}
    raise ValueError(f"{type(value).__name__} is no value of JSON")


def _find_closing_bracket(text: str, at: int) -> int:
    """Return the index after the bracket that closes the first one, ignoring strings; 0 if there is none."""
    depth, quote = 0, ""
    while at < len(text):
        if quote:
            if text[at] == "\\":
                at += 2
                continue
            if text.startswith(quote, at):
                at += len(quote)
                quote = ""
                continue
            if text[at] == "\n" and len(quote) == 1:
                return 0
        elif text.startswith(('"""', "'''"), at):
            quote = text[at : at + 3]
            at += 3
            continue
        elif text[at] in "\"'":
            quote = text[at]
        elif text[at] in "([{":
            depth += 1
        elif text[at] in ")]}":
            depth -= 1
            if depth == 0:
                return at + 1
        at += 1
    return 0
