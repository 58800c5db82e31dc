"""Results that a prompt shows in code: of the function that it sketches, or as assertions.

A session of an interpreter in a report shows what is wrong as often as what is right: it is not read. A function whose
body is its docstring is a sketch, and what the docstring shows is wanted.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from itertools import islice

from packages.search.requirements.stated_results import EQUALS, read_call
from sandbox.lazy_pattern import compile_lazily

MOST_LINES = 40
"""Lines of one call with its result."""

MOST_CALLS = 200
"""Calls that are looked at: brackets that never close cost time for each."""

_SKETCH = compile_lazily(
    r"^(?P<indent>[ \t]*)(?:async\s+)?def\s+(?P<name>\w+)\s*\((?:[^()]|\([^()]*\))*\)[^:\n]*:[ \t]*\n"
    r"\s*(?P<quotes>\"{3}|'{3})(?P<text>.*?)(?P=quotes)[ \t]*\n?(?P<after>[^\n]*)",
    re.MULTILINE | re.DOTALL,
)
_BODY = compile_lazily(r"^\s+(?!pass\b|\.\.\.|raise NotImplementedError|#|$)\S|^```\S")
_CALL = compile_lazily(r"^[ \t]*(?:(?P<mark>>>>|assert\b)[ \t]*)?(?P<name>[A-Za-z_]\w*) ?\(", re.MULTILINE)
_ARROW = compile_lazily(r"[ \t]*(?:==>?|=>|-+>|=(?![=>])|➞|→)[ \t]*")
_OPEN, _CLOSED = "([{", ")]}"


def find_examples(prompt: str) -> Iterator[str]:
    """Yield `call == value` of each example, in the order of the text."""
    for sketch in _SKETCH.finditer(prompt):
        if _BODY.match(sketch["after"]):
            continue
        for match in islice(_CALL.finditer(sketch["text"]), MOST_CALLS):
            if match["name"] == sketch["name"] or match["mark"]:
                yield from _read_example(sketch["text"], match)


def find_assertions(text: str) -> Iterator[str]:
    """Yield `call == value` of each line that asserts it, of the first `MOST_CALLS`."""
    asserted = (match for match in _CALL.finditer(text) if match["mark"] == "assert")
    for match in islice(asserted, MOST_CALLS):
        yield from _read_example(text, match)


def _read_example(text: str, match: re.Match[str]) -> Iterator[str]:
    start = match.start("name")
    if (end := _find_end(text, start)) is None or (call := read_call(text[start:end])) is None:
        return
    rest = text[end:]
    if arrow := _ARROW.match(rest):
        value = _read_literal(rest[arrow.end() :])
    elif match["mark"] == ">>>" and rest[:1] == "\n":
        value = _read_literal(rest[1:].lstrip(" \t"))
    else:
        return
    if value is not None:
        yield f"{call.text}{EQUALS}{value}"


def _find_end(text: str, start: int) -> int | None:
    """Return the place after the bracket that closes the first one of a call; strings are passed over."""
    depth, quote, place, last = 0, "", start, start + 80 * MOST_LINES
    while place < min(len(text), last):
        letter = text[place]
        if quote:
            if letter == "\\":
                place += 1
            elif letter == quote:
                quote = ""
        elif letter in "'\"":
            quote = letter
        elif letter in _OPEN:
            depth += 1
        elif letter in _CLOSED:
            depth -= 1
            if depth <= 0:
                return place + 1 if depth == 0 else None
        place += 1
    return None


def _read_literal(text: str) -> str | None:
    """Return the literal that a line is, several lines if its brackets go on; without a stop or remark behind it."""
    end = _find_end(text, 0) if text[:1] in _OPEN and text[:1] else None
    line = text[:end] if end is not None else text.partition("\n")[0]
    behind = text[end:].partition("\n")[0].strip() if end is not None else ""
    if behind and not re.match(r"[#.,;]|\([A-Za-z]", behind):
        line += text[end:].partition("\n")[0]  # it goes on, as `[1] + [2]` does
    line = line.strip()
    for each in (line, line.partition("  #")[0].strip(), line.rstrip(".;,")):
        try:
            node = ast.parse(each, mode="eval").body
            ast.literal_eval(node)
        except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError):
            continue
        return ast.unparse(node)
    return None
