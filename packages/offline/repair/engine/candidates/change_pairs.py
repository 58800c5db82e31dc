"""Pairs of the likeliest single changes, none of which fixed the failure on its own."""

from __future__ import annotations

import heapq
from collections.abc import Iterator, Sequence
from dataclasses import replace

from packages.offline.repair.engine.candidates.candidate_generation import Candidate
from packages.offline.repair.engine.candidates.composed_edits import Edit

# Numbers of paired singles and of tried pairs: at a millisecond each these take some seconds.
SINGLES, MOST = 160, 6000


def generate_pairs(
    singles: Sequence[Candidate],
    first_rank: int,
    single: int = SINGLES,
    most: int = MOST,
    seen: set[tuple[Edit, ...]] | None = None,
) -> Iterator[Candidate]:
    """Yield pairs by falling product of their priorities, ranked from `first_rank` on; the likelier change first.

    single, most: maximum number of paired singles, and of pairs
    seen: edits that are left out; those of the yielded pairs are added
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
            # The later place is changed first, so that the offsets of the earlier one stay valid.
            base, last = sorted((one, other), key=lambda each: (each.path, each.change.start), reverse=True)
            pair = replace(last, base=base, rank=first_rank + found, priority=-product, size=size)
            meaning = tuple(pair.edits)
            if meaning not in seen:
                seen.add(meaning)
                yield pair
                found += 1


def is_disjoint(one: Candidate, other: Candidate) -> bool:
    """Return whether the two changes neither overlap nor touch."""
    if one.path != other.path:
        return True
    first, second = sorted((each.change.start, each.change.end) for each in (one, other))
    return first[1] < second[0]
