"""Answers to a proposed change."""

from __future__ import annotations

import pytest

from agent.prompt.proposal_answers import accepts_proposal, read_accepted_numbers


@pytest.mark.parametrize(
    ("prompt", "numbers"),
    [
        ("yes", ()),
        ("OK, go ahead.", ()),
        ("please apply the proposed change", ()),
        ("apply change 2", (2,)),
        ("apply changes\n 1, 3 and 4", (1, 3, 4)),
        (" " * 100_000 + "yes" + "\n" * 100_000, ()),
    ],
)
def test_an_answer_accepts_all_or_some_changes(prompt: str, numbers: tuple[int, ...]) -> None:
    assert accepts_proposal(prompt)
    assert read_accepted_numbers(prompt) == numbers


@pytest.mark.parametrize(
    "prompt",
    ["yes, but rename it", "apply the migration", "y" * 100_000, "yes " * 100_000 + "no", "1, " * 100_000],
)
def test_another_task_accepts_nothing(prompt: str) -> None:
    assert not accepts_proposal(prompt)
    assert read_accepted_numbers(prompt) == ()
