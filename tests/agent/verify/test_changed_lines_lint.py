"""The project's linters judge changed lines at the end of a turn, where a setting asks for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import Result, call, run, script
from tests.support.repo import Repo

pytestmark = pytest.mark.slow

OLD = "import os\n\nx = 1\n"
"""An unused import that was there before: no concern of the turn."""


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    made = Repo(tmp_path / "linted")
    made.write("a.py", OLD)
    made.write("test_a.py", "from a import x\n\n\ndef test_x():\n    assert x\n")
    made.write("pyproject.toml", "[tool.ruff.lint]\nselect = ['F']\n")
    made.write(".gitignore", "__pycache__\n.pytest_cache\n.ruff_cache\n")
    made.commit_all("Start")
    return made


def play(repo: Repo, turns: list[dict[str, Any]], *, lint: bool = True) -> Result:
    model = script(repo.root.parent, turns)
    env = {"PATCHWRIGHT_VERIFY__LINT": str(lint).lower(), "PATCHWRIGHT_EDIT__LINT": "false"}
    return run("run", "set x to 2", "--model", model, cwd=repo.root, env=env, timeout=180)


UNUSED = call("edit", path="a.py", old="x = 1", new="import re\n\nx = 2")
MENDED = call("edit", path="a.py", old="import re\n\nx = 2", new="x = 2")


def test_a_complaint_about_a_changed_line_goes_to_the_model_and_can_be_mended(repo: Repo) -> None:
    turns = [
        {"calls": [UNUSED]},
        {"text": "Done."},
        {
            "calls": [MENDED],
            "expect": ["the project's linters complain about lines that you changed", "a.py:3"],
        },
        {"text": "Mended."},
    ]
    result = play(repo, turns)
    assert result.code == 0, result.err
    assert repo.committed() == ["a.py"]


def test_a_complaint_that_stays_withholds_the_commit(repo: Repo) -> None:
    result = play(repo, [{"calls": [UNUSED]}, {"text": "Done.", "repeat": 9}])
    assert result.code == 13, result.err
    assert "linters complain about changed lines" in result.out
    assert repo.git("rev-list", "--count", "HEAD").strip() == "1"


def test_without_the_setting_no_linter_is_asked(repo: Repo) -> None:
    result = play(repo, [{"calls": [UNUSED]}, {"text": "Done."}], lint=False)
    assert result.code == 0, result.err
