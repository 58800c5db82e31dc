"""`verify.rubric`: written before the work, scored after it, told as an opinion, and never an outcome."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.cli import call, run, script
from tests.support.repo import Repo

pytestmark = [pytest.mark.slow, pytest.mark.timeout(180)]


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "shop")
    repo.write("cart.py", "def total(items):\n    return sum(items) - 1\n")
    repo.commit_all()
    return repo


@pytest.mark.parametrize("output", ["text", "json"])
def test_a_poor_score_is_told_and_changes_nothing(repo: Repo, output: str) -> None:
    (repo.root.parent / "judge").mkdir()
    said = [
        {"id": "c1", "text": "An empty cart costs nothing", "weight": 3, "score": 0, "reason": "cart.py:2"},
        {"id": "c2", "text": "No other file changes", "weight": 1, "score": 1},
    ]
    seen = [
        {"regex": "write a rubric|[|] - c1: An empty cart(.|\\n)*[+] +return"},
        {"not_contains": "secret"},
    ]
    judge = script(
        repo.root.parent / "judge",
        [
            {"calls": [call("read", path="cart.py")], "expect": seen},
            {"text": json.dumps(said), "expect": ["def total"]},
        ],
    )
    turns = [
        {
            "calls": [call("edit", path="cart.py", old=" - 1", new="")],
            "reasoning": "a secret",
            "text": "a secret",
            "expect": [{"not_contains": "empty cart"}],  # the author does not see the rubric
        },
        {"text": "Done."},
    ]
    env = {"PATCHWRIGHT_VERIFY__RUBRIC": "true", "PATCHWRIGHT_MODELS__JUDGE": judge}
    model = script(repo.root.parent, turns)
    done = run(
        "run", "mend the total", "--model", model, "--tests", "true", "-o", output, cwd=repo.root, env=env
    )
    assert done.code == 0, done.err
    assert repo.git("log", "--format=%s").count("\n") == 2  # committed all the same
    if output == "json":
        found = json.loads(done.out)["rubric"]
        assert found["score"] == 0.25
        assert [(each["id"], each["score"], each["weight"]) for each in found["items"]] == [
            ("c1", 0, 3),
            ("c2", 1, 1),
        ]
        return
    assert "rubric: 2 criteria" in done.err
    assert (
        "rubric: 0.25 of 1 (opinion)\n  ✗ c1 An empty cart costs nothing\n      cart.py:2\n  ✔ c2" in done.err
    )


def test_without_a_judge_a_scripted_session_has_no_rubric(repo: Repo) -> None:
    turns = [{"calls": [call("edit", path="cart.py", old=" - 1", new="")]}, {"text": "Done."}]
    model = script(repo.root.parent, turns)
    words = ("run", "mend it", "--model", model, "--tests", "true", "-o", "json")
    done = run(*words, cwd=repo.root, env={"PATCHWRIGHT_VERIFY__RUBRIC": "true"})
    assert done.code == 0, done.err
    assert "rubric" not in json.loads(done.out)
