"""Evidence decides an outcome; opinions only order what the evidence leaves equal."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from itertools import permutations

import pytest

from agent.events import Event
from agent.verify.verdict import (
    Claim,
    Evidence,
    Verdict,
    VerdictOutcome,
    ask_verifier,
    combine_verdicts,
    rank_verdicts,
)


def verdict(outcome: VerdictOutcome, evidence: Evidence) -> Verdict:
    return Verdict(outcome=outcome, evidence=evidence, name=f"{evidence}-{outcome}")


@pytest.mark.parametrize(
    ("verdicts", "outcome"),
    [
        ([], "unknown"),
        ([verdict("pass", "executed")], "pass"),
        ([verdict("pass", "executed"), verdict("unknown", "static")], "pass"),
        ([verdict("pass", "executed"), verdict("fail", "static")], "fail"),
        ([verdict("pass", "executed"), verdict("fail", "opinion")], "pass"),
        ([verdict("fail", "executed"), verdict("pass", "opinion")], "fail"),
        ([verdict("pass", "opinion")], "unknown"),
    ],
)
def test_only_executed_and_static_evidence_changes_the_outcome(
    verdicts: list[Verdict], outcome: VerdictOutcome
) -> None:
    for order in permutations(verdicts):
        assert combine_verdicts(order) == outcome


def test_an_opinion_is_no_failure() -> None:
    assert not verdict("fail", "opinion").is_failure
    assert verdict("fail", "static").is_failure


def test_opinions_break_ties_and_no_more() -> None:
    liked = [verdict("pass", "executed"), verdict("pass", "opinion")]
    disliked = [verdict("pass", "executed"), verdict("fail", "opinion")]
    failing = [verdict("fail", "executed"), verdict("pass", "opinion")]
    assert sorted([failing, disliked, liked], key=rank_verdicts) == [liked, disliked, failing]


@dataclass
class Deep:
    """A verifier that goes down without end."""

    withholds_commit: bool
    name: str = "deep"

    def begin_turn(self) -> None: ...

    def track_event(self, event: Event) -> None: ...

    async def verify(self, claim: Claim) -> Verdict | None:
        return await self.verify(claim)


@pytest.mark.parametrize(("withholds", "outcome"), [(True, "fail"), (False, "unknown")])
def test_code_that_is_nested_too_deep_ends_no_turn_and_passes_no_check(
    withholds: bool, outcome: VerdictOutcome
) -> None:
    verdict = asyncio.run(ask_verifier(Deep(withholds), Claim()))
    assert verdict is not None
    assert (verdict.outcome, verdict.name) == (outcome, "deep")
