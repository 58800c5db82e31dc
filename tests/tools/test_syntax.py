"""Syntax errors that a change brought in."""

from __future__ import annotations

import pytest

from tools.syntax import new_problems, note


def lines(path: str, before: str | None, after: str) -> list[int]:
    return [problem.line for problem in new_problems(path, before, after)]


def test_a_correct_file_has_no_problems() -> None:
    assert new_problems("a.py", None, "x = 1\n") == []
    assert new_problems("a.sh", None, "for i in 1 2; do echo $i; done\n") == []


def test_python_errors_are_worded_by_the_compiler() -> None:
    assert note("a.py", "x = 1\n", "x = (1\n") == "syntax error: a.py:1: '(' was never closed"
    assert "expected an indented block" in note("a.py", None, "def f():\nreturn 1\n")


def test_errors_that_were_there_before_are_not_told() -> None:
    before = "def f(:\n    pass\n\nx = 1\n"
    assert lines("a.py", before, "y = 0\n" + before) == []
    assert lines("a.py", before, before + "def g(:\n    pass\n") == [5]


def test_a_doubtful_escape_is_no_error() -> None:
    assert new_problems("a.py", None, 'x = "\\d"\n') == []


@pytest.mark.parametrize(
    ("path", "source", "line"),
    [
        ("run.sh", "if true; then\n  echo a\n", 3),
        ("package.json", '{\n  "a":\n}\n', 3),
        ("pyproject.toml", "[a]\nb = \n", 2),
    ],
)
def test_other_languages_are_checked_too(path: str, source: str, line: int) -> None:
    assert lines(path, None, source) == [line]


def test_unknown_languages_and_enormous_files_are_left_alone() -> None:
    assert new_problems("a.rs", None, "fn f( {") == []
    assert new_problems("tsconfig.json", None, "{ // a comment\n}") == []
    assert new_problems("a.py", None, "(" * 3_000_000) == []
