"""What passing tests run with a change and without, line by line."""

from __future__ import annotations

from dataclasses import replace

import pytest

from packages.offline.repair.engine.candidates.anti_patterns import leaves_dead_code, reverses_control_flow
from packages.offline.repair.engine.candidates.candidate_generation import (
    NAMED,
    Candidate,
    generate_candidates,
)
from packages.offline.repair.engine.candidates.composed_edits import Edit
from packages.offline.repair.engine.candidates.ranking import (
    FEW,
    MANY_STATEMENTS,
    NOWHERE,
    RIVAL,
    SHARED,
    SURE,
    UNSEEN,
    UNUSED,
    PlausiblePatch,
    compute_confidence,
    estimate_trust,
    explain_doubts,
)
from packages.offline.repair.engine.validation.behaviour_diff import runs_same_lines
from packages.offline.repair.localize.coverage_spectrum import Spectrum, Test
from packages.offline.repair.localize.statement_ranking import rank_statements
from packages.offline.repair.result import LOW
from packages.offline.repair.templates import Change, Hints, Source

TEXT = """\
def last(items):
    if has(items, "rev"):
        return back(items)
    return deep(items)

def other(a):
    return a
"""


def edit(old: str, new: str) -> Edit:
    start = TEXT.index(old)
    return Edit(path="a.py", start=start, end=start + len(old), text=new)


def lines(*numbers: int) -> dict[str, frozenset[int]]:
    return {"a.py": frozenset(numbers)}


def unchanged(change: Edit, before: tuple[int, ...], after: tuple[int, ...]) -> bool:
    return runs_same_lines(lines(*before), lines(*after), [change], {"a.py": TEXT})


def test_a_line_that_is_changed_does_not_count_and_those_after_it_keep_their_names() -> None:
    split = edit('has(items, "rev")', 'has(\n        items, "rev")')
    assert unchanged(split, (2, 4, 7), (2, 3, 5, 8))
    assert not unchanged(split, (2, 4, 7), (2, 3, 4, 8))
    guard = edit("    return deep", "    if not items:\n        return None\n    return deep")
    assert unchanged(guard, (2, 4), (2, 4, 6))
    assert not unchanged(guard, (2, 4, 7), (2, 4, 5)), "it leaves before it comes to where it came"


def test_what_is_moved_is_known_by_its_text() -> None:
    both = '    if has(items, "rev"):\n        return back(items)\n'
    moved = edit(f"{both}    return deep(items)\n", f"    return deep(items)\n{both}")
    assert unchanged(moved, (4,), (2,))
    assert not unchanged(moved, (2, 3), (2,)), "it went back, and goes deep now"


def test_lines_that_come_or_go_leave_those_behind_them_as_they_were() -> None:
    gone = edit("        return back(items)\n", "")
    assert unchanged(gone, (2, 4, 7), (2, 3, 6))
    come = edit("    return deep", "    note()\n    return deep")
    assert unchanged(come, (2, 4), (2, 4, 5))
    assert runs_same_lines(lines(1), lines(1), [], {"a.py": TEXT})
    assert not runs_same_lines(lines(1), {"b.py": frozenset({1})}, [], {"a.py": TEXT})


SOURCES = {"a.py": Source("a.py", TEXT)}
FAILING = Test(index=0, id="t.py::0", file="t.py", standing="failed", lines=lines(1, 2, 3, 4))
FIRST = next(
    iter(
        generate_candidates(
            rank_statements(SOURCES, [FAILING], Spectrum(tests=[FAILING], imported={}, complete=True)),
            SOURCES,
            Hints(),
        )
    )
)


def made(old: str, new: str, line: int = 2) -> Candidate:
    start = TEXT.index(old)
    change = Change(start=start, end=start + len(old), text=new, why="")
    statement = next(each for each in SOURCES["a.py"].statements if each.lineno == line)
    return replace(FIRST, change=change, suspect=replace(FIRST.suspect, statement=statement))


@pytest.mark.parametrize(
    ("old", "new", "turned", "dead"),
    [
        ('has(items, "rev")', 'not has(items, "rev")', True, False),
        ('has(items, "rev")', 'has(items, "last")', False, False),
        ("        return back(items)\n", "        back(items)\n", True, False),
        ("    return deep(items)\n", "    return deep(items)\n    note()\n", False, True),
    ],
)
def test_what_turns_the_ways_through_a_function_around(old: str, new: str, turned: bool, dead: bool) -> None:
    assert reverses_control_flow(made(old, new)) is turned
    assert leaves_dead_code(made(old, new)) is dead


def test_a_reversed_condition_is_doubted_where_no_passing_test_looks_on() -> None:
    reversed_ = made('has(items, "rev")', 'not has(items, "rev")')
    assert reversed_.precision >= SURE
    assert estimate_trust(reversed_, 3) == reversed_.precision
    assert estimate_trust(reversed_, 0) == reversed_.precision * UNSEEN
    assert estimate_trust(made("    return deep(items)\n", "    return deep(items)\n    note()\n"), 3) < SURE
    assert UNUSED < SURE


def test_what_sends_other_tests_another_way_is_trusted_less_and_comes_later() -> None:
    candidate = made('"rev"', '"last"')
    calm = PlausiblePatch(candidate=candidate, helped=frozenset({0}), trust=0.95, near=9)
    few, all_of_them = replace(calm, disturbed=1 / 8), replace(calm, disturbed=1.0)
    assert calm.preference < few.preference < all_of_them.preference
    assert (calm.is_doubtful, few.is_doubtful, all_of_them.is_doubtful) == (False, False, True)


def test_in_a_large_project_a_rival_at_another_place_takes_more_from_the_confidence() -> None:
    found = PlausiblePatch(candidate=made('"rev"', '"last"'), helped=frozenset({0}), trust=0.9, near=9)
    beside = replace(found, candidate=made('"rev"', '"first"'))
    elsewhere = replace(
        found, candidate=replace(beside.candidate, suspect=replace(beside.candidate.suspect, path="b.py"))
    )
    doubtful, many = replace(elsewhere, disturbed=1.0), MANY_STATEMENTS + 1
    assert compute_confidence(found, []) == 0.9
    assert (
        compute_confidence(found, [beside]) == compute_confidence(found, [elsewhere]) == round(0.9 * RIVAL, 2)
    )
    alone, shared = (found.weight / (found.weight * places + NOWHERE) for places in (1, 2))
    assert compute_confidence(found, [], many) == round(0.9 * alone**SHARED, 2)
    assert compute_confidence(found, [elsewhere], many) == round(0.9 * shared**SHARED, 2)
    assert compute_confidence(found, [elsewhere], many) < compute_confidence(found, [doubtful], many)
    assert compute_confidence(found, [doubtful], many) < compute_confidence(found, [beside], many)
    assert compute_confidence(replace(found, near=1), []) == round(0.9 * FEW, 2)
    other_fault = replace(beside, helped=frozenset({1}))
    assert compute_confidence(found, [other_fault]) == 0.9, "what mends another test is no rival"


def test_weak_evidence_is_not_written_unasked_and_says_why() -> None:
    """A rival at another place leaves a change in doubt, a single example one that is often wrong; others settle it."""
    found = PlausiblePatch(candidate=made('"rev"', '"last"'), helped=frozenset({0}), trust=0.95, near=1)
    other = replace(found.candidate, suspect=replace(found.candidate.suspect, path="b.py", line=7))
    rival = replace(found, candidate=other)
    assert compute_confidence(found, [], checks=2) >= LOW
    assert explain_doubts(found, [], 2) == "few tests run the place"
    assert LOW <= compute_confidence(found, [], checks=1) < compute_confidence(found, [], checks=2)
    often_wrong = replace(found, trust=0.7)
    assert (
        compute_confidence(often_wrong, [], checks=1) < LOW <= compute_confidence(often_wrong, [], checks=2)
    )
    assert "only one result is checked" in explain_doubts(found, [], 1)
    assert compute_confidence(replace(found, trust=NAMED), [], checks=1) >= LOW
    assert compute_confidence(found, [rival], checks=2) < LOW
    assert "a change at b.py:7 passes the same tests" in explain_doubts(found, [rival], 2)
    assert compute_confidence(replace(found, near=4), [rival], checks=2) >= LOW
    natural = replace(found, naturalness=2.0)
    assert compute_confidence(natural, [rival], checks=1) >= LOW
    assert compute_confidence(natural, [replace(rival, naturalness=3.0)], checks=1) < LOW
    assert "the model finds the old lines likelier" in explain_doubts(replace(found, naturalness=-9.0), [], 2)
