"""Proposals in a reply: the number of a candidate, or code that replaces a function or the suspect lines."""

from __future__ import annotations

import ast
import re
import textwrap
from collections.abc import Iterator

from packages.offline.lead.suspects import iter_functions
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

_FENCE = compile_lazily(r"^[ \t]*(`{3,}|~{3,})[^\n]*\n(.*?)(?:^[ \t]*\1[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
_BARE = compile_lazily(r"^(?:@|(?:async )?def |class )", re.MULTILINE)
_NUMBERED = compile_lazily(r"^[ \t]*[0-9]+(?:\t|:[ \t]?|[ \t]*[|│][ \t]?)")
_CHOICE = compile_lazily(
    r"^\W*(?:(?:i |we )?(?:choose|pick|select|answer|option|candidate|number|no)\b[^0-9\n]{0,20})?"
    r"([1-9])\b(?!\s*[+/=-]|\s*\*\s*\w)",
    re.IGNORECASE,
)

LONGEST_CHOICE = 60
"""Characters of a reply that is nothing but a choice."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """Code of a reply. name: of the function or class that it defines, "" for lines without a definition"""

    name: str
    code: str


def find_choice(text: str, count: int) -> int | None:
    """Return the number from 1 to `count` that a short reply chooses; None if it chooses none."""
    words = text.strip()
    match = _CHOICE.match(words)
    if match is None or len(words) > LONGEST_CHOICE or int(match[1]) > count:
        return None
    return int(match[1])


def find_blocks(text: str) -> list[Block]:
    """Return the code blocks of a reply, one per function; of unfenced text, what begins like a definition."""
    bodies = [match[2] for match in _FENCE.finditer(text)]
    if not bodies and (bare := _BARE.search(text)):
        bodies = [text[bare.start() :]]
    return [block for body in bodies for block in _split_body(_clean(body))]


def find_syntax_error(code: str) -> str:
    """Return what is wrong with Python code, "" if it parses."""
    try:
        ast.parse(textwrap.dedent(code))
    except (SyntaxError, ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        return f"line {line}: {getattr(error, 'msg', error)}" if line else str(error)
    return ""


def _clean(body: str) -> str:
    """Return code without what weak models copy with it: line numbers, and the marks of a diff."""
    lines = body.rstrip().replace("\r\n", "\n").split("\n")  # as the syntax tree counts them
    written = [line for line in lines if line.strip()]
    if written and all(_NUMBERED.match(line) for line in written):
        lines = [_NUMBERED.sub("", line) for line in lines]
    marked = [line[:1] in "+-" for line in lines if line]
    if any(marked) and all(line[:1] in "+- @" for line in lines if line):
        kept = [line for line in lines if not line.startswith(("-", "@@"))]
        lines = [line[1:] if line[:1] in ("+", " ") else line for line in kept]
    return textwrap.dedent("\n".join(lines)).rstrip()


def _split_body(code: str) -> Iterator[Block]:
    """Yield the functions of a block; the whole of it where none is defined at its top, or it does not parse."""
    if not code.strip():
        return
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError):
        if (trimmed := _drop_prose(code)) != code:
            yield from _split_body(trimmed)
            return
        name = re.search(r"^\s*(?:async )?def (\w+)", code, re.MULTILINE)
        yield Block(name=name[1] if name else "", code=code)
        return
    found = list(iter_functions(tree.body, code.split("\n")))
    for each in found:
        yield Block(name=each.symbol, code=textwrap.dedent(each.source))
    if not found:
        yield Block(name="", code=code)


def _drop_prose(code: str) -> str:
    """Return unfenced code without the prose after it: lines at its left that begin no definition."""
    lines = code.split("\n")
    for number, line in enumerate(lines[1:], 1):
        if line[:1].strip() and not re.match(r"@|(?:async )?def |class |[)\]}]|#", line):
            return "\n".join(lines[:number]).rstrip()
    return code
