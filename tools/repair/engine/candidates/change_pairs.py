"""Two changes at once: pairs of the likeliest single changes, none of which did on its own."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tools.repair.engine.candidates.candidate_generation import Candidate
from tools.repair.engine.candidates.composed_edits import Edit

# Singles that are paired, and pairs that are tried: at a millisecond each these take some seconds.
SINGLES, MOST = 160, 6000


def generate_pairs(
    singles: Sequence[Candidate],
    first_rank: int,
    single: int = SINGLES,
    most: int = MOST,
    seen: set[tuple[Edit, ...]] | None = None,
) -> Iterator[Candidate]:
    """Pairs by falling product of their priorities, numbered from `first_rank` on; the likelier one is the first.

    single, most: singles that are paired, and pairs, at most
    seen: outcomes that are left out; those that come are added
    """
    seen = set() if seen is None else seen
    best = sorted(singles, key=lambda each: (-each.priority, each.rank))[:single]
    # The best partner of each is the next one: a heap of (product, i, j) is merged row by row.
    heap = [(-best[i].priority * best[i + 1].priority, i, i + 1) for i in range(len(best) - 1)]
    heapq.heapify(heap)
    found = 0
    while heap and found < most:
        product, i, j = heapq.heappop(heap)
        if j + 1 < len(best):
            heapq.heappush(heap, (-best[i].priority * best[j + 1].priority, i, j + 1))
        one, other = best[i], best[j]
        if is_disjoint(one, other):
            size = one.size + other.size
            # The later place is changed first, so that the earlier one stays where it is.
            base, last = sorted((one, other), key=lambda each: (each.path, each.change.start), reverse=True)
            pair = replace(last, base=base, rank=first_rank + found, priority=-product, size=size)
            meaning = tuple(pair.edits)
            if meaning not in seen:
                seen.add(meaning)
                yield pair
                found += 1


def is_disjoint(one: Candidate, other: Candidate) -> bool:
    """Neither changes what the other changes, nor what touches it."""
    if one.path != other.path:
        return True
    first, second = sorted((each.change.start, each.change.end) for each in (one, other))
    return first[1] < second[0]
