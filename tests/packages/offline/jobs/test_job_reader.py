"""Which job a prompt is read as, and which prompts are none."""

from __future__ import annotations

import pytest

from packages.offline.jobs.job_reader import read_job


@pytest.mark.parametrize(
    ("prompt", "kind", "name", "new", "value"),
    [
        ("rename total to grand_total", "rename", "total", "grand_total", ""),
        (
            "Please rename the function `Cart.total` in cart.py to `sum_up`.",
            "rename",
            "Cart.total",
            "sum_up",
            "",
        ),
        ("give foo a better name", "rename", "foo", "", ""),
        ("rename foo to something better", "rename", "foo", "", ""),
        ("Add a docstring to Cart.total", "docstring", "Cart.total", "", ""),
        ("write a docstring for the function add()", "docstring", "add", "", ""),
        ("document the function add", "docstring", "add", "", ""),
        ("write a test for clamp", "test", "clamp", "", ""),
        ("add unit tests for the method Cart.total in cart.py", "test", "Cart.total", "", ""),
        ("write a commit message", "message", "", "", ""),
        ("suggest a commit message for my changes", "message", "", "", ""),
        ("add a parameter strict=False to parse", "parameter", "parse", "strict", "False"),
        ("add an argument depth with default 3 to Tree.walk", "parameter", "Tree.walk", "depth", "3"),
        ("change clamp so that it raises ValueError", "change", "", "", ""),
        ("make parse ignore empty lines", "change", "", "", ""),
        ("what does clamp do?", "question", "", "", ""),
        ("where is the retry limit set?", "question", "", "", ""),
        ("Which function decides whether the header is dropped?", "question", "", "", ""),
        ("where are old sessions deleted?", "question", "", "", ""),
    ],
)
def test_read(prompt: str, kind: str, name: str, new: str, value: str) -> None:
    job = read_job(prompt)
    assert job is not None
    assert (job.kind, job.name, job.new, job.value) == (kind, name, new, value)


@pytest.mark.parametrize(
    "prompt",
    [
        "fix the failing tests",
        "make the tests pass",
        "rename total to grand_total and then fix the tests",
        "Write a test for clamp. Then commit it.",
        "commit my changes",
        "undo your last change",
        "change clamp\n- first\n- second",
        "add a command line option for the output file to the README",
        "change " + "very " * 80 + "much",
        "run the tests",
    ],
)
def test_what_is_more_than_one_job_is_left_to_the_session(prompt: str) -> None:
    assert read_job(prompt) is None


def test_a_ban_on_edits_leaves_only_the_question() -> None:
    job = read_job("what does clamp do? change nothing")
    assert job is None or job.kind == "question"
    assert read_job("do not change any file, but write a docstring for add") is None
