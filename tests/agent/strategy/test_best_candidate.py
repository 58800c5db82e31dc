"""End of a turn none of whose attempts changed a file."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

from agent.exit_codes import Exit
from agent.strategy.best_candidate import apply_best, finish_unchanged
from agent.strategy.candidate import Candidate


def test_a_spent_budget_is_a_limit_and_no_failed_attempt() -> None:
    turn: Any = None  # nothing is asked of it
    spent = Candidate(attempt=1, exit_code=int(Exit.LIMIT), report="the limit on cost is reached")
    end = asyncio.run(finish_unchanged(turn, [spent]))
    assert end.reason == "limit"
    assert end.detail == "every attempt reached its limit; attempt 1: the limit on cost is reached"


def test_a_turn_ends_at_its_limit_where_the_budget_paid_for_no_attempt() -> None:
    purse = SimpleNamespace(find_stop_reason=lambda: "$1.00 is spent")
    turn: Any = SimpleNamespace(runtime=SimpleNamespace(purse=purse))
    end = asyncio.run(apply_best(turn, [Candidate.create_refused(1, "$1.00 is spent")]))
    assert (end.reason, end.detail) == ("limit", "$1.00 is spent")
