"""Files without a commit that leave tests out: held against a later session where one of ours left them, else told."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from agent.exit_codes import Exit
from tests.end_to_end.test_fewer_tests import LOST, MENDED, NARROWED, PYTHON, work
from tests.support.cli import Result, call, run, script
from tests.support.repo import Repo

pytestmark = pytest.mark.slow

PROMPT = "make the failing tests pass"
GOAL = ("--until", "python -m pytest -q", "--max-turns", "1")
OWN = {
    "a new pytest.ini": NARROWED["a new pytest.ini"],
    "deselected": NARROWED["deselected"],
    "a conftest that ignores": NARROWED["a conftest that ignores"],
    "another name": NARROWED["another name"],
}


def go_on(repo: Repo, *options: str, prompt: str = PROMPT) -> Result:
    """A later session whose model only claims."""
    return run(
        "run", prompt, *options, "--model", script(repo.root.parent, [{"text": "Done."}] * 4), cwd=repo.root
    )


def make_repo(folder: Path, *changes: Mapping[str, str]) -> Repo:
    repo = Repo(folder / "r")
    for name, text in PYTHON.items():
        repo.write(name, text)
    repo.commit_all("Start")
    for name, text in [pair for each in changes for pair in each.items()]:
        repo.write(name, text)
    return repo


@pytest.mark.parametrize(
    ("name", "options"), [(name, GOAL if number % 2 else ()) for number, name in enumerate(NARROWED)]
)
def test_what_an_earlier_session_left_behind_counts(
    tmp_path: Path, name: str, options: tuple[str, ...]
) -> None:
    repo, first = work(tmp_path, PYTHON, MENDED, NARROWED[name], prompt="make the tests pass")
    assert first.code == Exit.NOT_ACHIEVED, first.err
    later = go_on(repo, *options)
    assert later.code != Exit.DONE, later.err
    assert "not committed" in later.err


@pytest.mark.parametrize(
    ("name", "options"), [(name, () if number % 2 else GOAL) for number, name in enumerate(OWN)]
)
def test_what_the_user_changed_is_told(tmp_path: Path, name: str, options: tuple[str, ...]) -> None:
    repo = make_repo(tmp_path, MENDED, OWN[name])
    later = go_on(repo, *options)
    assert later.code == Exit.DONE, later.err
    assert "not committed" in later.err


def test_what_a_prompt_asked_for_before_does_not_count(tmp_path: Path) -> None:
    asked = "configure pytest to collect only tests/test_mail.py, and mend sender in mail.py; do not commit"
    repo, first = work(tmp_path, PYTHON, MENDED, NARROWED["a new pytest.ini"], prompt=asked)
    assert first.code == Exit.DONE, first.err
    later = go_on(repo)
    assert later.code == Exit.DONE, later.err


def test_the_work_that_passes_all_the_same_is_done(tmp_path: Path) -> None:
    repo, _ = work(tmp_path, PYTHON, MENDED, NARROWED["a new pytest.ini"], prompt="make the tests pass")
    mend = {"calls": [call("edit", path="cart.py", old="items[1:]", new="items")]}
    model = script(tmp_path, [mend, *[{"text": "Done."}] * 4], "more.json")
    later = run("run", PROMPT, *GOAL, "--model", model, cwd=repo.root)
    assert later.code == Exit.DONE, later.err


@pytest.mark.parametrize(
    "change",
    [{"tests/test_more.py": "def test_more():\n    pass\n"}, {"conftest.py": "import sys\n"}],
    ids=["more tests", "no narrowing"],
)
def test_other_uncommitted_files_are_not_named(tmp_path: Path, change: Mapping[str, str]) -> None:
    whole = {"cart.py": "def total(items):\n    return sum(items)\n"}
    repo = make_repo(tmp_path, MENDED, whole, change)
    later = go_on(repo, *GOAL)
    assert later.code == Exit.DONE, later.err
    assert "not committed" not in later.err


def test_a_check_that_an_earlier_session_weakened_counts(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "r")
    repo.write("a.py", "def f():\n    return 1\n")
    repo.write("check.sh", "python3 -c 'import a; assert a.f() == 2'\n")
    repo.commit_all("Start")
    weaken = {"calls": [call("edit", path="check.sh", old="a.f() == 2", new="a.f()")]}
    options = ("run", "make f return 2", "--until", "sh check.sh", "--max-turns", "1", "--model")
    first = run(*options, script(tmp_path, [weaken, *[{"text": "Done."}] * 4]), cwd=repo.root)
    assert first.code != Exit.DONE, first.err
    later = run(*options, script(tmp_path, [{"text": "Done."}] * 4), cwd=repo.root)
    assert later.code != Exit.DONE, later.err
    assert "check.sh is not committed" in later.err


def test_the_names_are_on_the_last_line(tmp_path: Path) -> None:
    repo = make_repo(tmp_path, MENDED, NARROWED["a new pytest.ini"])
    later = go_on(repo)
    assert f"not run, since pytest.ini is not committed: {LOST}" in " ".join(later.err.split()), later.err
