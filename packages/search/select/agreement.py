"""Agreement of programs: groups of the same behaviour, weighted by the tests that they pass.

Dual agreement (CodeT, Chen et al. 2022): a program is likely right if many programs behave like it and many tests that
were written independently hold for it. Groups are formed by results, on inputs of tests and on generated ones, so that
two programs that fail the same tests in different ways are told apart. Tests that hold for no program, or for all, say
nothing and are left out (EvoSyn: only checks that discriminate are kept).
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from packages.search.programs.behaviour import has_value
from sandbox.lazy_dataclass import dataclass

WEIGHTS: Mapping[str, float] = {"size": 0.5, "support": 1.0, "tests": 1.0, "constant": -2.0, "unread": -1.0}
"""Weight of each sign in the logarithm of a group's score (0.5 for its size is CodeT's √size).

Round numbers; weights fitted on two pools of programs choose no better on tasks that they were not fitted on
(benchmarks/results/2026-11-30-selection.md).
"""

LEAST_TESTS, LEAST_SUPPORT = 0.5, 0.02
"""Passed tests, and share of agreeing members, that even a candidate without any is given: both may be wrong."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BehaviourTable:
    """Keys of the results of each candidate on each call: keys[candidate][call]."""

    calls: Sequence[str]
    keys: Sequence[Sequence[str]]

    def count_alike(self, candidate: int, members: Sequence[int]) -> int:
        """Return how many of the members have the same results on all calls."""
        return sum(self.keys[each] == self.keys[candidate] for each in members)


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratedTest:
    """A test that nobody vouches for. passed: for each candidate"""

    text: str
    passed: Sequence[bool]
    count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Candidates with the same behaviour.

    tests: how many of the kept tests they pass; signs: by name, see `WEIGHTS`; share: of the score of all groups
    """

    members: Sequence[int]
    tests: int
    signs: Mapping[str, float]
    score: float
    share: float


def keep_discriminating(tests: Sequence[GeneratedTest], members: Sequence[int]) -> list[GeneratedTest]:
    """Return the tests that hold for some of the members and not for others."""
    return [each for each in tests if len({each.passed[member] for member in members}) == 2]


def form_groups(
    table: BehaviourTable,
    tests: Sequence[GeneratedTest],
    members: Sequence[int],
    unread: Mapping[int, float] | None = None,
) -> list[Group]:
    """Return the groups of the members, the best first; equal ones in the order of their first members.

    unread: share of its parameters that a candidate never reads; members of one behaviour but another share of these
    form groups of their own
    """
    kept = keep_discriminating(tests, members)
    together: dict[tuple[float, tuple[str, ...]], list[int]] = defaultdict(list)
    sizes: Counter[tuple[str, ...]] = Counter()
    for member in members:
        row = tuple(table.keys[member])
        sizes[row] += 1
        together[(unread or {}).get(member, 0.0), row].append(member)
    support = _measure_support(table, members)
    found = []
    for (share, row), group in together.items():
        passed = sum(each.passed[group[0]] for each in kept)
        signs = {
            "size": math.log(sizes[row] / len(members)),
            "support": math.log(support[group[0]] + LEAST_SUPPORT),
            "tests": math.log((passed + LEAST_TESTS) / (len(kept) + LEAST_TESTS)),
            "constant": _measure_constancy(row),
            "unread": share,
        }
        found.append((group, passed, signs, math.exp(sum(WEIGHTS[name] * signs[name] for name in WEIGHTS))))
    total = sum(score for *_, score in found)
    groups = [
        Group(members=tuple(group), tests=passed, signs=signs, score=score, share=score / total)
        for group, passed, signs, score in found
    ]
    return sorted(groups, key=lambda each: (-each.score, each.members))


def find_distinguishing_call(table: BehaviourTable, one: int, other: int) -> int | None:
    """Return the call with the shortest text for which two candidates differ; None if there is none.

    A call for which both return is preferred to one for which one of them fails.
    """
    found = [
        (not (has_value(mine) and has_value(theirs)), len(call), number)
        for number, (call, mine, theirs) in enumerate(
            zip(table.calls, table.keys[one], table.keys[other], strict=True)
        )
        if mine != theirs
    ]
    return min(found)[2] if found else None


def _measure_constancy(row: Sequence[str]) -> float:
    """Return the share of the most frequent value among the returned ones."""
    values = [each for each in row if has_value(each)]
    return Counter(values).most_common(1)[0][1] / len(values) if values else 1.0


def _measure_support(table: BehaviourTable, members: Sequence[int]) -> Mapping[int, float]:
    """Return for each member the mean share of the members that return the same, over all calls."""
    support = dict.fromkeys(members, 0.0)
    for call in range(len(table.calls)):
        counts: dict[str, int] = defaultdict(int)
        for member in members:
            counts[table.keys[member][call]] += 1
        for member in members:
            key = table.keys[member][call]
            support[member] += counts[key] / len(members) if has_value(key) else 0.0
    calls = len(table.calls) or 1
    return {member: value / calls if table.calls else 1.0 for member, value in support.items()}
