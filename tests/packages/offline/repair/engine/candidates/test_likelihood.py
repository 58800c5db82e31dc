"""How likely a change looks: what it is told from, and that what the file does elsewhere is likelier."""

from __future__ import annotations

import math

import pytest

from packages.offline.repair.engine.candidates.likelihood import compute_likelihood, measure_traits
from packages.offline.repair.templates import Change, Site, Source
from packages.offline.repair.templates.support.weights import TRAITS

PROGRAM = """\
def first(items, limit):
    if items is None or len(items) > limit:
        return []
    return items[:limit]


def last(items, limit):
    if len(items) > limit:
        return []
    return items[-limit:]
"""


def site(line: int) -> Site:
    source = Source("a.py", PROGRAM)
    return Site(source=source, statement=next(each for each in source.statements if each.lineno == line))


def changed(old: str, new: str, line: int) -> Change:
    start = PROGRAM.index(old, Source("a.py", PROGRAM).get_line_start(line))
    return Change(start=start, end=start + len(old), text=new, why="")


def known(old: str, new: str, line: int, place: int = 0, alike: int = 1) -> dict[str, float]:
    return dict(zip(TRAITS, measure_traits(site(line), changed(old, new, line), place, alike), strict=True))


def test_words_that_stand_together_nowhere_are_counted() -> None:
    unseen = "three tokens that stand in a row nowhere"
    as_elsewhere = known("len(items) > limit", "items is None or len(items) > limit", 8)
    assert as_elsewhere[unseen] == 0.0
    assert as_elsewhere["names added"] == math.log(2), "`None` and `or` are no names"
    assert as_elsewhere["names that the statement has"] == math.log(2)
    new = known("len(items) > limit", "limit is None or len(items) > limit", 8)
    assert new[unseen] == pytest.approx(math.log(4)), "`: if limit`, `if limit is`, `limit is None`"


def test_names_are_told_apart_by_where_they_stand() -> None:
    near = known("items[-limit:]", "first(items, limit)", 10)
    assert near["names added"] == math.log(2)
    assert near["names of the lines around"] == 0.0, "`first` stands further off than five lines"
    assert known("items[-limit:]", "len(items)", 10)["names of the lines around"] == math.log(2)


def test_what_is_put_before_a_block_or_taken_away_is_known() -> None:
    start = Source("a.py", PROGRAM).get_line_start(8)
    inserted = measure_traits(site(8), Change(start=start, end=start, text="    limit = 1\n", why=""), 3, 7)
    by_name = dict(zip(TRAITS, inserted, strict=True))
    assert by_name["inserted before a block"] == 1.0
    assert (by_name["removes"], by_name["replaces"]) == (0.0, 0.0)
    assert by_name["lines"] == math.log(2)
    assert by_name["changes of the template before it"] == math.log(4)
    assert by_name["changes of the template"] == math.log(8)
    assert known("        return []\n", "", 9)["removes"] == 1.0


def test_what_the_file_does_elsewhere_is_likelier() -> None:
    place, old = 8, "len(items) > limit"
    here = site(place)
    seen, unseen = (
        compute_likelihood(measure_traits(here, changed(old, new, place), 0, 1))
        for new in ("items is None or len(items) > limit", "limit is None or len(items) > limit")
    )
    assert seen > 1.5 * unseen


def test_one_name_for_another_that_is_like_it_is_known() -> None:
    alike = known("limit", "limits", 8)["likeness of one name for another"]
    assert 0.85 < alike < 1
    assert known("limit", "items", 8)["likeness of one name for another"] < alike
