"""Ctrl-C and limits of time end the program in the middle of each of its own long works."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.long_work import WORKS, Stop, measure_end, prepare_place

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]

SLACK = 10.0
"""Seconds on a loaded machine; what heeds no stop takes twenty. `benchmarks/ends.py` prints how long it takes on a
quiet one, about half a second.
"""

SIZE = 0.1

CODES: dict[Stop, int] = {"interrupt": 130, "limit": 4}

SHORT = {"arguments without an end"}
"""They are refused so early that they may be over before the stop."""


@pytest.mark.parametrize("stop", CODES)
@pytest.mark.parametrize("name", WORKS)
def test_a_stop_is_heeded_in_the_middle_of_our_own_work(name: str, stop: Stop, tmp_path: Path) -> None:
    work = WORKS[name]
    model = prepare_place(tmp_path / "place", work, SIZE)
    ending = measure_end(tmp_path / "place", work, model, stop, work.delays[1])
    assert ending.seconds < SLACK
    if name not in SHORT and ending.was_running:
        assert ending.code == CODES[stop]
