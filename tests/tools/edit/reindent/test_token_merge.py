"""Merging by words: what the model changed is done to the line as the file has it, and none of its words gets lost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tools.edit.apply.edit_engine import EditRefused, edit_text
from tools.edit.edit_model import Replace
from tools.edit.refusal import AmbiguousEdit
from tools.edit.reindent.token_merge import merge_words

MERGED = {
    "a quote that the file has otherwise": ("a = ’b’", "a = 'b'", "a = ’c’", "a = 'c'"),
    "a word that the model lacks": ("f(a) + g", "f(a, b) + g", "f(a) + h", "f(a, b) + h"),
    "a word in place of white space": ("return a", "return -a", "return a + 1", "return -a + 1"),
    "a word at the end": ("return a", "return a;", "yield a", "yield a;"),
    "a word at the beginning": ("f(a)", "await f(a)", "f(a, b)", "await f(a, b)"),
    "a word that the model brings itself": ("f(a)", "f(a, b)", "f(a, b, c)", "f(a, b, c)"),
    "a word that the file lacks": ("f(a, b)", "f(a)", "g(a, b)", "g(a)"),
    "a word that both changed": ("a = foo(b)", "a = food(b)", "a = bar(b)", "a = bar(b)"),
}

UNCLEAR = {
    "one dash that the file has otherwise, and two": ("2 - 3, and", "2 — 3, and", "2-1 and 3-3, and"),
    "a word that the file has otherwise": ("a = foo(b)", "a = food(b)", "a = foo(c)"),
    "what stood beside the file's own word is gone": ("x = 1", "x = 1  # all of them", "x = 2"),
    "something new stands where the file's own word does": ("f(a)", "f(a, b)", "f(a, c)"),
    "a part of what the file has otherwise stays": ("f(a, b)", "f(c b)", "f(a; b)"),
}


@pytest.mark.parametrize(("base", "ours", "theirs", "result"), MERGED.values(), ids=MERGED.keys())
def test_both_changes_are_in_the_result(base: str, ours: str, theirs: str, result: str) -> None:
    assert merge_words(base, ours, theirs) == result


@pytest.mark.parametrize(("base", "ours", "theirs"), UNCLEAR.values(), ids=UNCLEAR.keys())
def test_words_of_the_file_are_not_dropped(base: str, ours: str, theirs: str) -> None:
    with pytest.raises(AmbiguousEdit, match="otherwise"):
        merge_words(base, ours, theirs)


LINES = st.lists(st.sampled_from(["a", "b", "c", "(", ")", ",", " "]), max_size=8).map("".join)


@pytest.mark.slow
@given(LINES, LINES)
def test_a_change_of_one_side_alone_is_that_side(base: str, other: str) -> None:
    assert merge_words(base, base, other) == other
    assert merge_words(base, other, other).split() == other.split()


@pytest.mark.slow
@given(LINES, LINES, st.integers(0, 8))
def test_a_word_that_the_file_has_besides_is_in_the_result_or_nothing_is(
    base: str, theirs: str, at: int
) -> None:
    ours = f"{base[:at]} own {base[at:]}"
    try:
        assert "own" in merge_words(base, ours, theirs)
    except AmbiguousEdit:
        return


def test_a_line_that_is_replaced_keeps_what_the_model_forgot_of_it() -> None:
    text = "def f(a):\n    log(a)\n    total = compute(a, 1, timeout=3)\n    return total\n"
    old = "def f(a):\n    log(a)\n    total = compute(a, 1)\n    return total\n"
    for new in ("sum = compute(a, 1)\n", "total = sum(a, 1)\n"):
        made = edit_text(text, [Replace(old=old, new=old.replace("total = compute(a, 1)\n", new))]).text
        assert "timeout=3" in made
    with pytest.raises(EditRefused, match="otherwise"):
        edit_text(text, [Replace(old=old, new=old.replace("compute(a, 1)", "compute(a, 2)"))])
