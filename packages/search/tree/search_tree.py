"""Tree of attempts: which one is gone on from next, by upper confidence bounds (UCT; SWE-Search, CodeTree).

The children of the root are strategies, each an attempt at the whole task that begins in its own way; below each
attempt are its refinements. A node may be gone on from as often as its value deserves; a closed one is not. A node that
is no better than the one before it is a plateau, and closed. Where nothing was mended at all, half of the new
beginnings are told how an earlier attempt failed, and half know nothing of each other.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import field

from sandbox.lazy_dataclass import dataclass

EXPLORE = 0.5
"""Weight of what is unknown against what was good: values lie between 0 and 1, and few nodes are made."""

WIDEN = 1.0
"""Children of a node after n visits: WIDEN × √n; then the ones it has are gone on from first."""

MOST_REFINEMENTS = 3
"""Refinements of one attempt: each is told the same facts."""


@dataclass(slots=True, kw_only=True)
class Node:
    """One state of the project, and what its subtree came to.

    number: of the attempt that made it, 0 for the root; value: of its state, from 0 to 1, None until it has one
    opinion: a judge's number, which orders nodes of equal bounds
    closed: it is not gone on from; its children may be; leads_nowhere: it mended nothing
    """

    number: int
    parent: Node | None = None
    value: float | None = None
    total: float = 0.0
    visits: int = 0
    opinion: float = 0.0
    closed: bool = False
    leads_nowhere: bool = False
    children: list[Node] = field(default_factory=list)

    @property
    def depth(self) -> int:
        """How many attempts lead to it."""
        return 0 if self.parent is None else self.parent.depth + 1

    @property
    def line(self) -> list[Node]:
        """The attempts that lead to it, itself the last; without the root."""
        return [] if self.parent is None else [*self.parent.line, self]

    @property
    def mean(self) -> float:
        """Mean value of its subtree."""
        return self.total / self.visits if self.visits else 0.0


@dataclass(slots=True)
class SearchTree:
    """The nodes of one turn. root: the state that the turn began with"""

    root: Node = field(default_factory=lambda: Node(number=0, value=0.0))

    def __iter__(self) -> Iterator[Node]:
        """Yield all nodes but the root, parents first."""
        waiting = list(self.root.children)
        while waiting:
            node = waiting.pop(0)
            yield node
            waiting.extend(node.children)

    def select(self) -> Node | None:
        """Return the node that is gone on from next; None if each one is closed."""
        node = self.root
        if not _is_open(node):
            return None
        while True:
            open_children = [each for each in node.children if _is_open(each)]
            if _can_widen(node) or not open_children:
                return node
            node = max(open_children, key=lambda each: (_compute_bound(each), each.opinion, -each.number))

    def add(self, number: int, parent: Node) -> Node:
        """Add the node of an attempt that begins; until it has a value, it counts as a visit that was worth nothing."""
        node = Node(number=number, parent=parent)
        parent.children.append(node)
        for each in _iterate_up(node):
            each.visits += 1
        return node

    def find_untold(self) -> Node | None:
        """Return the newest node that mended nothing, if the next new beginning is to be told of it."""
        dead = [each for each in self if each.leads_nowhere]
        told = sum(bool(each.children) for each in dead)
        waiting = [each for each in dead if not each.children]
        newest = max(waiting, key=lambda each: each.number, default=None)
        return newest if told < len(self.root.children) - 1 else None

    def record(self, node: Node, value: float, *, is_promising: bool = True) -> None:
        """Give a node its value, and count it in each node above. is_promising: it may be gone on from"""
        node.value = value
        node.leads_nowhere = not is_promising
        before = node.parent.value if node.parent is not None and not node.parent.leads_nowhere else None
        node.closed |= not is_promising or (before is not None and value <= before)
        for each in _iterate_up(node):
            each.total += value


def _is_open(node: Node) -> bool:
    return (not node.closed and node.value is not None and _has_room(node)) or any(
        map(_is_open, node.children)
    )


def _has_room(node: Node) -> bool:
    return node.parent is None or len(node.children) < MOST_REFINEMENTS


def _can_widen(node: Node) -> bool:
    """Whether a node may get one more child now."""
    if node.closed or node.value is None or not _has_room(node):
        return False
    return len(node.children) < WIDEN * math.sqrt(max(1, node.visits))


def _compute_bound(node: Node) -> float:
    above = node.parent.visits if node.parent is not None else 1
    return node.mean + EXPLORE * math.sqrt(math.log(max(2, above)) / max(1, node.visits))


def _iterate_up(node: Node) -> Iterator[Node]:
    above: Node | None = node
    while above is not None:
        yield above
        above = above.parent
