"""Time of a turn that the harness leads: what a reply may take, and what is kept for the end."""

from __future__ import annotations

import time

from agent.budget.purse import Purse
from sandbox.lazy_dataclass import dataclass

LEAST_REPLY = 3.0
"""Seconds: a shorter time for a reply is none."""


@dataclass(slots=True, kw_only=True)
class LeadClock:
    """Clock of one turn. purse: of the session; tests: seconds that a run of the suite takes"""

    purse: Purse
    tests: float = 1.0

    @property
    def seconds_left(self) -> float:
        """Seconds until the turn is stopped."""
        return self.purse.compute_seconds_left()

    @property
    def reply_seconds(self) -> float:
        """Seconds that a reply may take, so that the engine's change can still be written and verified."""
        return self.seconds_left - self._reserve

    @property
    def has_time(self) -> bool:
        """Whether there is time for one more reply and its verification."""
        return self.reply_seconds > LEAST_REPLY + self.tests

    @property
    def is_third_gone(self) -> bool:
        """Whether a third of the turn's time has passed."""
        return time.monotonic() - self.purse.tally.start_time > self.seconds_left / 2

    @property
    def _reserve(self) -> float:
        """Seconds for the change, the run that judges it, the one at the end of the turn, and the commit."""
        return 5.0 + 3 * self.tests
