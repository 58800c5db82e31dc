"""Calls written as Python: `read(path="a.py")`, a list of them, or a block of nothing else."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Iterator
from typing import Any

from agent.model.text_calls.jsonish import FENCE
from agent.model.text_calls.known import Call, Candidate, Known

_LANGUAGES = frozenset({"", "python", "py", "tool_code", "tool_call", "tool", "tools", "action"})


def calls_in(code: str, known: Known) -> tuple[Call, ...]:
    """The calls of a piece of Python that is nothing but calls of known tools with plain values; else none."""
    if not any(f"{name}(" in re.sub(r"\s+\(", "(", code) for name in _spellings(code, known)):
        return ()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of an unknown escape, which would stand on the user's screen
            tree = ast.parse(code.strip())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    calls = list[Call]()
    for statement in tree.body:
        value = statement.value if isinstance(statement, ast.Expr | ast.Assign | ast.Return) else None
        if value is None:
            return ()
        for part in value.elts if isinstance(value, ast.List | ast.Tuple) else [value]:
            call = _call(part, known)
            if call is None:
                return ()
            calls.append(call)
    return tuple(calls)


def find(text: str, known: Known) -> Iterator[Candidate]:
    """Blocks, lists and lines that are nothing but calls."""
    fences = list(FENCE.finditer(text))
    for fence in fences:
        if fence[2].lower() in _LANGUAGES and (calls := calls_in(fence[3], known)):
            named = fence[2].lower().startswith("tool")
            yield Candidate(start=fence.start(), end=fence.end(), calls=calls, explicit=named)
    for begin in re.finditer(r"^[ \t]*(?=\[?\s*(?:print\()?[\w.]+\()", text, re.MULTILINE):
        if any(fence.start() <= begin.end() < fence.end() for fence in fences):
            continue
        end = _closed(text, begin.end())
        if end and not text[end:].partition("\n")[0].strip(" \t;"):
            calls = calls_in(text[begin.end() : end], known)
            if calls:
                yield Candidate(start=begin.start(), end=end, calls=calls, explicit=False)


def _spellings(code: str, known: Known) -> Iterator[str]:
    for written in re.findall(r"([A-Za-z_][\w-]*)\s*\(", code):
        if known.name(written):
            yield written


def _call(node: ast.expr, known: Known) -> Call | None:
    if isinstance(node, ast.Await):
        node = node.value
    if not isinstance(node, ast.Call):
        return None
    function = node.func
    written = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    if written == "print" and len(node.args) == 1 and not node.keywords:
        return _call(node.args[0], known)
    tool = known.name(written)
    if tool is None:
        return None
    names = list(known.properties(tool))
    arguments: dict[str, object] = {}
    try:
        if len(node.args) == 1 and isinstance(node.args[0], ast.Dict) and not node.keywords:
            return Call(tool, _value(node.args[0]))
        if len(node.args) > len(names):
            return None
        for name, value in zip(names, node.args, strict=False):
            arguments[name] = _value(value)
        for keyword in node.keywords:
            if keyword.arg is None or keyword.arg in arguments:
                return None
            arguments[keyword.arg] = _value(keyword.value)
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return None  # not plain values: something to be computed is no call
    return Call(tool, arguments)


def _value(node: ast.expr) -> Any:
    return _json(ast.literal_eval(node))


def _json(value: object) -> Any:
    """A value as JSON has it. Raises ValueError for what it has not: bytes, sets, and the `...` of an explanation."""
    match value:
        case None | str() | float():
            return value
        case int() if value.bit_length() <= 1024:
            return value
        case list() | tuple():
            return [_json(each) for each in value]
        case dict() if all(isinstance(key, str) for key in value):
            return {key: _json(each) for key, each in value.items()}
    raise ValueError(f"{type(value).__name__} is no value of JSON")


def _closed(text: str, at: int) -> int:
    """The place after the bracket that closes the first one, strings left aside; 0 if there is none."""
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
