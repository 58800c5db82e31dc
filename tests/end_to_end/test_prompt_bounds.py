"""What a prompt forbids binds every path of its turn, and what it asks for is not done by words."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.cli import Result, call, run, script
from tests.support.repo import Repo

pytestmark = pytest.mark.slow

A = "def f():\n    return 1\n"
TEST_A = "from a import f\n\n\ndef test_f():\n    assert f() == 2\n"

EDIT = [call("edit", path="a.py", old="return 1", new="return 2")]
TWO = [call("write", path="two.py", content="def two():\n    return 2\n")]


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    found = Repo(tmp_path / "repo")
    found.write("a.py", A)
    found.write("b.py", "B = 1\n")
    found.write("test_a.py", TEST_A)
    found.write(".gitignore", "__pycache__\n.pytest_cache\nbuild\n")
    found.commit_all("Start")
    return found


def play(repo: Repo, prompt: str, *turns: dict[str, Any], options: tuple[str, ...] = ()) -> Result:
    path = script(repo.root.parent, list(turns))
    return run("run", prompt, "--model", path, *options, cwd=repo.root, timeout=120)


def count_commits(repo: Repo) -> int:
    return int(repo.git("rev-list", "--count", "HEAD")) - 1


NO_COMMIT = [
    "make f return 2 but do not commit",
    "make f return 2 and leave the change uncommitted, please",
    "Ändere f so, dass es 2 zurückgibt, aber ohne Commit",
    "把 f 改成返回 2，先不要提交",
]


@pytest.mark.parametrize("prompt", NO_COMMIT)
def test_a_forbidden_commit_is_made_by_nobody(repo: Repo, prompt: str) -> None:
    result = play(repo, prompt, {"calls": EDIT}, {"text": "Done."})
    assert (result.code, count_commits(repo)) == (0, 0), result.err
    assert "return 2" in repo.read("a.py")


def test_a_model_that_commits_all_the_same_is_refused(repo: Repo) -> None:
    result = play(
        repo,
        NO_COMMIT[0],
        {"calls": EDIT},
        {"calls": [call("git_commit", message="Return 2")]},
        {"calls": [call("shell", command="git commit -am x")], "expect": ["the prompt forbids a commit"]},
        {"text": "It stays uncommitted.", "expect": ["the prompt forbids a commit"]},
    )
    assert count_commits(repo) == 0, result.err


def test_a_later_turn_does_not_commit_what_was_to_stay_uncommitted(repo: Repo) -> None:
    play(repo, NO_COMMIT[0], {"calls": EDIT}, {"text": "Done."})
    path = script(repo.root.parent, [{"calls": TWO}, {"text": "Added two."}])
    resumed = run("resume", "-p", "add a function two", "--model", path, cwd=repo.root, timeout=120)
    assert (resumed.code, count_commits(repo)) == (0, 0), resumed.err
    path = script(repo.root.parent, [{"text": "It will be committed."}])
    resumed = run("resume", "-p", "now commit it", "--model", path, cwd=repo.root, timeout=120)
    assert count_commits(repo) == 1, resumed.err


NO_EDITS = [
    "do not edit any file, tell me why test_f fails",
    "why does test_f fail? leave the code alone",
    "Ne modifie aucun fichier : pourquoi test_f échoue ?",
    "ファイルを変更しないで、test_f が失敗する理由を教えて",
]


@pytest.mark.parametrize("prompt", NO_EDITS)
def test_forbidden_edits_are_made_by_no_tool(repo: Repo, prompt: str) -> None:
    result = play(
        repo,
        prompt,
        {"calls": EDIT},
        {"calls": TWO, "expect": ["the prompt forbids to change any file"]},
        {"calls": [call("shell", command="sed -i s/1/2/ a.py; echo x > new.txt; true")]},
        {"text": "It returns 1."},
    )
    assert (result.code, repo.git("status", "--porcelain")) == (0, ""), result.err


@pytest.mark.parametrize(
    ("prompt", "path"),
    [
        ("make f return 2, but don't touch b.py", "b.py"),
        ("only change a.py: make f return 2", "b.py"),
        ("make f return 2 without changing the tests", "test_a.py"),
        ("Haz que f devuelva 2, pero no toques b.py", "b.py"),
    ],
)
def test_forbidden_files_stay_as_they_are(repo: Repo, prompt: str, path: str) -> None:
    result = play(
        repo,
        prompt,
        {"calls": [call("write", path=path, content="x = 1\n")]},
        {"calls": [call("shell", command=f"echo 'x = 1' > {path}; true")]},
        {"calls": EDIT, "expect": [f"the prompt forbids to change {path}"]},
        {"text": "f returns 2."},
    )
    assert (result.code, repo.committed()) == (0, ["a.py"]), result.err


def test_a_new_test_is_no_change_of_the_tests(repo: Repo) -> None:
    new = call("write", path="test_b.py", content="def test_b():\n    pass\n")
    result = play(repo, "make f return 2, don't change the tests", {"calls": [*EDIT, new]}, {"text": "Done."})
    assert (result.code, repo.committed()) == (0, ["a.py", "test_b.py"]), result.err


def test_the_offline_engine_is_bound_too(repo: Repo) -> None:
    result = run(
        "run", "make the tests pass, but do not commit", "--model", "offline", cwd=repo.root, timeout=180
    )
    assert (result.code, count_commits(repo)) == (0, 0), result.err
    assert repo.git("status", "--porcelain") == " M a.py\n"
    repo.git("checkout", "a.py")
    result = run(
        "run", "make the tests pass, but do not change a.py", "--model", "offline", cwd=repo.root, timeout=180
    )
    assert (result.code != 0, repo.git("status", "--porcelain")) == (True, "")


MISSED = call("edit", path="a.py", old="no such text", new="x")

TALK = [
    ("add a function two", [{"text": "I added the function two."}], "no file was changed"),
    ("rename f to g", [{"text": "I renamed f; all tests pass."}], "no file was changed"),
    ("add a function two", [{"calls": [MISSED]}, {"text": "I added two."}], "no edit succeeded"),
    (
        "add a function two",
        [
            {"calls": [call("read", path="a.py"), MISSED]},
            {"calls": [MISSED]},
            {"text": "It is there already."},
        ],
        "no edit succeeded",
    ),
    (
        "add a function two",
        [{"calls": [call("read", path="a.py")]}, {"text": "Added it."}],
        "no file was changed",
    ),
    ("could you rename f to g?", [{"text": "Sure! Here is how: …"}], "no file was changed"),
    ("Füge eine Funktion two hinzu", [{"text": "Erledigt."}], "no file was changed"),
    ("添加一个函数 two", [{"text": "已完成。"}], "no file was changed"),
    (
        "add a function two",
        [{"calls": [call("shell", command="python -m pytest -q; true")]}, {"text": "I added two."}],
        "no file was changed",
    ),
]


@pytest.mark.parametrize(("prompt", "turns", "reason"), TALK)
def test_a_change_that_was_not_made_is_not_achieved(
    repo: Repo, prompt: str, turns: list[dict[str, Any]], reason: str
) -> None:
    result = play(repo, prompt, *turns)
    assert result.code == 13, result.err
    assert f"not achieved: {reason}" in result.err.strip().splitlines()[-1]


@pytest.mark.parametrize(
    ("prompt", "turns"),
    [
        ("what does f do?", [{"text": "It returns 1."}]),
        ("the tests are failing", [{"text": "Shall I mend f?"}]),
        ("look at a.py", [{"text": "I looked: it is fine."}]),
        ("write me a haiku about f", [{"text": "f returns a one"}]),
        (
            "run the tests",
            [{"calls": [call("shell", command="python3 -m pytest -q")]}, {"text": "One fails."}],
        ),
        ("add a function f", [{"calls": [call("read", path="a.py")]}, {"text": "a.py has f already."}]),
        (
            "delete the build folder",
            [{"calls": [call("shell", command="mkdir build")]}, {"text": "It is gone."}],
        ),
    ],
)
def test_an_answer_is_no_missing_change(repo: Repo, prompt: str, turns: list[dict[str, Any]]) -> None:
    result = play(repo, prompt, *turns)
    assert result.code == 0, result.err


UNCHANGED = [  # the files are as before, whatever the commands were
    ("make f return 2", "sed -i 's/return 9/return 2/' a.py"),
    ("make f return 2", "touch a.py"),
    ("rename f to g", "cp a.py b && mv b a.py"),
]


@pytest.mark.parametrize(("prompt", "command"), UNCHANGED)
def test_a_command_that_leaves_the_files_as_they_were_is_no_change(
    repo: Repo, prompt: str, command: str
) -> None:
    result = play(repo, prompt, {"calls": [call("shell", command=command)]}, {"text": "Done."})
    assert (result.code, count_commits(repo)) == (13, 0), result.err
    assert "no file was changed" in result.err


def test_an_edit_that_is_reverted_is_no_change(repo: Repo) -> None:
    back = call("shell", command="sed -i 's/return 2/return 1/' a.py")
    result = play(repo, "make f return 2", {"calls": EDIT}, {"calls": [back]}, {"text": "Done."})
    assert (result.code, count_commits(repo)) == (13, 0), result.err


ELSEWHERE = [
    ("generate the tables into out/", call("python", code="open('out/t', 'w').write('x')")),
    ("generate the tables into out/", call("shell", command="python3 -c \"open('out/t', 'w').write('x')\"")),
    ("delete the stale file out/old", call("shell", command="rm out/old")),
    ("create a folder docs", call("shell", command="mkdir docs")),
]


@pytest.mark.parametrize(("prompt", "action"), ELSEWHERE)
def test_a_change_of_what_git_does_not_track_is_a_change(
    repo: Repo, prompt: str, action: dict[str, object]
) -> None:
    repo.write(".gitignore", "out/\n")
    repo.write("out/old", "x\n")
    result = play(repo, prompt, {"calls": [action]}, {"text": "Done."})
    assert result.code == 0, result.err
