"""A real model of 135 million parameters on two of the twenty small bugs, where `.ci/run` could install it.

Slowness is no finding: a run that its limit ended proves nothing, and is skipped.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from agent.exit_codes import Exit
from benchmarks.small_models.__main__ import Outcome, run_bug
from benchmarks.small_models.bugs import BUGS
from tests.support.small_model import get_folder, is_installed, serve

FOLDER = get_folder()  # before a test has another home

pytestmark = [
    pytest.mark.slow,
    pytest.mark.small_model,
    pytest.mark.skipif(
        not is_installed(FOLDER), reason="no small model: python -m tests.support.small_model"
    ),
]

LIMIT = 25.0
"""Seconds of a run; on an idle core it takes less than half of them."""

HONEST = {Exit.DONE, Exit.TESTS_FAIL, Exit.NOT_ACHIEVED}


@pytest.fixture(scope="module")
def model() -> Iterator[tuple[str, ...]]:
    """Options that name the model and its server."""
    with serve(FOLDER) as (name, base):
        yield "--model", name, "--api-base", base


def mend(name: str, model: tuple[str, ...]) -> Outcome:
    """Let model and engine work on a bug together."""
    outcome = run_bug(next(each for each in BUGS if each.name == name), "both", model, LIMIT)
    assert not outcome.false_done
    if outcome.code in (Exit.LIMIT, -1) or (not outcome.mended and outcome.seconds > LIMIT / 2):
        pytest.skip(f"{name}: the machine is too busy: {outcome.said} after {outcome.seconds:.0f} s")
    return outcome


def test_the_engine_mends_what_the_model_does_not(model: tuple[str, ...]) -> None:
    outcome = mend("average", model)
    assert outcome.mended
    assert outcome.code == Exit.DONE


def test_where_the_engine_finds_nothing_done_is_said_of_a_mended_bug_only(model: tuple[str, ...]) -> None:
    outcome = mend("leap", model)
    assert outcome.code in HONEST
    assert (outcome.code == Exit.DONE) is outcome.mended
