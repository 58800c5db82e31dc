"""Review of a team's change: the opinion of a reviewer, in the turn of the team and no later one."""

from __future__ import annotations

from agent.verify.verdict import Claim, Verdict
from packages.search.review.review_verifier import ReviewVerifier
from sandbox.lazy_dataclass import dataclass


@dataclass(slots=True, kw_only=True)
class TeamReview(ReviewVerifier):
    """A reviewer accepts the change of a team. Always an opinion."""

    _is_over: bool = False

    def begin_turn(self) -> None:
        """See `Verifier.begin_turn`: another turn is reviewed only where the settings say so."""
        self._is_over = True

    async def verify(self, claim: Claim) -> Verdict | None:
        """See `ReviewVerifier.verify`."""
        return None if self._is_over else await ReviewVerifier.verify(self, claim)
