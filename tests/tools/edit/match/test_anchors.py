"""The two last rungs: they hold fast to what stands exactly, and see every other place that might be meant."""

from __future__ import annotations

import pytest

from tools.edit.match.anchors import find_anchored_sites
from tools.edit.match.elision import find_elided_sites
from tools.edit.match.matchers import Source

BLOCK = "    order = load_order(number)\n    check_stock(order)\n    order.save()\n    notify(order)\n"
WANTED = BLOCK.replace("(number)", "(nr)").rstrip("\n").split("\n")
KEPT = [False] * len(WANTED)


def test_lines_that_stand_exactly_hold_a_reworded_one_in_place() -> None:
    found = find_anchored_sites(Source(f"def f(number):\n{BLOCK}"), WANTED, KEPT)
    assert [(site.first, site.end) for site in found] == [(1, 5)]


@pytest.mark.parametrize("gap", range(12))
def test_a_second_place_is_seen_however_near_it_is(gap: int) -> None:
    between = "".join(f"    other({n})\n" for n in range(gap))
    assert len(find_anchored_sites(Source(f"{BLOCK}{between}{BLOCK}"), WANTED, KEPT)) == 2


def test_a_line_that_is_to_go_has_to_be_there() -> None:
    text = f"def f(number):\n{BLOCK}"
    wanted = ["    something_else_entirely()", *WANTED[1:]]
    assert find_anchored_sites(Source(text), wanted, [True, False, False, False]) == []


def test_too_little_that_stands_exactly_holds_nothing() -> None:
    assert (
        find_anchored_sites(
            Source("}\nvalue = compute(first)\n}\n"), ["}", "value = computed(second)", "}"], [False] * 3
        )
        == []
    )


def test_an_elision_stands_for_any_number_of_lines() -> None:
    source = Source("def f():\n    a()\n    b()\n    c()\n    return 1\ndef g():\n    return 2\n")
    _, found = find_elided_sites(source, ["def f():", "    ...", "    return 1"])
    assert [(site.first, site.end) for site in found] == [(0, 5)]


def test_every_way_to_lay_the_parts_is_a_site() -> None:
    source = Source("start()\nmiddle()\nend()\nstart()\nend()\n")
    _, found = find_elided_sites(source, ["start()", "...", "end()"])
    assert len(found) > 1


def test_an_elision_does_not_leave_the_block_that_it_is_in() -> None:
    source = Source("def f():\n    a()\ndef g():\n    return 2\n")
    assert find_elided_sites(source, ["def f():", "    ...", "    return 2"])[1] == []
