"""One place or nothing: what a text becomes by its edits, and which edits are refused."""

from __future__ import annotations

import pytest

from tools.edit.apply.edit_engine import EditRefused, edit_text
from tools.edit.edit_model import Hunk, Line, Lines, Replace, Symbol


def block(text: str, old: str, new: str) -> str:
    return edit_text(text, [Replace(old=old, new=new, whole_lines=True)], path="a.py").text


def part(text: str, old: str, new: str) -> str:
    return edit_text(text, [Replace(old=old, new=new)], path="a.py").text


TWO_FUNCTIONS = "def f():\n    x = 1\n\n\ndef g():\n    x = 1\n"
TWO_DEPTHS = "def f():\n    foo()\n\n\ndef g():\n    if a:\n        foo()\n"


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        pytest.param(TWO_FUNCTIONS, "    x = 1\n", "    x = 2\n", id="the same line in two functions"),
        pytest.param(TWO_DEPTHS, "foo()\n", "foo2()\n", id="the same call at two depths, given without any"),
        pytest.param("a=1\nb=2\na=1\n", "a=1\n", "a=9\n", id="the first of two"),
        pytest.param("maxx = 1\n", "x = 1\n", "x = 2\n", id="the end of a longer name"),
    ],
)
def test_what_others_change_at_the_wrong_place_is_refused(text: str, old: str, new: str) -> None:
    with pytest.raises(EditRefused):
        block(text, old, new)
    with pytest.raises(EditRefused):
        part(text, old.removesuffix("\n"), new.removesuffix("\n"))


def test_spaces_for_a_tab_do_not_end_up_behind_the_tab() -> None:
    text = "def f():\n\tfoo()\n"
    assert block(text, "    foo()\n", "    foo2()\n") == "def f():\n\tfoo2()\n"
    assert part(text, "    foo()", "    foo2()") == "def f():\n\tfoo2()\n"


def test_what_is_found_by_lines_is_changed_at_these_lines() -> None:
    text = "ax = 1\n \ny\nx = 1\n \ny\n"
    assert part(text, "x = 1\n\ny", "x = 2\n\ny") == "ax = 1\n \ny\nx = 2\n \ny\n"


def test_one_word_that_drifted_in_the_context_does_not_cost_a_turn() -> None:
    text = "def total(items):\n    count = len(items)\n    tax = count * rate\n    return tax + count\n"
    new = text.replace("items", "item", 1).replace("return tax + count", "return tax")
    assert block(text, text.replace("items", "item", 1), new) == text.replace("tax + count", "tax")


def test_the_line_beside_what_stands_exactly_is_the_one_that_was_misremembered() -> None:
    text = (
        'start()\nprice_1 = load(order, "a")\nprice_2 = load(order, "b")\nprice_3 = load(order, "c")\n'
        "check_everything_here(order)\nrun_everything_there(order)\n"
    )
    tail = "check_everything_here(order)\nrun_everything_there(order)\n"
    try:
        result = block(text, f'price_9 = load(order, "q")\n{tail}', f'price_9 = fetch(order, "q")\n{tail}')
    except EditRefused:
        return  # it may be refused, but no line further up may be taken for it
    assert result == text.replace("price_3 = load", "price_3 = fetch")


def test_a_refusal_lists_the_places_with_what_they_are_in() -> None:
    with pytest.raises(EditRefused) as refusal:
        part(TWO_FUNCTIONS, "x = 1", "x = 2")
    assert str(refusal.value) == (
        "`old` matches 2 places:\n  2: x = 1    (def f())\n  6: x = 1    (def g())\n"
        "Give more of the surrounding lines, or all=true."
    )


def test_two_places_that_give_the_same_text_are_no_ambiguity() -> None:
    assert block("a\nb\nb\nc\n", "b\n", "") == "a\nb\nc\n"


def test_the_hunks_of_a_diff_speak_of_the_same_text() -> None:
    first = Hunk(lines=(Line("-", "a"), Line("+", "b")))
    second = Hunk(lines=(Line("-", "b"), Line("+", "c")))
    assert edit_text("a\nb\n", [first, second]).text == "b\nc\n"


def test_a_replacement_sees_the_text_before_what_earlier_ones_wrote() -> None:
    edits = [Replace(old="one", new="two"), Replace(old="two", new="three")]
    assert edit_text("one\ntwo\n", edits).text == "two\nthree\n"


def test_places_are_counted_in_the_text_that_results() -> None:
    edits = [Replace(old="c", new="C"), Replace(old="a", new="1\n2\n3")]
    assert [(place.edit, place.first, place.last) for place in edit_text("a\nb\nc\n", edits).places] == [
        (0, 5, 5),
        (1, 1, 3),
    ]


def test_overlapping_hunks_are_refused_with_their_numbers() -> None:
    hunks = [
        Hunk(lines=(Line("-", "a"), Line("-", "b"), Line("+", "x"))),
        Hunk(lines=(Line("-", "b"), Line("+", "y"))),
    ]
    with pytest.raises(EditRefused, match="edits 1 and 2 change the same lines") as refusal:
        edit_text("a\nb\n", hunks)
    assert refusal.value.edit == 1


def test_the_edit_that_failed_is_named() -> None:
    with pytest.raises(EditRefused) as refusal:
        edit_text("a\n", [Replace(old="a", new="b"), Replace(old="not there", new="c")])
    assert refusal.value.edit == 1


def test_what_stands_there_already_is_said_to_be_applied() -> None:
    with pytest.raises(EditRefused, match="already applied") as refusal:
        part("the limit is 20 items\n", "the limit is 10 items", "the limit is 20 items")
    assert refusal.value.already


def test_lines_outside_the_file_are_refused() -> None:
    assert edit_text("a\nb\nc\n", [Lines(first=2, last=2, new="x\ny\n")]).text == "a\nx\ny\nc\n"
    with pytest.raises(EditRefused, match="the file has 3"):
        edit_text("a\nb\nc\n", [Lines(first=3, last=4, new="x")])


def test_a_symbol_is_replaced_at_its_own_depth() -> None:
    text = "class A:\n    def f(self):\n        return 1\n\n    def g(self):\n        return 2\n"
    result = edit_text(text, [Symbol(name="A.f", new="def f(self):\n    return 3\n")], path="a.py").text
    assert result == text.replace("return 1", "return 3")


def test_only_the_exact_rung_is_taken_when_asked_for() -> None:
    edit = Replace(old="a = 1  \n", new="a = 2\n", whole_lines=True)
    assert edit_text("a = 1\n", [edit]).text == "a = 2\n"
    with pytest.raises(EditRefused):
        edit_text("a = 1\n", [edit], strictest=True)


def test_a_diff_can_take_the_final_newline_away_and_add_it() -> None:
    lines = (Line(" ", "one"), Line("-", "two"), Line("+", "TWO"))
    assert edit_text("one\ntwo\n", [Hunk(lines=lines, no_newline="+")]).text == "one\nTWO"
    assert edit_text("one\ntwo", [Hunk(lines=lines, no_newline="-")]).text == "one\nTWO\n"
