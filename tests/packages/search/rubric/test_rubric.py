"""Criteria and scores as models write them: bounded, weighted, and ignored where they make no sense."""

from __future__ import annotations

from packages.search.rubric.rubric import Criterion, Score, compute_score
from packages.search.rubric.rubric_verifier import read_criteria, read_scores


def test_a_score_is_the_weighted_mean_of_what_is_scored() -> None:
    criteria = [Criterion(id="c1", text="a", weight=3), Criterion(id="c2", text="b", weight=1)]
    assert compute_score(criteria, {"c1": Score(value=1), "c2": Score(value=0)}) == 0.75
    assert compute_score(criteria, {"c2": Score(value=0.5)}) == 0.5
    assert compute_score(criteria, {}) is None


def test_criteria_without_a_text_and_wrong_weights_are_corrected() -> None:
    said = [
        {"text": " the total\nis right ", "weight": 3},
        {"text": 4},
        {"weight": 1},
        {"text": "b", "weight": 900},
        {"text": "b"},
        *({"text": f"more {number}"} for number in range(50)),
    ]
    found = read_criteria(said)
    assert [(each.id, each.text, each.weight) for each in found[:3]] == [
        ("c1", "the total is right", 3),
        ("c2", "b", 2),
        ("c3", "more 0", 2),
    ]
    assert len(found) == 12


def test_scores_of_other_criteria_and_values_do_not_count() -> None:
    criteria = read_criteria([{"text": "a"}, {"text": "b"}, {"text": "c"}])
    said = [
        {"id": "c1", "score": 1, "reason": "a.py:3"},
        {"id": "c2", "score": 0.9},
        {"id": "c3", "score": "1"},
        {"id": "c7", "score": 0},
    ]
    assert read_scores(said, criteria) == {"c1": Score(value=1.0, reason="a.py:3")}
