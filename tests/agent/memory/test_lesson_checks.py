"""Checks of lessons: one whose file or name is gone is not shown."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.memory.lesson_checks import holds
from agent.memory.records import Check, Lesson
from tests.support.repo import Repo


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("file", "tools/check.sh", True),
        ("file", "tools", True),
        ("file", "tools/gone.sh", False),
        ("file", "../outside.txt", False),
        ("file", "/etc/passwd", False),
        ("symbol", "shop.py:total", True),
        ("symbol", "shop.py:tot", False),
        ("symbol", "gone.py:total", False),
        ("command", "true", False),  # no kind of ours: nothing is run
    ],
)
def test_a_check_holds_or_not(kind: str, value: str, expected: bool, tmp_path: Path) -> None:
    (tmp_path / "outside.txt").write_text("x")
    repo = Repo(tmp_path / "shop")
    repo.write("shop.py", "def total(): ...\n")
    repo.write("tools/check.sh", "")
    lesson = Lesson(id="L1", kind="note", claim="c", checks=(Check(kind=kind, value=value),))  # type: ignore[arg-type]
    assert holds(lesson, repo.root) is expected
