"""Inputs for the QuixBugs programs, drawn by what each program demands: sorted lists, trees, real node graphs.

The published tests are few; two programs that agree on some hundreds of these are taken for equal.
Runs in the sandbox beside the judge, standard library only.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from random import Random
from typing import Any


class Node:
    """What the graph programs look at, attribute for attribute."""

    def __init__(self, value: str) -> None:
        self.value = value
        self.successor: Node | None = None
        self.successors: list[Node] = []
        self.predecessors: list[Node] = []
        self.incoming_nodes: list[Node] = []
        self.outgoing_nodes: list[Node] = []

    def __lt__(self, other: Node) -> bool:  # a heap of (distance, node) compares nodes on a tie
        return self.value < other.value


def ints(draw: Random, most: int = 8, low: int = -20, high: int = 20, least: int = 0) -> list[int]:
    return [draw.randint(low, high) for _ in range(draw.randint(least, most))]


def word(draw: Random, most: int = 7, letters: str = "abcd") -> str:
    return "".join(draw.choice(letters) for _ in range(draw.randint(0, most)))


def _bucketsort(draw: Random) -> list[Any]:
    k = draw.randint(1, 15)
    return [ints(draw, 12, 0, k - 1), k]


def _sorted(draw: Random) -> list[Any]:
    array = sorted(ints(draw, 10, 0, 12))
    return [array, draw.randint(-1, 13)]


def _nested(draw: Random, depth: int = 3) -> list[Any]:
    return [
        _nested(draw, depth - 1) if depth and draw.random() < 0.4 else draw.randint(0, 9)
        for _ in range(draw.randint(0, 4))
    ]


def _hanoi(draw: Random) -> list[Any]:
    return [draw.randint(0, 6), *draw.sample([1, 2, 3], 2)]


def _kheapsort(draw: Random) -> list[Any]:
    k = draw.randint(0, 4)
    array = sorted(ints(draw, 10))
    for place in range(
        0, max(0, len(array) - k), k + 1
    ):  # nothing is more than k places from where it belongs
        part = array[place : place + k + 1]
        draw.shuffle(part)
        array[place : place + k + 1] = part
    return [array, k]


def _knapsack(draw: Random) -> list[Any]:
    items = [[draw.randint(1, 12), draw.randint(1, 30)] for _ in range(draw.randint(0, 7))]
    return [draw.randint(0, 40), items]


def _kth(draw: Random) -> list[Any]:
    array = ints(draw, 10, 0, 12, 1)
    return [array, draw.randrange(len(array))]


def _next_palindrome(draw: Random) -> list[Any]:
    half = [draw.choice([0, 1, 8, 9, 9]) for _ in range(draw.randint(0, 3))]
    middle = [draw.choice([1, 9, 4])] if draw.random() < 0.5 or not half else []
    whole = half + middle + half[::-1]
    whole[0] = whole[-1] = whole[0] or 9
    return [whole]


def _next_permutation(draw: Random) -> list[Any]:
    permutation = draw.sample(range(10), draw.randint(2, 7))
    return [permutation if permutation != sorted(permutation, reverse=True) else sorted(permutation)]


def _rpn(draw: Random, depth: int = 3) -> list[Any]:
    if not depth or draw.random() < 0.3:
        return [float(draw.randint(1, 9))]
    return [*_rpn(draw, depth - 1), *_rpn(draw, depth - 1), draw.choice("+-*/")]


def _infix(draw: Random) -> list[Any]:
    tokens: list[Any] = [draw.randint(0, 99)]
    for _ in range(draw.randint(0, 6)):
        tokens += [draw.choice("+-*/"), draw.randint(0, 99)]
    return tokens if draw.random() < 0.95 else []


def _subsequences(draw: Random) -> list[Any]:
    low = draw.randint(-3, 5)
    return [low, low + draw.randint(-1, 6), draw.randint(0, 4)]


def _wrap(draw: Random) -> list[Any]:
    text = " ".join(word(draw, 9, "ab") for _ in range(draw.randint(0, 8)))
    return [text, draw.randint(2, 12)]


def _graph(draw: Random) -> list[Node]:
    nodes = [Node(chr(65 + place)) for place in range(draw.randint(1, 7))]
    for node in nodes:
        node.successors = draw.sample(nodes, draw.randint(0, min(3, len(nodes))))
    return nodes


def _search(draw: Random) -> list[Any]:
    nodes = _graph(draw)
    return [draw.choice(nodes), draw.choice(nodes)]


def _chain(draw: Random, *, cyclic: bool) -> list[Any]:
    nodes = [Node(chr(65 + place)) for place in range(draw.randint(0, 7))]
    for first, second in itertools.pairwise(nodes):
        first.successor = second
    if cyclic and nodes and draw.random() < 0.5:
        nodes[-1].successor = draw.choice(nodes)
    return [nodes[0] if nodes else None]


def _tree_weights(draw: Random) -> list[Any]:
    size = draw.randint(2, 7)
    edges = [(a, b) for a in range(size) for b in range(a + 1, size)]
    kept = draw.sample(edges, draw.randint(1, len(edges)))
    weights = draw.sample(range(100), len(kept))  # distinct, so that there is one minimum only
    return [dict(zip(kept, weights, strict=True))]


def _path_length(draw: Random) -> list[Any]:
    nodes = _graph(draw)
    lengths = {(a, b): draw.randint(1, 12) for a in nodes for b in a.successors}
    return [lengths, draw.choice(nodes), draw.choice(nodes)]


def _all_lengths(draw: Random) -> list[Any]:
    size = draw.randint(1, 6)
    order = draw.sample(range(size), size)  # edges go forward in this order, so that no cycle is negative
    edges = [(a, b) for place, a in enumerate(order) for b in order[place + 1 :]]
    return [size, {edge: draw.randint(-5, 9) for edge in edges if draw.random() < 0.5}]


def _paths(draw: Random) -> list[Any]:
    size, edges = _all_lengths(draw)
    names = "ABCDEF"
    source = names[draw.randrange(size)]
    return [source, {(names[a], names[b]): weight for (a, b), weight in edges.items()}]


def _order(draw: Random) -> list[Any]:
    nodes = [Node(chr(65 + place)) for place in range(draw.randint(1, 7))]
    for place, node in enumerate(nodes):
        for later in nodes[place + 1 :]:
            if draw.random() < 0.4:
                node.outgoing_nodes.append(later)
                later.incoming_nodes.append(node)
    draw.shuffle(nodes)
    return [nodes]


MAKERS: dict[str, Callable[[Random], list[Any]]] = {
    "bitcount": lambda draw: [draw.randint(0, 5000)],
    "breadth_first_search": _search,
    "bucketsort": _bucketsort,
    "depth_first_search": _search,
    "detect_cycle": lambda draw: _chain(draw, cyclic=True),
    "find_first_in_sorted": _sorted,
    "find_in_sorted": _sorted,
    "flatten": lambda draw: [_nested(draw)],
    "gcd": lambda draw: [draw.randint(0, 200), draw.randint(1, 200)],
    "get_factors": lambda draw: [draw.randint(1, 2000)],
    "hanoi": _hanoi,
    "is_valid_parenthesization": lambda draw: [word(draw, 8, "()")],
    "kheapsort": _kheapsort,
    "knapsack": _knapsack,
    "kth": _kth,
    "lcs_length": lambda draw: [word(draw), word(draw)],
    "levenshtein": lambda draw: [word(draw, 5), word(draw, 5)],
    "lis": lambda draw: [draw.sample(range(-20, 40), draw.randint(0, 9))],
    "longest_common_subsequence": lambda draw: [word(draw), word(draw)],
    "max_sublist_sum": lambda draw: [ints(draw)],
    "mergesort": lambda draw: [ints(draw, 10)],
    "minimum_spanning_tree": _tree_weights,
    "next_palindrome": _next_palindrome,
    "next_permutation": _next_permutation,
    "pascal": lambda draw: [draw.randint(1, 9)],
    "possible_change": lambda draw: [draw.sample(range(1, 15), draw.randint(0, 4)), draw.randint(-3, 25)],
    "powerset": lambda draw: [list("abcdef"[: draw.randint(0, 6)])],
    "quicksort": lambda draw: [ints(draw, 10)],
    "reverse_linked_list": lambda draw: _chain(draw, cyclic=False),
    "rpn_eval": lambda draw: [_rpn(draw)],
    "shortest_path_length": _path_length,
    "shortest_path_lengths": _all_lengths,
    "shortest_paths": _paths,
    "shunting_yard": lambda draw: [_infix(draw)],
    "sieve": lambda draw: [draw.randint(0, 80)],
    "sqrt": lambda draw: [draw.randint(1, 300), draw.choice([0.5, 0.1, 0.01])],
    "subsequences": _subsequences,
    "to_base": lambda draw: [draw.randint(1, 9999), draw.randint(2, 36)],
    "topological_ordering": _order,
    "wrap": _wrap,
}


def make(name: str, seed: int) -> list[Any]:
    """The arguments of one call; the same seed makes equal ones."""
    return MAKERS[name](Random(seed))
