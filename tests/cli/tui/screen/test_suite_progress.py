"""How far a test run is, from the lines of its runner."""

from __future__ import annotations

import pytest

from cli.tui.screen.suite_progress import TestProgress


@pytest.mark.parametrize(
    ("lines", "counts"),
    [
        (
            ["collected 40 items", "test_a.py ...... [ 15%]", "test_b.py ..F... [ 30%]"],
            "12/40 · 1 failed so far",
        ),
        (["test_a.py ..F. [ 42%]"], "42 % · 1 failed so far"),
        (["1..3", "ok 1 - adds", "not ok 2 - divides"], "2/3 · 1 failed so far"),
        (["compiling"], ""),
        (["test_a.py .", "test_a.py ..", "test_a.py ..F"], "1 failed so far"),
    ],
)
def test_counts_follow_the_runner(lines: list[str], counts: str) -> None:
    progress = TestProgress()
    assert [progress.count_line(line) for line in lines][-1] == counts
