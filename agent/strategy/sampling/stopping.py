"""When one more attempt is not worth its price, by what the attempts so far came to.

The chance that one more changes the result for the better has two parts. It may do something that no attempt did: as
often as attempts so far were alone with what they did (Good and Turing), and then it passes as often as what was done
differently passed (Laplace). Or it decides between two that both pass and do different things. Both count as far as
the one that leads may be wrong at all.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from agent.strategy.candidate import Candidate

WORTH = 0.05
"""Least chance for which one more attempt is made: an attempt costs about a twentieth of what a right one is worth."""

TRUST = 0.75
"""Share of right ones among candidates that pass a suite which tells candidates apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one attempt came to. behaviour: equal where two did the same; passes: the checks; weight: of its vote"""

    behaviour: Hashable
    passes: bool
    weight: float = 1.0


def compute_gain(outcomes: Sequence[Outcome], trust: float = TRUST) -> float:
    """Return the chance that one more attempt changes the result for the better.

    trust: share of right ones among those that pass
    """
    counts = Counter(each.behaviour for each in outcomes)
    alone = sum(number == 1 for number in counts.values())
    is_new = min(1.0, (alone + 1) / (len(outcomes) + 1)) if outcomes else 1.0
    passing = [each for each in outcomes if each.passes]
    ways = len({each.behaviour for each in passing})
    passes = (ways + 1) / (len(counts) + 2)
    if not passing:
        return is_new * passes
    votes: dict[Hashable, float] = defaultdict(float)
    for each in passing:
        votes[each.behaviour] += each.weight
    leader, *others = sorted(votes.values(), reverse=True)
    decides = compute_doubt(leader, others[0]) * len(passing) / len(outcomes) if others else 0.0
    return (1 - trust) * min(1.0, is_new * passes + decides)


def compute_doubt(leader: float, rival: float) -> float:
    """Return the probability that of two groups the smaller one is the more frequent in truth (Beta, even prior)."""
    steps = 200
    points = [(place + 0.5) / steps for place in range(steps)]
    values = [math.exp(leader * math.log(each) + rival * math.log1p(-each)) for each in points]
    return sum(values[: steps // 2]) / sum(values)


def explain_stop(outcomes: Sequence[Outcome], worth: float = WORTH, trust: float = TRUST) -> str:
    """Return why one more attempt is not worth its price, "" if it is."""
    if not outcomes or (gain := compute_gain(outcomes, trust)) >= worth:
        return ""
    if not any(each.passes for each in outcomes):
        return f"none passes, and one more would with a chance of {gain:.0%}"
    return f"one more would change the result with a chance of {gain:.0%}"


def read_outcome(candidate: Candidate, patch: bytes) -> Outcome:
    """Return the outcome of an attempt. Changes are the same if their lines are, whatever blank ones lie between."""
    lines = [line.split() for line in patch.splitlines() if line[:1] in (b"+", b"-") and line[1:].strip()]
    passes = bool(candidate.patch) and candidate.exit_code == 0 and not candidate.weakened_tests
    same = tuple(b" ".join(line) for line in lines)
    return Outcome(behaviour=same if passes or not same else candidate.verification or same, passes=passes)
