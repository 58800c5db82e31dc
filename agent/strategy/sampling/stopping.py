"""When one more attempt is not worth its price, by what the attempts so far did.

Attempts that did the same support each other. One that is alone with what it did tells how often the next one will do
something new (Good and Turing). So there are four ends: enough agree; they repeat each other, so that nothing new is
to be expected; each does something else, so that nothing ever agrees; or parts of them lead to the choice that all of
them lead to, so that more would hardly change it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from random import Random

from agent.strategy.candidate import Candidate
from sandbox.lazy_dataclass import dataclass


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

Choose = Callable[[Sequence[Sequence[int]]], Sequence[Hashable]]
"""Returns the choice among each of several sets of attempts, by their places."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StabilityRule:
    """When the choice is settled, whatever the selector is: parts of the attempts lead to the choice of all of them.

    A part that is as often right as the whole says that the whole is as good as several times as many (subsampling,
    Politis and Romano 1994). Votes alone, as in adaptive self-consistency (Aggarwal et al. 2023), do not know that a
    selector may prefer a small group.

    least: attempts from which on it is asked; part: one of so many; draws: random parts
    share: of the parts that have to lead to the choice of all
    """

    least: int = 8
    part: int = 3
    draws: int = 40
    share: float = 0.55

    def explain_stop(self, made: int, choose: Choose) -> str:
        """Return why one more attempt would hardly change the choice, "" if it might. made: attempts so far"""
        if made < self.least:
            return ""
        draw = Random(made)  # a resumed turn stops where the first one did
        parts = [draw.sample(range(made), round(made / self.part)) for _ in range(self.draws)]
        whole, *choices = choose([range(made), *parts])
        same = sum(each == whole for each in choices)
        return (
            f"{same} of {self.draws} parts of them lead to the same"
            if same >= self.share * self.draws
            else ""
        )


STABLE = StabilityRule()
"""Its numbers were chosen on the development half of CodeT's pool, where tests that a model wrote judge programs:
`benchmarks/results/2026-11-26-search.md`.
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
    why = rule.explain_stop(list(groups.values()), leader)
    if why or not leader:
        return why
    if _find_leader(outcomes, range(len(outcomes))) is None:
        return ""
    return STABLE.explain_stop(len(outcomes), lambda sets: [_find_leader(outcomes, each) for each in sets])


def _find_leader(outcomes: Sequence[Outcome], members: Sequence[int]) -> Hashable:
    """Return the most frequent behaviour of the members that pass; None if none passes, or two are equally frequent."""
    passing = Counter(outcomes[each].behaviour for each in members if outcomes[each].passes).most_common(2)
    return passing[0][0] if passing and passing[0][1] > sum(count for _, count in passing[1:]) else None


def read_outcome(candidate: Candidate, patch: bytes, failing: frozenset[str] = frozenset()) -> Outcome:
    """Return the outcome of an attempt: of one that passes its lines count, whatever blank ones lie between; of one
    that fails, which tests did. failing: their ids, none where no report names them
    """
    lines = [line.rstrip() for line in patch.splitlines() if line[:1] in (b"+", b"-") and line[1:].strip()]
    passes = bool(candidate.patch) and candidate.exit_code == 0 and not candidate.objection
    same = tuple(lines)
    return Outcome(
        behaviour=same if passes or not same else failing or candidate.verification or same, passes=passes
    )
