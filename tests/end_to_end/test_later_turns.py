"""The state before a turn that is not a session's first: what the turn itself broke or left out is held against it.

The session's processes write nothing between the turns, so that the state is that of the newest snapshot.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import call, run, script
from tests.support.confined import needs_confinement
from tests.support.repo import Repo

pytestmark = pytest.mark.slow

LATER = {"calls": [call("write", path="later.py", content="X = 1\n"), call("shell", command="true")]}
NARROW = {"calls": [call("write", path="pytest.ini", content="[pytest]\npython_files = test_b.py\n")]}
BREAK = {"calls": [call("edit", path="a.py", old="return 1", new="return 3")]}
IGNORE = {"calls": [call("write", path="conftest.py", content='collect_ignore = ["test_a.py"]\n')]}
SAYS_DONE = {"text": "Done."}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    found = Repo(tmp_path / "repo")
    found.write("a.py", "def f():\n    return 1\n")
    found.write("test_a.py", "from a import f\n\n\ndef test_f():\n    assert f() == 1\n")
    found.write("test_b.py", "def test_b():\n    pass\n")
    found.write(".gitignore", "__pycache__\n.pytest_cache\n")
    found.commit_all("Start")
    needs_confinement(found.root)
    return found


@pytest.mark.parametrize(
    ("change", "outcome"),
    [(NARROW, "not-achieved"), (IGNORE, "not-achieved"), (BREAK, "tests-fail")],
    ids=["fewer files", "an ignored file", "a broken test"],
)
def test_a_second_turn_of_one_process_has_its_own_state_before(
    repo: Repo, change: dict[str, Any], outcome: str
) -> None:
    turns = [LATER, SAYS_DONE, {"calls": [call("read", path="a.py")]}, change, *[SAYS_DONE] * 5]
    prompts = ["add later.py", "improve a.py"]
    result = run(
        *(
            "run",
            "--input",
            "stream-json",
            "--output",
            "stream-json",
            "--model",
            script(repo.root.parent, turns),
        ),
        cwd=repo.root,
        stdin="".join(f"{json.dumps({'kind': 'prompt', 'text': each})}\n" for each in prompts),
    )
    ends = [each for each in result.events if each["kind"] == "end"]
    assert [each["outcome"] for each in ends] == ["done", outcome], result.out


@pytest.mark.parametrize("change", [NARROW, IGNORE], ids=["fewer files", "an ignored file"])
def test_a_goal_is_not_reached_by_a_check_of_fewer_tests(repo: Repo, change: dict[str, Any]) -> None:
    repo.write("a.py", "def f():\n    return 2\n")
    repo.commit_all("Break f")
    turns = [change, *[SAYS_DONE] * 8]
    options = (
        "--until",
        "python3 -m pytest -q",
        "--max-turns",
        "1",
        "--model",
        script(repo.root.parent, turns),
    )
    result = run("run", "make f return 1", *options, cwd=repo.root)
    assert "goal not reached" in result.err, result.err
    assert result.code != 0
    assert repo.git("log", "-1", "--format=%s") == "Break f\n"


def test_tests_that_an_earlier_turn_left_out_are_missed_until_they_run(repo: Repo) -> None:
    """Also where the later prompt asks for nothing: what was not done must not be committed as done."""
    turns = [
        NARROW,
        *[SAYS_DONE] * 3,
        SAYS_DONE,
        {"calls": [call("shell", command="rm pytest.ini")]},
        SAYS_DONE,
    ]
    prompts = ["improve a.py", "thanks", "remove pytest.ini"]
    result = run(
        *(
            "run",
            "--input",
            "stream-json",
            "--output",
            "stream-json",
            "--model",
            script(repo.root.parent, turns),
        ),
        cwd=repo.root,
        stdin="".join(f"{json.dumps({'kind': 'prompt', 'text': each})}\n" for each in prompts),
    )
    ends = [each for each in result.events if each["kind"] == "end"]
    assert [each["outcome"] for each in ends][:2] == ["not-achieved", "not-achieved"], result.out
    assert repo.git("log", "--format=%s") == "Start\n"
