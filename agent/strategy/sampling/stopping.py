"""When one more attempt is not worth its price, by what the attempts so far did.

Attempts that did the same support each other. One that is alone with what it did tells how often the next one will do
something new (Good and Turing). So there are three ends: enough agree; they repeat each other, so that nothing new is
to be expected; or each does something else, so that nothing ever agrees.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from agent.strategy.candidate import Candidate


@dataclass(frozen=True, slots=True, kw_only=True)
class StopRule:
    """When attempts are enough.

    agree, agree_from: how many that did the same are enough, and from how many attempts on
    repeat, repeat_from: share of attempts alone with what they did, at most which the others repeat each other
    scatter, scatter_from: the same share, from which on nothing agrees, where the best one is alone or there is none
    """

    agree: int
    agree_from: int
    repeat_from: int
    repeat: float = 0.4
    scatter: float = 0.8
    scatter_from: int = 16

    def explain_stop(self, groups: Sequence[int], leader: int) -> str:
        """Return why one more attempt is not worth its price, "" if it is.

        groups: sizes of the groups of attempts that did the same; leader: of the best group, 0 where none passes
        """
        made = sum(groups)
        alone = sum(size == 1 for size in groups) / made if made else 1.0
        if leader >= self.agree and made >= self.agree_from:
            return f"{leader} did the same"
        if leader != 1 and made >= self.repeat_from and alone <= self.repeat:
            return "they repeat each other" if leader else "they fail in the same ways"
        if leader <= 1 and made >= self.scatter_from and alone >= self.scatter:
            return "each did something else" if leader else "none passes, and each fails in a way of its own"
        return ""


SUITE = StopRule(agree=3, agree_from=3, repeat_from=6)
"""For attempts that a suite of the project judges: a change that passes it is right three times in four."""

GENERATED = StopRule(agree=5, agree_from=6, repeat_from=8)
"""For programs judged by tests that a model wrote, some of them wrong.

Its numbers and the shares of both were chosen on the development half of CodeT's pool: half of the samples, and two
points fewer right choices (`benchmarks/results/2026-11-26-search.md`).
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """What one attempt did. behaviour: equal where two did the same; passes: the checks"""

    behaviour: Hashable
    passes: bool


def explain_stop(outcomes: Sequence[Outcome], rule: StopRule = SUITE) -> str:
    """Return why attempts with these outcomes are enough, "" if one more is worth its price."""
    groups = Counter(each.behaviour for each in outcomes)
    leader = max((groups[each.behaviour] for each in outcomes if each.passes), default=0)
    return rule.explain_stop(list(groups.values()), leader)


def read_outcome(candidate: Candidate, patch: bytes, failing: frozenset[str] = frozenset()) -> Outcome:
    """Return the outcome of an attempt: of one that passes its lines count, whatever blank ones lie between; of one
    that fails, which tests did. failing: their ids, none where no report names them
    """
    lines = [line.rstrip() for line in patch.splitlines() if line[:1] in (b"+", b"-") and line[1:].strip()]
    passes = bool(candidate.patch) and candidate.exit_code == 0 and not candidate.weakened_tests
    same = tuple(lines)
    return Outcome(
        behaviour=same if passes or not same else failing or candidate.verification or same, passes=passes
    )
