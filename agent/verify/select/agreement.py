"""Agreement of programs: groups of the same behaviour, weighted by the tests that they pass.

Dual agreement (CodeT, Chen et al. 2022): a program is likely right if many programs behave like it and many tests that
were written independently hold for it. Groups are formed by results, on inputs of tests and on generated ones, so that
two programs that fail the same tests in different ways are told apart. Tests that hold for no program, or for all, say
nothing and are left out (EvoSyn: only checks that discriminate are kept).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agent.verify.select.behaviour import has_value

WITHOUT_TESTS = 0.02
"""Share of the tests' weight that a program without any passed test still has: tests may be wrong themselves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BehaviourTable:
    """Keys of the results of each candidate on each call: keys[candidate][call]."""

    calls: Sequence[str]
    keys: Sequence[Sequence[str]]

    def get_column(self, call: int) -> list[str]:
        """Return the results of all candidates on one call."""
        return [row[call] for row in self.keys]


@dataclass(frozen=True, slots=True, kw_only=True)
class GeneratedTest:
    """A test that nobody vouches for. passed: for each candidate"""

    text: str
    passed: Sequence[bool]
    count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Candidates with the same behaviour.

    tests: how many of the kept tests they pass; share: of the score of all groups
    """

    members: Sequence[int]
    tests: int
    score: float
    share: float


def keep_discriminating(tests: Sequence[GeneratedTest], members: Sequence[int]) -> list[GeneratedTest]:
    """Return the tests that hold for some of the members and not for others."""
    return [each for each in tests if len({each.passed[member] for member in members}) == 2]


def form_groups(table: BehaviourTable, tests: Sequence[GeneratedTest], members: Sequence[int]) -> list[Group]:
    """Return the groups of the members, the best first; equal ones in the order of their first members."""
    kept = keep_discriminating(tests, members)
    together: dict[tuple[str, ...], list[int]] = defaultdict(list)
    for member in members:
        together[tuple(table.keys[member])].append(member)
    support = _measure_support(table, members)
    scores = {
        row: _score_group(group, kept, support[group[0]], len(members)) for row, group in together.items()
    }
    total = sum(scores.values()) or 1.0
    groups = [
        Group(
            members=tuple(group),
            tests=sum(each.passed[group[0]] for each in kept),
            score=scores[row],
            share=scores[row] / total,
        )
        for row, group in together.items()
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


def _score_group(
    members: Sequence[int], tests: Sequence[GeneratedTest], support: float, number: int
) -> float:
    """Return √size × share of the tests, as in CodeT; a group is also supported by those that mostly agree."""
    share = sum(each.passed[members[0]] for each in tests) / len(tests) if tests else 1.0
    return math.sqrt(len(members) / number) * (share + WITHOUT_TESTS) * support


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
