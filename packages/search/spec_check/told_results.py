"""Results that a prompt demands for a call: "f(2) must return 5", "so that f(2) == 5", "f(0) should raise ValueError".

The present tense demands nothing: "f(2) returns 4" is as often what is wrong.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from agent.prompt.prompt_text import remove_quoted_text
from packages.search.requirements.extraction import split_sentences
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

_CALL = r"(?P<call>[A-Za-z_][\w.]*\((?:[^()\n`]|\([^()\n`]*\))*\))"
_VALUE = (
    r"(?P<value>-?\d+(?:\.\d+)?|True|False|None|\"[^\"\n]*\"|'[^'\n]*'|\[[^\]\n]*\]|\{[^}\n]*\}|\([^()\n]*\))"
    r"(?!\w)"
)
_MUST = r"(?:must|should|shall|has to|needs to|is to|to)"
_RETURNS = compile_lazily(
    rf"(?<![\w.]){_CALL}`?\s*(?:{_MUST}\s+(?:return|be|give|equal|yield)|(?P<form>==|→|->))\s*`?{_VALUE}"
    r"(?=(?P<rest>.{0,30}))"
)
_WANTED = compile_lazily(
    r"\b(?:must|should|shall|so that|such that|until|ensure|make sure|make|want|expect(?:ed)?|has to|needs? to)\b",
    re.IGNORECASE,
)
"""Words that make an equation a demand: alone it may tell what is wrong today."""

_HOWEVER = compile_lazily(
    r"[`,\s]*\b(?:but|instead|although|though|which is|and not|rather than)\b", re.IGNORECASE
)
_RAISES = compile_lazily(
    rf"(?<![\w.]){_CALL}`?\s*{_MUST}\s+raise\s+(?:an?\s+)?"
    r"`?(?P<error>[A-Z]\w*(?:Error|Exception|Warning|Interrupt|Exit|Iteration))"
)
_TODAY = compile_lazily(
    r"\b(?:now|today|currently|actually|at present|instead of|wrongly|but)\b(?:\s+\w+){0,3}\s*$",
    re.IGNORECASE,
)
"""Words before a call that tell what it does today; words after it are part of another clause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToldResult:
    """What a call gives, as a text tells it.

    name: of the function, its last part; arguments: as `ast.unparse` writes them
    value: source of the literal, "" for an error; error: name of an exception
    """

    name: str
    arguments: str
    value: str = ""
    error: str = ""
    sentence: str = ""

    @property
    def call(self) -> str:
        """The call in its shortest form."""
        return f"{self.name}({self.arguments})"


def find_told_results(prompt: str) -> list[ToldResult]:
    """Return the results that the sentences of a prompt demand, one for each call; contradictory ones all."""
    found: list[ToldResult] = []
    for sentence in split_sentences(remove_quoted_text(prompt)):
        for match in _RETURNS.finditer(sentence):
            if _TODAY.search(sentence[: match.start()]) or _is_report(match, sentence):
                continue
            if (call := read_call(match["call"])) and (value := normalise_literal(match["value"])):
                found.append(ToldResult(name=call[0], arguments=call[1], value=value, sentence=sentence))
        for match in _RAISES.finditer(sentence):
            if not _TODAY.search(sentence[: match.start()]) and (call := read_call(match["call"])):
                found.append(
                    ToldResult(name=call[0], arguments=call[1], error=match["error"], sentence=sentence)
                )
    return list(dict.fromkeys(found))


def _is_report(match: re.Match[str], sentence: str) -> bool:
    """Return whether an equation tells how things are, and not how they have to be."""
    if match["form"] is None:
        return False
    return not _WANTED.search(sentence[: match.start()]) or bool(_HOWEVER.match(match["rest"]))


def read_call(source: str) -> tuple[str, str] | None:
    """Return (function, arguments) of a call whose arguments are all literals; None for any other."""
    try:
        node = ast.parse(source, mode="eval").body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    return split_call(node)


def split_call(node: ast.expr) -> tuple[str, str] | None:
    """Return (function, arguments) of a call whose arguments are all literals."""
    if not isinstance(node, ast.Call):
        return None
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    parts = list(_format_arguments(node))
    return (name, ", ".join(parts)) if name and all(parts) else None


def _format_arguments(node: ast.Call) -> Iterator[str]:
    for each in node.args:
        yield _format_literal(each)
    for keyword in sorted(node.keywords, key=lambda each: each.arg or ""):
        text = _format_literal(keyword.value)
        yield f"{keyword.arg}={text}" if keyword.arg and text else ""


def _format_literal(node: ast.expr) -> str:
    try:
        return repr(ast.literal_eval(node))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return ""


def normalise_literal(source: str) -> str:
    """Return a literal as `repr` writes it, "" if it is none."""
    try:
        return repr(ast.literal_eval(source))
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return ""
