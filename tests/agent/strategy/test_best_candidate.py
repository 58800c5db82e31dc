"""End of a turn none of whose attempts changed a file."""

from __future__ import annotations

import asyncio
from typing import Any

from agent.exit_codes import Exit
from agent.strategy.best_candidate import finish_unchanged
from agent.strategy.candidate import Candidate


def test_a_spent_budget_is_a_limit_and_no_failed_attempt() -> None:
    turn: Any = None  # nothing is asked of it
    spent = Candidate(attempt=1, exit_code=int(Exit.LIMIT), report="the limit on cost is reached")
    end = asyncio.run(finish_unchanged(turn, [spent]))
    assert end.reason == "limit"
    assert end.detail == "every attempt reached its limit; attempt 1: the limit on cost is reached"
