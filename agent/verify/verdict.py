"""Verdict on a finished turn, and the protocol of the verifiers that give one.

Only evidence counts: an executed check (a test run) or a static one (a parser, a linter) changes an outcome. An
opinion, such as a model's rating, breaks ties between candidates that the evidence leaves equal.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Literal, Protocol

from sandbox.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from agent.events import Event

VerdictOutcome = Literal["pass", "fail", "unknown"]
Evidence = Literal["executed", "static", "opinion"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Answer of one verifier.

    name: of the verifier; detail: one or a few lines for a person
    artifacts: references to full outputs (`out:12`)
    advice: text for the model, which is given another step with it; "" for none
    """

    outcome: VerdictOutcome
    evidence: Evidence
    name: str
    detail: str = ""
    artifacts: tuple[str, ...] = ()
    advice: str = ""

    @property
    def is_failure(self) -> bool:
        """Whether it changes the outcome of a turn for the worse."""
        return self.outcome == "fail" and self.evidence != "opinion"


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """The end of a turn as the model claims it.

    prompt: of the turn; answer: the model's last text
    is_done: the model claims success, as opposed to giving up
    """

    prompt: str = ""
    answer: str = ""
    is_done: bool = True


class Verifier(Protocol):
    """Checker of one property of a finished turn.

    name: names its verdicts
    withholds_commit: nothing is committed by the harness while it fails
    """

    @property
    def name(self) -> str: ...

    @property
    def withholds_commit(self) -> bool: ...

    def begin_turn(self) -> None:
        """Reset what belongs to one turn."""

    def track_event(self, event: Event) -> None:
        """Process an event of the turn, as it is logged or after a resume."""

    async def verify(self, claim: Claim) -> Verdict | None:
        """Return the verdict; None if there is nothing to check."""


async def ask_verifier(verifier: Verifier, claim: Claim) -> Verdict | None:
    """Return a verifier's verdict: it is unknown of code that is nested deeper than Python goes through.

    Such code ends no turn with an internal error, and passes no check on which a commit depends.
    """
    try:
        return await verifier.verify(claim)
    except RecursionError:
        return Verdict(
            outcome="fail" if verifier.withholds_commit else "unknown",
            evidence="static",
            name=verifier.name,
            detail="not checked: code here is nested too deep",
        )


def combine_verdicts(verdicts: Iterable[Verdict]) -> VerdictOutcome:
    """Return the outcome by the evidence: fail if any check fails, pass if one passes, else unknown."""
    outcomes = {each.outcome for each in verdicts if each.evidence != "opinion"}
    if "fail" in outcomes:
        return "fail"
    return "pass" if "pass" in outcomes else "unknown"


def rank_verdicts(verdicts: Sequence[Verdict]) -> tuple[int, int]:
    """Return the sort key of a candidate, the best first: by the evidence, and by opinions where that is equal."""
    order: dict[VerdictOutcome, int] = {"pass": 0, "unknown": 1, "fail": 2}
    opinions = [order[each.outcome] - 1 for each in verdicts if each.evidence == "opinion"]
    return order[combine_verdicts(verdicts)], sum(opinions)
