"""Weighted graph of references between files, from names that one file uses and another defines.

Stored with the index and recomputed when files changed. Ranks are personalised PageRank (Haveliwala,
"Topic-sensitive PageRank", WWW 2002), by power iteration.
"""

from __future__ import annotations

import json
import math
import zlib
from array import array
from bisect import bisect_right
from collections.abc import Iterator, Mapping
from operator import itemgetter, mul

from sandbox.lazy_dataclass import dataclass
from tools.code.index.code_index import Index
from tools.code.index.symbol_queries import is_test

MOST_DEFINERS = 4
"""Above this number of defining files a use of a name is ambiguous and adds no edge."""

MOST_KNOWN = 16
"""Names that are kept per file."""

DAMPING = 0.85
ROUNDS = 15
"""Rounds of power iteration, after which the order of ranks is stable."""

_KEY = "graph by targets"


@dataclass(frozen=True, slots=True)
class Graph:
    """Edges from using to defining files, as indices into `paths`, with weights; parallel arrays, sorted by `targets`.

    known: for each file the names that it defines and others use, with the weight of their uses, largest first
    """

    paths: list[str]
    sources: array[int]
    targets: array[int]
    weights: array[float]
    known: list[list[tuple[str, float]]]

    def pagerank(self, seeds: Mapping[str, float]) -> dict[str, float]:
        """Return path → rank; the random walk restarts at the seeds, or anywhere if there are none."""
        count = len(self.paths)
        if not count:
            return {}
        number = {path: at for at, path in enumerate(self.paths)}
        start = [0.0] * count
        for path, weight in seeds.items():
            if path in number:
                start[number[path]] += weight
        total = sum(start)
        start = [each / total for each in start] if total else [1 / count] * count
        leaving = [0.0] * count
        for source, weight in zip(self.sources, self.weights, strict=True):
            leaving[source] += weight
        pulls = [
            (target, itemgetter(*sources), shares)
            for target, sources, shares in self._group_incoming(leaving)
        ]
        ends = [at for at, out in enumerate(leaving) if not out]
        rank = start
        for _ in range(ROUNDS):
            lost = DAMPING * sum(map(rank.__getitem__, ends))
            after = [(1 - DAMPING + lost) * each for each in start]
            for target, ranks_of, shares in pulls:
                after[target] += sum(map(mul, ranks_of(rank), shares))
            rank = after
        return dict(zip(self.paths, rank, strict=True))

    def _group_incoming(self, leaving: list[float]) -> Iterator[tuple[int, list[int], list[float]]]:
        """Yield each target with its source files, and the share of their rank that they pass on.

        At least two sources each: for a single index, `itemgetter` returns no tuple.
        """
        all_sources = self.sources.tolist()
        all_shares = [
            DAMPING * weight / leaving[source]
            for source, weight in zip(all_sources, self.weights, strict=True)
        ]
        at, count = 0, len(all_sources)
        while at < count:
            target = self.targets[at]
            end = bisect_right(self.targets, target, at)
            if end == at + 1:
                yield target, all_sources[at:end] * 2, [all_shares[at], 0.0]
            else:
                yield target, all_sources[at:end], all_shares[at:end]
            at = end


def get_graph(index: Index) -> Graph:
    """Return the index's graph, stored or newly built."""
    paths = list(index.code)
    kept = index.store.load_computed(_KEY)
    if kept is not None and kept[0] == index.generation:
        return _unpack_graph(paths, kept[1])
    made = _build_graph(index, paths)
    index.store.save_computed(_KEY, index.generation, _pack_graph(made))
    return made


def _build_graph(index: Index, paths: list[str]) -> Graph:
    number = {path: at for at, path in enumerate(paths)}
    # Texts shared by several files (mostly empty ones) do not identify a file.
    alone = {
        text: number[there[0]]
        for text, there in index.by_text.items()
        if len(there) == 1 and there[0] in number
    }
    tests = {at for path, at in number.items() if is_test(path)}
    families = [_find_language_family(path) for path in paths]
    edges: dict[int, float] = {}
    known: list[dict[str, float]] = [{} for _ in paths]
    count = len(paths)
    for name, postings in index.store.iter_names():
        if len(postings) < 2 or len(name) < 3:
            continue
        live = [(alone[text], defined, used) for text, defined, used, _ in postings if text in alone]
        definers = [at for at, defined, _ in live if defined and at not in tests]
        if not 0 < len(definers) <= MOST_DEFINERS:
            continue
        users = [(at, used) for at, defined, used in live if not defined]
        weight = math.log(count / (1 + len(users)) + 1) / len(definers)
        for at, used in users:
            share = weight * math.sqrt(used)
            for target in definers:
                if families[at] == families[target]:
                    edge = at * count + target
                    edges[edge] = edges.get(edge, 0.0) + share
                    known[target][name] = known[target].get(name, 0.0) + share
    ordered = sorted(edges, key=lambda edge: edge % count)
    return Graph(
        paths=paths,
        sources=array("I", (edge // count for edge in ordered)),
        targets=array("I", (edge % count for edge in ordered)),
        weights=array("f", (edges[edge] for edge in ordered)),
        known=[sorted(names.items(), key=lambda each: (-each[1], each[0]))[:MOST_KNOWN] for names in known],
    )


def _find_language_family(path: str) -> str:
    """Return the family of languages whose files can use each other's names."""
    ending = path[path.rfind(".") + 1 :].lower()
    return next((family for family, endings in _FAMILIES.items() if ending in endings), ending)


_FAMILIES = {
    "web": frozenset({"js", "jsx", "mjs", "cjs", "ts", "tsx", "mts", "cts", "html", "htm"}),
    "c": frozenset({"c", "h", "cc", "cpp", "cxx", "hh", "hpp", "hxx"}),
    "jvm": frozenset({"java", "kt", "kts", "scala"}),
    "python": frozenset({"py", "pyi"}),
}


def _pack_graph(made: Graph) -> bytes:
    known = [[[name, round(value, 2)] for name, value in names] for names in made.known]
    text = json.dumps(known, separators=(",", ":")).encode()
    edges = made.sources.tobytes() + made.targets.tobytes() + made.weights.tobytes()
    return zlib.compress(len(made.sources).to_bytes(4, "little") + edges + text, 1)


def _unpack_graph(paths: list[str], data: bytes) -> Graph:
    parts = zlib.decompress(data)
    size = 4 * int.from_bytes(parts[:4], "little")
    sources, targets, weights = array("I"), array("I"), array("f")
    sources.frombytes(parts[4 : 4 + size])
    targets.frombytes(parts[4 + size : 4 + 2 * size])
    weights.frombytes(parts[4 + 2 * size : 4 + 3 * size])
    known = [[(name, value) for name, value in names] for names in json.loads(parts[4 + 3 * size :])]
    return Graph(paths=paths, sources=sources, targets=targets, weights=weights, known=known)
