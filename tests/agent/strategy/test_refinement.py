"""Wording of the attempt after a failed one."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from agent.strategy.candidate import Candidate
from agent.strategy.failure_classes import Failure
from agent.strategy.refinement import Refinement, Step


@pytest.mark.parametrize("keeps", [True, False])
def test_only_a_change_that_is_kept_is_to_be_mended(keeps: bool) -> None:
    turn: Any = SimpleNamespace(prompt="mend it", read_patch=lambda candidate: b"patch")
    failure = Failure(kind="wrong behaviour", remedy="mend", evidence="assert 4 == 3")
    step = Step(candidate=Candidate(attempt=1, exit_code=1, patch="out:1"), failure=failure)
    retry = Refinement(turn).plan_retry([step], has_progress=keeps)
    assert retry is not None
    assert ("mend what the tests show" in retry.prompt) is keeps
    assert ("is not in the files any more. Take another way" in retry.prompt) is not keeps
    assert (retry.patch, retry.hint.partition(":")[0]) == ((b"patch", "mend") if keeps else (b"", "restart"))
