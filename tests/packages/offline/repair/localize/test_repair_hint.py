"""Hints: what they name is tried first, and nothing else is left out."""

from __future__ import annotations

import pytest

from packages.offline.repair.engine.candidates.candidate_generation import generate_candidates
from packages.offline.repair.localize.repair_hint import (
    FILE,
    FUNCTION,
    KIND,
    NO_HINT,
    SPOKEN_FILE,
    SPOKEN_FUNCTION,
    Hint,
)
from packages.offline.repair.localize.statement_ranking import rank_statements
from packages.offline.repair.templates import Hints
from tests.packages.offline.repair.engine.test_patch_search import FAILING, SOURCES, SPECTRUM


@pytest.mark.parametrize(
    ("said", "path", "function", "weight"),
    [
        ("", "src/cart.py", "Cart.total", 1.0),
        ("cart.py", "src/cart.py", "Cart.total", FILE),
        ("src/cart.py::total", "src/cart.py", "Cart.total", FILE * FUNCTION),
        ("look at `Cart.total()`", "src/cart.py", "Cart.total", FUNCTION),
        ("order.py", "src/cart.py", "Cart.total", 1.0),
        ("art.py", "src/cart.py", "Cart.total", 1.0),
        ("in total, an off-by-one", "list.go", "total", FUNCTION),
    ],
)
def test_a_place_is_named_by_its_file_or_its_function(
    said: str, path: str, function: str, weight: float
) -> None:
    assert Hint(said).weigh_place(path, function) == weight


@pytest.mark.parametrize(
    ("said", "template", "weight"),
    [
        ("wrong comparison", "comparison_operator", KIND),
        ("an off-by-one error", "off_by_one", KIND),
        ("swapped arguments", "swapped_arguments", KIND),
        ("the arguments", "swapped_arguments", 1.0),
        ("", "comparison_operator", 1.0),
    ],
)
def test_a_kind_of_change_is_named_by_the_first_word_of_its_name(
    said: str, template: str, weight: float
) -> None:
    assert Hint(said).weigh_template(template) == weight


@pytest.mark.slow
def test_the_kind_that_is_named_comes_first_and_the_others_after_it() -> None:
    hint = Hint("swapped arguments")
    suspects = rank_statements(SOURCES, [FAILING], SPECTRUM)
    plain = list(generate_candidates(suspects, SOURCES, Hints()))
    hinted = list(generate_candidates(suspects, SOURCES, Hints(), hint.weigh_template))
    changes = [(each.change.start, each.change.text) for each in plain]
    assert {(each.change.start, each.change.text) for each in hinted} == set(changes)
    first = [next(e.rank for e in found if e.template == "swapped_arguments") for found in (plain, hinted)]
    assert first[1] < first[0]
    assert NO_HINT.weigh_template("swapped_arguments") == 1.0


def test_a_long_text_is_a_description_and_its_words_are_no_names() -> None:
    report = "swapped total " + "and so on " * 12
    hint = Hint(report, files={"src/cart.py": 1.0, "b.py": 0.5}, functions={("src/cart.py", "Cart.sum"): 1.0})
    assert hint.weigh_template("swapped_arguments") == 1.0
    assert hint.weigh_place("src/total.py", "total") == 1.0
    assert hint.weigh_place("src/cart.py", "Cart.sum") == 1 + SPOKEN_FILE + SPOKEN_FUNCTION
    assert hint.weigh_place("b.py", "Cart.sum") == 1 + SPOKEN_FILE / 2
