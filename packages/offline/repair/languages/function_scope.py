"""Input and output of language-independent templates: a suspicious function, and changes of its bytes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from packages.offline.repair.languages.parsed_source import ParsedFile, get_text
from packages.offline.repair.languages.tree_nodes import (
    CALLS,
    get_condition,
    get_line,
    get_operator,
    is_callee,
    is_value,
)
from sandbox.lazy_dataclass import dataclass
from tools.code.symbols import Definition

if TYPE_CHECKING:
    from tree_sitter import Node


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """Replacement of a file's bytes by a text. why: part of a sentence for the user"""

    start: int
    end: int
    text: str
    why: str
    line: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """prior: how often such a change is right, relative to others; precision: the same when the tests pass"""

    name: str
    prior: float
    precision: float
    changes: Callable[[Scope], Iterator[Change]]


class Scope:
    """A suspicious function and its parts."""

    def __init__(self, code: ParsedFile, function: Definition) -> None:
        self.code, self.function = code, function
        self.nodes = list(code.iter_nodes(function.own_first, function.last))
        self.binaries = [
            n for n in self.nodes if n.type == "binary_expression" and get_operator(n) is not None
        ]
        self.calls = [n for n in self.nodes if n.type in CALLS]
        self.conditions = [c for n in self.nodes if (c := get_condition(n)) is not None]
        self.values = [n for n in self.nodes if is_value(n)]

    @property
    def variables(self) -> list[str]:
        """Names that are read or written here, the most used first."""
        counted = Counter(get_text(n) for n in self.nodes if n.type == "identifier" and not is_callee(n))
        return [name for name, _ in sorted(counted.items(), key=lambda each: (-each[1], each[0]))]

    def create_change(self, node: Node, new: str, why: str) -> Change:
        return Change(start=node.start_byte, end=node.end_byte, text=new, why=why, line=get_line(node))

    def exchange_nodes(self, one: Node, other: Node, why: str) -> Change:
        """Return the change that exchanges two nodes, the earlier first; the text between them stays."""
        between = self.code.source[one.end_byte : other.start_byte].decode("utf-8", "replace")
        return Change(
            start=one.start_byte,
            end=other.end_byte,
            text=f"{get_text(other)}{between}{get_text(one)}",
            why=why,
            line=get_line(one),
        )
