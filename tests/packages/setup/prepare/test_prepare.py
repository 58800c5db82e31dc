"""Preparation of a repository: found once a commit, within its time, without running anything of the repository."""

from __future__ import annotations

import json
import subprocess
import time
from pathlib import Path

import pytest

from agent.app_dirs import Home
from agent.memory.memory_key import find_store_path
from agent.memory.memory_store import MemoryStore
from packages.setup.prepare.next_tasks import list_next_tasks
from packages.setup.prepare.preparation import format_preparation, prepare_repository
from sandbox.errors import UserError
from tests.support.cli import PATCHWRIGHT, environment, run
from tests.support.repo import Repo


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    found = Repo(tmp_path / "shop")
    found.write("Makefile", "test:\n\ttouch ran\n")
    found.write("shop/__init__.py", '"""Sells things."""\n')
    found.write("shop/cart.py", "def total():\n    return 0  # TODO: sum the prices\n")
    found.write("tests.py", "")
    found.commit_all("Start the shop")
    for number in range(3):
        found.write("shop/order.py", f"NUMBER = {number}\n")
        found.commit_all(f"Fix the order, {number}")
    return found


@pytest.fixture
def home() -> Home:
    return Home.from_environment()


def test_a_commit_is_prepared_once(repo: Repo, home: Home) -> None:
    found, was_known = prepare_repository(repo.root, home, seconds=60, remembers=True)
    assert not was_known
    assert (found.commit, found.indexed, found.commits) == (repo.head(), 4, 4)
    assert "test: make test (Makefile)" in found.commands
    assert any(each.startswith("`shop/`: Sells things.") for each in found.modules)
    assert "shop/cart.py:2: TODO: sum the prices" in found.tasks
    assert "shop/order.py: mended 3 times in the last 200 commits" in found.tasks
    assert not (repo.root / "ran").exists(), "nothing of the repository is run"
    assert MemoryStore(find_store_path(home, repo.root)).count_cases("history") == 4
    again, was_known = prepare_repository(repo.root, home, seconds=60, remembers=True)
    assert was_known
    assert again == found
    assert "prepared before" in "\n".join(format_preparation(again, was_known=True))
    repo.write("shop/order.py", "NUMBER = 9\n")
    repo.commit_all("Count on")
    later, was_known = prepare_repository(repo.root, home, seconds=60, remembers=True)
    assert (was_known, later.commits) == (False, 1)


def test_memory_that_is_off_is_left_alone(repo: Repo, home: Home) -> None:
    found, _ = prepare_repository(repo.root, home, seconds=60, remembers=False)
    assert (found.commits, found.indexed) == (0, 4)
    assert not home.memory.exists()
    later, was_known = prepare_repository(repo.root, home, seconds=60, remembers=True)
    assert (was_known, later.commits) == (False, 4), "once it is on, the history is remembered"


def test_what_there_is_no_time_for_is_named_and_done_later(repo: Repo, home: Home) -> None:
    found, _ = prepare_repository(repo.root, home, seconds=-1, remembers=True)
    assert found.unfinished == ["the code index", "commands", "modules", "next tasks", "the history"]
    later, was_known = prepare_repository(repo.root, home, seconds=60, remembers=True)
    assert (was_known, later.unfinished, later.indexed) == (False, [], 4)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"format": 1, "commit": 3}', "\0"])
def test_a_damaged_record_is_made_anew(content: str, repo: Repo, home: Home) -> None:
    prepare_repository(repo.root, home, seconds=60, remembers=False)
    [place] = home.get_project_folder(repo.root).glob("prepared.json")
    place.write_text(content)
    found, was_known = prepare_repository(repo.root, home, seconds=60, remembers=False)
    assert (was_known, found.indexed) == (False, 4)


def test_a_folder_without_a_commit_is_not_prepared(tmp_path: Path, home: Home) -> None:
    with pytest.raises(UserError, match="no commit"):
        prepare_repository(Repo(tmp_path / "new").root, home, seconds=60, remembers=True)
    assert list_next_tasks(tmp_path) == []


@pytest.mark.slow
def test_the_command_and_the_hook(repo: Repo, home: Home, tmp_path: Path) -> None:
    shown = run("prepare", "--json", cwd=repo.root)
    assert json.loads(shown.out)["indexed"] == 4, shown.err
    assert run("prepare", "--quiet", cwd=repo.root).out == ""
    assert "4 files indexed, prepared before" in run("prepare", cwd=repo.root).out
    assert run("hook", "install", "post-merge", "--prepare", cwd=repo.root).code == 0
    repo.git("checkout", "-qb", "work")
    repo.write("shop/stock.py", "x = 1\n")
    commit = repo.commit_all("Add stock")
    repo.git("checkout", "-q", "main")
    env = environment({"PATH": f"{make_program(tmp_path)}:/usr/bin:/bin"})
    subprocess.run(["git", "merge", "-q", "work"], cwd=repo.root, env=env, check=True, timeout=60)
    place = home.get_project_folder(repo.root) / "prepared.json"
    until = time.monotonic() + 120
    while json.loads(place.read_text())["commit"] != commit:
        assert time.monotonic() < until, place.read_text()
        time.sleep(0.2)


def make_program(folder: Path) -> Path:
    """Return a folder with the program under its name."""
    program = folder / "bin/patchwright"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {" ".join(PATCHWRIGHT)} "$@"\n')
    program.chmod(0o755)
    return program.parent
