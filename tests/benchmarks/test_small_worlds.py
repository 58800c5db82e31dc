"""Small made-up files, and every way in which models write an edit of them wrong: what is meant, or nothing."""

from __future__ import annotations

from random import Random

import pytest

from benchmarks.edit_mutations.catalogue import (
    DRESSED,
    HEADED,
    TRAPPED,
    TWO,
    WRITTEN,
    Case,
    cases,
)
from benchmarks.edit_mutations.judge import WRONGLY, judged
from benchmarks.edit_mutations.matchers import Matcher, Ours, OursInLine
from benchmarks.edit_mutations.worlds import by_shape, ends_blank, within_a_line, world
from tests.support.stress import count_cases

pytestmark = pytest.mark.slow

WORLDS = count_cases(40)

# where lines are left out as "...", how deep these dots are tells which: made-up lines are not so deep for a reason
SLIPS = tuple(name for name in (*WRITTEN, *DRESSED, HEADED, TWO, TRAPPED) if "elided" not in name)


def test_an_edit_of_a_small_file_is_made_as_meant_or_refused() -> None:
    recovered, wrong = 0, []
    for number in range(WORLDS):
        draft = world(Random(number))
        for case in cases(draft, str(number), SLIPS) if draft else ():
            for matcher in asked(case):
                outcome = judged(case, matcher.answer(case))
                recovered += outcome == "recovered"
                if outcome in WRONGLY:
                    wrong.append((number, case.name, case.form, matcher.name))
    assert not wrong
    assert recovered > 10 * WORLDS


def asked(case: Case) -> list[Matcher]:
    """Who can be expected to know what is meant."""
    if case.form == "diff" or by_shape(case):
        return []
    as_argument = case.form == "block" and not (case.by_line or ends_blank(case) or within_a_line(case))
    return [Ours(), OursInLine()] if as_argument else [Ours()]
