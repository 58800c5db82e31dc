"""Choosing among changes that pass the same tests: which kinds are to be trusted, and how sure one can be."""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tools.repair.engine.candidates.anti_patterns import (
    find_function,
    leaves_dead_code,
    reverses_control_flow,
)
from tools.repair.engine.candidates.candidate_generation import MANY_STATEMENTS, NAMED, Candidate
from tools.repair.result import LOW, Fix
from tools.repair.templates.support.source_tree import Function

# Templates right less often than this, when the tests pass, are taken only for want of better.
SURE = 0.75
# What the failure itself names comes before smaller changes that fit.
TIERS = (NAMED, SURE, 0.65, 0.55)
# What takes from confidence: a variable that nothing uses, or statements that nothing reaches any more; each other
# change of the same statement that would do as well; few tests that run the place. Set by hand, as the templates'
# numbers were: estimates, fitted to nothing.
UNUSED, RIVAL, FEWEST_RIVALS = 0.6, 0.97, 0.6
# What each token more takes from a change, in the logarithm of how likely it is: of changes that pass the same tests
# the smallest is the right one more often than the likeliest (set on QuixBugs). Where no likelihood is known, the size
# alone counts.
SMALL = 0.2
# What is taken for each passing test that goes another way, by the root of their share: one of eight tells already.
DISTURBED = 0.4
# How much the trust in a change counts beside how likely it was: steps of trust alone preferred what was a hundred
# times less likely (set on projects of the development half).
TRUST = 4.0
# What it costs a change, in the same measure, to alter all of what the function did with inputs near those of tests. In
# small programs, whose every test is about the one function, it has shown no use.
ALTERED = 3.0
# What a change of the ways through a function takes where no passing test looks on (Tan et al. 2016, anti-patterns in
# search-based program repair), if its kind is not in doubt already.
UNSEEN = 0.7
FEW_TESTS, FEW = 4, 0.75
# Where the failing tests run so many statements, there are more ways to make them pass by chance: of changes at several
# places all but one are wrong, and the right one may be none of them, which is worth so much. The chosen one's share
# counts by its cube root: five right first choices in projects (development half) had a share of 0.38 and more, four of
# seven wrong ones 0.25 and less. In small programs several places are mostly several ways to say the same.
NOWHERE, SHARED = 0.02, 1 / 3
# How often a change passes the tests by chance, in the measure of priorities: by Bayes' rule one that was no likelier
# than that before it was tried is as often wrong as right. Where likelihoods are known; set on the development half of
# projects, where right first choices were at 0.02 and more, and half of the wrong ones below it.
LUCK = 0.03


@dataclass(frozen=True, slots=True, kw_only=True)
class PlausiblePatch:
    """A candidate that helps and breaks nothing.

    helped: indexes of the tests that pass with it
    trust: how often changes of its kind are right when the tests pass, from 0 to 1
    near: how many tests run what it changes
    disturbed: share of the passing tests among them that run other lines with it, as far as they were asked
    altered: share of the inputs near those of passing tests with which the changed function worked and does otherwise
    """

    candidate: Candidate
    helped: frozenset[int]
    trust: float
    near: int
    disturbed: float = 0.0
    altered: float = 0.0

    @property
    def adjusted_trust(self) -> float:
        """The trust, less for what sends tests another way that have nothing to do with the fault."""
        return self.trust * (1 - DISTURBED * math.sqrt(self.disturbed))

    @property
    def weight(self) -> float:
        """How likely it was before it was tried, times how sure it is now."""
        return self.candidate.priority * self.adjusted_trust

    @property
    def is_doubtful(self) -> bool:
        return self.adjusted_trust < SURE or bool(self.candidate.traits and self.candidate.priority < LUCK)

    @property
    def probability_not_by_chance(self) -> float:
        """From 0 to 1, how likely it is that it passes for a reason; 1 where nothing is known of its likelihood."""
        return self.candidate.priority / (self.candidate.priority + LUCK) if self.candidate.traits else 1.0

    @property
    def tier(self) -> int:
        """0 for what is to be trusted most."""
        return sum(self.adjusted_trust < step for step in TIERS)

    @property
    def preference(self) -> tuple[int, int, bool, float, int]:
        """Smaller is better: the most tests helped, of a kind to be trusted, the rest as it was, likely and small."""
        each = self.candidate
        if each.traits:
            cost = SMALL * each.size - math.log(each.priority) - TRUST * math.log(self.adjusted_trust)
            cost += ALTERED * self.altered
            tier = int(self.adjusted_trust < NAMED)
        else:
            cost, tier = each.size, self.tier
        return -len(self.helped), tier, self.disturbed > 0, cost, each.rank


def estimate_trust(candidate: Candidate, passing: int = 1) -> float:
    """The template's precision, less for a change after which something is computed for nothing, or for one test.

    passing: how many passing tests run the place
    """
    found = candidate.precision
    if not passing and found >= SURE and any(map(reverses_control_flow, candidate.parts)):
        found *= UNSEEN
    for part in candidate.parts:
        if leaves_unused_name(part) or leaves_dead_code(part):
            found *= UNUSED
    return found


def leaves_unused_name(candidate: Candidate) -> bool:
    """A local name that the function read before is still bound, but nothing reads it any more."""
    source, change, statement = candidate.source, candidate.change, candidate.suspect.statement
    function = source.find_enclosing_function(statement)
    if function is None:
        return False
    text = source.text[: change.start] + change.text + source.text[change.end :]
    after = find_function(text, function)
    if after is None:
        return False
    return bool((_collect_read_names(function) & _collect_bound_names(after)) - _collect_read_names(after))


def compute_confidence(found: PlausiblePatch, others: Iterable[PlausiblePatch], statements: int = 0) -> float:
    """From 0 to 1, how likely it is that the change is right and not only fits the tests.

    others: what else would do
    statements: how many are suspicious
    """
    alike = [each for each in others if each is not found and len(each.helped) == len(found.helped)]
    few = FEW if found.near < FEW_TESTS else 1.0
    rivals = [each for each in alike if each.tier <= found.tier]
    if statements > MANY_STATEMENTS:
        few *= math.pow(_compute_share(found, alike), SHARED) * found.probability_not_by_chance
        rivals = [each for each in rivals if _get_place(each) == _get_place(found)]
    return round(found.adjusted_trust * few * max(FEWEST_RIVALS, RIVAL ** len(rivals)), 2)


def _compute_share(found: PlausiblePatch, alike: Iterable[PlausiblePatch]) -> float:
    """Of what all the places are worth where a change would do, what this one is."""
    places: dict[tuple[str, int], float] = {}
    for each in alike:
        places[_get_place(each)] = max(places.get(_get_place(each), 0.0), each.weight)
    places[_get_place(found)] = found.weight
    return found.weight / (sum(places.values()) + NOWHERE)


def _get_place(found: PlausiblePatch) -> tuple[str, int]:
    return found.candidate.path, found.candidate.suspect.line


def describe_confidence(value: float) -> str:
    """For a person."""
    return "high" if value >= 0.85 else "fair" if value >= LOW else "low"


def select_confident_fixes(fixes: Sequence[Fix]) -> tuple[Fix, ...]:
    """Those before the first doubtful one; what comes after it was found with it in place."""
    return tuple(itertools.takewhile(lambda fix: fix.confidence >= LOW, fixes))


def _collect_read_names(function: Function) -> set[str]:
    nodes = [n for n in ast.walk(function) if isinstance(n, ast.Name)]
    # `x += 1` reads x, whatever the syntax tree says.
    targets = [n.target for n in ast.walk(function) if isinstance(n, ast.AugAssign)]
    changed = {each.id for each in targets if isinstance(each, ast.Name)}
    return {n.id for n in nodes if isinstance(n.ctx, ast.Load)} | changed


def _collect_bound_names(function: Function) -> set[str]:
    stored = {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return stored | {each.arg for each in function.args.args}
