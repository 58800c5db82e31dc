"""Ranking of changes that pass the same tests: trust in their kinds, and confidence in the best."""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Iterable, Sequence

from packages.offline.repair.engine.candidates.anti_patterns import (
    find_function,
    leaves_dead_code,
    reverses_control_flow,
)
from packages.offline.repair.engine.candidates.candidate_generation import MANY_STATEMENTS, NAMED, Candidate
from packages.offline.repair.result import LOW, Fix
from packages.offline.repair.templates.support.source_tree import Function
from sandbox.lazy_dataclass import dataclass

# Templates that are right less often than this, when the tests pass, are chosen only for lack of better.
SURE = 0.75
# A change that the failure itself names comes before smaller ones that pass.
TIERS = (NAMED, SURE, 0.65, 0.55)
# Factors on confidence: an unused variable or unreachable statements; each other change of the same statement
# that passes as well; few tests that run the place. Set by hand, as the templates' numbers were: estimates,
# fitted to nothing.
UNUSED, RIVAL, FEWEST_RIVALS = 0.6, 0.97, 0.6
# Penalty of each further token, in the logarithm of the likelihood: of changes that pass the same tests the
# smallest is the right one more often than the likeliest (set on QuixBugs). Without a likelihood, size alone
# counts.
SMALL = 0.2
# Penalty for passing tests with a different course, by the root of their share: one of eight matters already.
DISTURBED = 0.4
# Weight of the trust in a change relative to its likelihood: steps of trust alone preferred a change a
# hundred times less likely (set on projects of the development half).
TRUST = 4.0
# Penalty, in the same measure, for altering all results of the function for inputs near those of tests. In
# small programs, whose every test is about the one function, it has shown no use.
ALTERED = 3.0
# Penalty of a control-flow change where no passing test covers it (Tan et al. 2016, anti-patterns in
# search-based program repair), unless its kind is in doubt already.
UNSEEN = 0.7
FEW_TESTS, FEW = 4, 0.75
# The same where so few tests run the place and do not settle it: a change at another place passes them as well, or
# all of them together check one result. The former leaves a usual change below `LOW`, the latter one that is often
# wrong. Set on HumanEvalFix (Python, development half), where of first choices 7 of 11 of the former were right, 8 of 9
# of the latter, and 37 of 42 others.
CONTESTED, ONE_CHECK = 0.7, 0.8
# A change whose new lines a model finds less likely than the old ones is right less often than wrong: the first is
# the difference of log-probabilities from which on that is no chance, the second its factor on confidence.
UNNATURAL, LESS_NATURAL = -2.0, 0.6
# Weight of that difference beside size, likelihood and trust, and from where on more of it says no more: a block that
# moves is likelier by 40. Set on HumanEvalFix (Python, development half: 55 of 63 first choices are right, all that had
# a right one; 53 without a model) and ten mutations of this project (9 of 9; 7 without), alike up to 1 and 12.
NATURAL, MOST_NATURAL = 0.5, 8.0
# Changes that pass of which a model is asked how natural they are, and wall seconds for all of them: each takes two
# on a quiet machine, and a sure change must not wait for a model that has no processor.
MOST_MEASURED, MEASURING = 10, 20.0
# Where the failing tests run so many statements, more changes pass by chance: of changes at several places
# all but one are wrong, and the right one may be none of them, which has this weight. The share of the chosen
# one counts by its cube root: five right first choices in projects (development half) had a share of 0.38 and
# more, four of seven wrong ones 0.25 and less. In small programs several places are mostly several ways to
# write the same.
NOWHERE, SHARED = 0.02, 1 / 3
# How often a change passes the tests by chance, in the measure of priorities: by Bayes' rule one with a lower
# priority is as often wrong as right. Where likelihoods are known; set on the development half of projects,
# where right first choices were at 0.02 and more, and half of the wrong ones below it.
LUCK = 0.03


@dataclass(frozen=True, slots=True, kw_only=True)
class PlausiblePatch:
    """A candidate that fixes a test and breaks none.

    helped: indexes of the tests that pass with it
    trust: share of changes of its kind that are right when the tests pass, from 0 to 1
    near: number of tests that run the changed place
    disturbed: share of the passing tests among them that run other lines with it, as far as measured
    altered: share of the inputs near those of passing tests with which the changed function worked and now
    behaves differently
    naturalness: how much likelier a model finds the new lines than the old ones, as a difference of
        log-probabilities; None if no model was asked
    """

    candidate: Candidate
    helped: frozenset[int]
    trust: float
    near: int
    disturbed: float = 0.0
    altered: float = 0.0
    naturalness: float | None = None

    @property
    def is_unnatural(self) -> bool:
        return is_unnatural(self.naturalness)

    @property
    def adjusted_trust(self) -> float:
        """The trust, reduced if unrelated tests run other lines."""
        return self.trust * (1 - DISTURBED * math.sqrt(self.disturbed))

    @property
    def weight(self) -> float:
        """Prior likelihood of the change times its trust."""
        return self.candidate.priority * self.adjusted_trust

    @property
    def takes_back_uncommitted(self) -> bool:
        """Whether it takes a person's uncommitted work back, which needs their word."""
        return any(part.template == "as_committed" for part in self.candidate.parts)

    @property
    def is_doubtful(self) -> bool:
        return (
            self.adjusted_trust < SURE
            or self.takes_back_uncommitted
            or bool(self.candidate.traits and self.candidate.priority < LUCK)
        )

    @property
    def probability_not_by_chance(self) -> float:
        """Probability that it passes for a reason, from 0 to 1; 1 where its likelihood is unknown."""
        return self.candidate.priority / (self.candidate.priority + LUCK) if self.candidate.traits else 1.0

    @property
    def tier(self) -> int:
        """Rank of its trust; 0 is most trusted."""
        return sum(self.adjusted_trust < step for step in TIERS)

    @property
    def preference(self) -> tuple[int, int, bool, bool, float, int]:
        """Sort key; smaller is better: most fixed tests, a trusted kind, unchanged behaviour, natural, small.

        Where a model was asked, its word is weighed with size, kind and behaviour; what it was not asked about counts
        as a little unnatural. Uncommitted work without which the tests pass is a better guess at the cause than
        anything but a change that the failure names.
        """
        each = self.candidate
        if each.traits:
            cost = SMALL * each.size - math.log(each.priority) - TRUST * math.log(self.adjusted_trust)
            cost += ALTERED * self.altered
            tier = int(self.adjusted_trust < NAMED)
        else:
            cost, tier = each.size, self.tier
        is_measured = self.naturalness is not None
        if is_measured and not each.traits:
            cost = SMALL * each.size - TRUST * math.log(self.adjusted_trust)
            tier = int(self.adjusted_trust < NAMED)
        return (
            -len(self.helped),
            tier,
            not self.takes_back_uncommitted,
            self.disturbed > 0 and not is_measured,
            cost - NATURAL * (UNNATURAL if self.naturalness is None else min(self.naturalness, MOST_NATURAL)),
            each.rank,
        )


def is_unnatural(naturalness: float | None) -> bool:
    """Return whether a model finds the old lines likelier than the new ones."""
    return naturalness is not None and naturalness < UNNATURAL


def estimate_trust(candidate: Candidate, passing: int = 1) -> float:
    """Return the template's precision, reduced for a change that makes code useless, or for one test.

    passing: number of passing tests that run the place
    """
    found = candidate.precision
    if not passing and found >= SURE and any(map(reverses_control_flow, candidate.parts)):
        found *= UNSEEN
    for part in candidate.parts:
        if leaves_unused_name(part) or leaves_dead_code(part):
            found *= UNUSED
    return found


def leaves_unused_name(candidate: Candidate) -> bool:
    """Return whether a local name that the function read before is still bound, but no longer read."""
    source, change, statement = candidate.source, candidate.change, candidate.suspect.statement
    function = source.find_enclosing_function(statement)
    if function is None:
        return False
    text = source.text[: change.start] + change.text + source.text[change.end :]
    after = find_function(text, function)
    if after is None:
        return False
    return bool((_collect_read_names(function) & _collect_bound_names(after)) - _collect_read_names(after))


def compute_confidence(
    found: PlausiblePatch, others: Sequence[PlausiblePatch], statements: int = 0, checks: int | None = None
) -> float:
    """Return the probability that the change is right and not only fits the tests, from 0 to 1.

    others: other patches that pass; those that make other tests pass are for another fault, and no rivals
    statements: number of suspicious statements
    checks: number of results that the failing tests check; None if unknown
    """
    alike = _list_alike(found, others)
    few = FEW if found.near < FEW_TESTS else 1.0
    few *= LESS_NATURAL if found.is_unnatural else 1.0
    rivals = [each for each in alike if each.tier <= found.tier]
    is_many = statements > MANY_STATEMENTS
    few *= CONTESTED if not is_many and find_contesting_place(found, others) else 1.0
    few *= ONE_CHECK if rests_on_one_check(found, checks) else 1.0
    if is_many:
        few *= math.pow(_compute_share(found, alike), SHARED) * found.probability_not_by_chance
        rivals = [each for each in rivals if _get_place(each) == _get_place(found)]
    return round(found.adjusted_trust * few * max(FEWEST_RIVALS, RIVAL ** len(rivals)), 2)


def find_contesting_place(found: PlausiblePatch, others: Sequence[PlausiblePatch]) -> tuple[str, int] | None:
    """Return where an equally trusted change passes as well, if few tests and no model tell them apart."""
    if found.near >= FEW_TESTS:
        return None
    for each in _list_alike(found, others):
        is_less_natural = found.naturalness is not None and (
            each.naturalness is None or each.naturalness < min(0.0, found.naturalness)
        )
        if each.tier <= found.tier and _get_place(each) != _get_place(found) and not is_less_natural:
            return _get_place(each)
    return None


def rests_on_one_check(found: PlausiblePatch, checks: int | None) -> bool:
    """Return whether one result of one test is all the evidence: no other test runs the place, no model was asked.

    A change that the failure itself names has its message as evidence.
    """
    is_told = found.adjusted_trust >= NAMED or found.naturalness is not None
    return checks == 1 and found.near <= len(found.helped) and not is_told


def explain_doubts(found: PlausiblePatch, others: Sequence[PlausiblePatch], checks: int | None = None) -> str:
    """Return why the change may be wrong though the tests pass, in words; "" where there is nothing in particular."""
    place = find_contesting_place(found, others)
    number = len(_list_alike(found, others))
    told = (
        f"a change at {place[0]}:{place[1]} passes the same tests" if place else "",
        f"{number} other changes of the place pass as well" if number > 1 and not place else "",
        "only one result is checked" if rests_on_one_check(found, checks) else "",
        "the model finds the old lines likelier" if found.is_unnatural else "",
        "changes of this kind are often wrong" if found.adjusted_trust < SURE else "",
        "few tests run the place" if found.near < FEW_TESTS else "",
    )
    return "; ".join(filter(None, told))


def _list_alike(found: PlausiblePatch, others: Iterable[PlausiblePatch]) -> list[PlausiblePatch]:
    return [each for each in others if each is not found and each.helped == found.helped]


def _compute_share(found: PlausiblePatch, alike: Iterable[PlausiblePatch]) -> float:
    """Return the weight of this place as a share of all places where a change passes."""
    places: dict[tuple[str, int], float] = {}
    for each in alike:
        places[_get_place(each)] = max(places.get(_get_place(each), 0.0), each.weight)
    places[_get_place(found)] = found.weight
    return found.weight / (sum(places.values()) + NOWHERE)


def _get_place(found: PlausiblePatch) -> tuple[str, int]:
    return found.candidate.path, found.candidate.suspect.line


def describe_confidence(value: float) -> str:
    """Return the confidence in words, for the user."""
    return "high" if value >= 0.85 else "fair" if value >= LOW else "low"


def select_confident_fixes(fixes: Sequence[Fix]) -> tuple[Fix, ...]:
    """Return the fixes before the first that is not sure; those after it were found with it applied."""
    return tuple(itertools.takewhile(lambda fix: fix.is_sure, fixes))


def select_own_changes(fixes: Sequence[Fix]) -> tuple[Fix, ...]:
    """Return the fixes before the first that concerns a person's fresh work."""
    return tuple(itertools.takewhile(lambda fix: not fix.own_work, fixes))


def _collect_read_names(function: Function) -> set[str]:
    nodes = [n for n in ast.walk(function) if isinstance(n, ast.Name)]
    # `x += 1` reads x, whatever its context in the syntax tree.
    targets = [n.target for n in ast.walk(function) if isinstance(n, ast.AugAssign)]
    changed = {each.id for each in targets if isinstance(each, ast.Name)}
    return {n.id for n in nodes if isinstance(n.ctx, ast.Load)} | changed


def _collect_bound_names(function: Function) -> set[str]:
    stored = {n.id for n in ast.walk(function) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    return stored | {each.arg for each in function.args.args}
