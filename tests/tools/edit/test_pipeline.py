"""The stages of one edit explain it; only the last one refuses."""

from __future__ import annotations

import pytest

from tools.edit.align.site_alignment import align_match
from tools.edit.decide.decision import decide
from tools.edit.edit_model import Hunk, Line, Lines, Replace, Symbol
from tools.edit.match.matchers import Rung, Source
from tools.edit.match.site_search import find_match
from tools.edit.parse.edit_parser import parse_edit
from tools.edit.pipeline import locate_edit
from tools.edit.refusal import EditRefused
from tools.edit.reindent.text_fitting import fit_text
from tools.edit.splicing import apply_splices

CART = "class Cart:\n    def total(self):\n        return 0\n\n    def clear(self):\n        pass\n"


def test_each_stage_hands_its_value_to_the_next() -> None:
    source = Source(CART)
    edit = Replace(old="2|def total(self):\n3|    return 0\n", new="2|def total(self):\n3|    return 1\n")
    parsed = parse_edit(source, edit, strictest=False)
    assert [reading.note for reading in parsed.readings][:2] == ["", "line numbers removed"]
    match = find_match(source, parsed, ())
    assert match is not None
    assert (match.rung, [site.first for site in match.sites]) == (Rung.INDENTATION, [1])
    [aligned] = align_match(source, match, "")
    fit = fit_text(aligned, "")
    assert [splice.lines for splice in fit.lines] == [("        return 1",)]
    located = decide(source, parsed, match, [fit])
    assert located.note == "line numbers removed"
    assert apply_splices(source, located.splices) == CART.replace("return 0", "return 1")


def test_a_doubt_of_a_stage_is_handed_on_and_refused_at_the_end() -> None:
    source = Source("    say('a', ’b’)\n    ’c’ = 'd'\n")
    edit = Replace(old="    say('a', 'b')\n", new="\tsay('a', 'b')\n\tx\n", whole_lines=True)
    parsed = parse_edit(source, edit, strictest=False)
    match = find_match(source, parsed, ())
    assert match is not None
    [fit] = [fit_text(each, "") for each in align_match(source, match, "")]
    assert "indent" in fit.doubt
    assert fit.splices == ()
    with pytest.raises(EditRefused, match=r"was found at line 1 \(punctuation\), but"):
        decide(source, parsed, match, [fit])


def test_an_edit_that_is_nowhere_is_refused_with_the_nearest_lines() -> None:
    edit = Replace(old="def totals(self, tax):\n    return None\n", new="pass\n")
    with pytest.raises(EditRefused, match=r"does not occur\. Nearest: lines 2–3"):
        locate_edit(Source(CART), edit, "", (), strictest=False)


@pytest.mark.parametrize(
    ("edit", "rung"),
    [
        (Lines(first=3, last=3, new="        return 1\n"), Rung.POSITION),
        (Symbol(name="Cart.total", new="def total(self):\n    return 1\n"), Rung.SYMBOL),
        (Hunk(lines=(Line("+", "    x = 1"),), heads=("class Cart",)), Rung.EXACT),
    ],
)
def test_an_edit_that_names_its_place_needs_no_search(edit: Lines | Symbol | Hunk, rung: Rung) -> None:
    assert locate_edit(Source(CART), edit, "cart.py", (), strictest=False).rung is rung
