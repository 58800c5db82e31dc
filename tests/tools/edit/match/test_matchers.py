"""Each rung sees lines in one way, and the strictest one that finds a site says so."""

from __future__ import annotations

import pytest

from tools.edit.apply.edit_engine import edit_text
from tools.edit.edit_model import Replace
from tools.edit.match.matchers import (
    STEPS,
    Rung,
    Source,
    Step,
    find_sites,
    is_distinctive,
    normalize_punctuation,
    normalize_tokens,
)

TEXT = "def f(a):\n    x = call(a, 'b')\n    y = x - 1\n    z = y\n    return z\n"


@pytest.mark.parametrize(
    ("old", "rung"),
    [
        ("    x = call(a, 'b')\n", Rung.EXACT),
        ("    x = call(a, 'b')   \n", Rung.TRAILING),
        ("x = call(a, 'b')\n", Rung.INDENTATION),
        ("    x = call(a, ’b’)\n", Rung.PUNCTUATION),
        ("    x=call( a,'b' )\n", Rung.WHITE_SPACE),
        ("    x = call(a, 'b')\n    ...\n    z = y\n", Rung.ELISION),
        ("def f(q):\n    x = call(a, 'b')\n    y = x - 1\n    z = y\n", Rung.ANCHORS),
    ],
)
def test_the_strictest_rung_that_fits_is_taken(old: str, rung: Rung) -> None:
    indent = old[: len(old) - len(old.lstrip())] if old.count("\n") == 1 else "    "
    result = edit_text(TEXT, [Replace(old=old, new=f"{old}{indent}new_line()\n", whole_lines=True)])
    assert [place.rung for place in result.places] == [rung]
    assert result.text.replace("    new_line()\n", "") == TEXT


@pytest.mark.parametrize("step", STEPS, ids=lambda step: f"{step.rung}{step.skips_blank:d}")
def test_every_step_finds_all_sites_in_order(step: Step) -> None:
    source = Source("a = 1\nb = 2\n" * 3)
    found = find_sites(source, ["a = 1", "b = 2"], step)
    assert [(site.first, site.end) for site in found] == [(0, 2), (2, 4), (4, 6)]


def test_sites_outside_the_given_lines_do_not_count() -> None:
    source = Source("a\nb\na\nb\n")
    assert [site.first for site in find_sites(source, ["a", "b"], STEPS[0], 1)] == [2]
    assert [site.first for site in find_sites(source, ["a", "b"], STEPS[0], 0, 3)] == [0]


def test_blank_lines_may_be_missing_or_too_many_between_lines() -> None:
    source = Source("a = 1\n\n\nb = 2\n")
    loose = next(step for step in STEPS if step.skips_blank)
    assert [(site.first, site.end) for site in find_sites(source, ["a = 1", "b = 2"], loose)] == [(0, 4)]


def test_white_space_counts_only_between_words() -> None:
    assert normalize_tokens("  if ( a  ==  b ):") == "if(a==b):"
    assert normalize_tokens("return  x") == "return x"
    assert normalize_tokens("returnx") != normalize_tokens("return x")


def test_look_alikes_are_the_same_and_what_cannot_be_seen_is_nothing() -> None:
    assert normalize_punctuation("“a” – b\u200b") == '"a" - b'


def test_brackets_and_words_that_stand_everywhere_say_too_little() -> None:
    assert not is_distinctive("})\nend\n]")
    assert is_distinctive("total")


def test_a_text_knows_its_lines_and_its_end() -> None:
    assert (Source("a\nb\n").lines, Source("a\nb\n").ends_with_newline) == (["a", "b"], True)
    assert (Source("a\nb").lines, Source("a\nb").ends_with_newline) == (["a", "b"], False)
    assert Source("").lines == []
    source = Source("a\nbc\n")
    assert [source.offset(number) for number in range(3)] == [0, 2, 5]
