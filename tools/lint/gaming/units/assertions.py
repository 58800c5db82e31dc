"""Assertions of tests, with their facts: literals, comparisons and assertion methods, but no names."""

from __future__ import annotations

from collections import Counter
from dataclasses import field

from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

_LINE_FACTS = compile_lazily(
    r"""("[^"]*"|'[^']*'|`[^`]*`|\b\d[\w.]*|[=!<>]=+|[<>]|\|\||&&|\b(?:true|false|null|nil|None|True|False)\b"""
    r"""|\b(?:to[A-Z]\w+|assert\w*|fail\w*)\b)"""
)


@dataclass(slots=True, kw_only=True)
class Check:
    """One assertion of a test. facts: its content apart from names; owner: the qualified name of its function"""

    owner: str
    line: int
    text: str
    facts: Counter[str] = field(default_factory=Counter)


def extract_line_facts(line: str) -> Counter[str]:
    """Return the facts of a line of any language apart from names: its literals, operators and assertion methods."""
    return Counter(_LINE_FACTS.findall(line))
