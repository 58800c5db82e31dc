"""The demo's repository: the same commits every time, and bugs that its tests catch."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from cli.commands.setup.demo_repository import create_demo_repository
from sandbox.errors import Fault, UserError

# What the commits of the example hash to: the patches, the identity and the dates decide it, nothing else.
HEAD = "f4c155292234813f4afe98a4919a077943ae4b3c"

FAILING = {
    "tests/test_balance.py::test_after_the_transfers_nobody_owes_anything",
    "tests/test_balance.py::test_who_owes_pays_and_who_is_owed_receives",
    "tests/test_journal.py::test_a_month_ends_with_its_last_day",
    "tests/test_report.py::test_a_statement_runs_the_balance_from_line_to_line",
    "tests/test_report.py::test_as_many_large_expenses_are_named_as_asked_for",
}

# Each bug with its repair: a comparison, swapped arguments, a slice, an operator; in three files.
REPAIRS = [
    ("ledger/journal.py", "first <= expense.day < last", "first <= expense.day <= last"),
    ("ledger/balance.py", "Transfer(creditor, debtor, cents)", "Transfer(debtor, creditor, cents)"),
    ("ledger/report.py", "ranked[: count - 1]", "ranked[:count]"),
    ("ledger/report.py", "running + paid + share", "running + paid - share"),
]


def git(repository: Path, *arguments: str) -> str:
    """What git prints."""
    command = ["git", "-C", str(repository), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def failures(repository: Path) -> set[str]:
    """The node ids of the tests that fail."""
    command = [sys.executable, "-m", "pytest", "-q", "-rfE", "--tb=no", "-p", "no:cacheprovider"]
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1", "COLUMNS": "200"}
    done = subprocess.run(command, cwd=repository, env=env, capture_output=True, text=True, check=False)
    assert "error" not in done.stdout, done.stdout
    return set(re.findall(r"^FAILED (\S+)", done.stdout, re.MULTILINE))


@pytest.mark.slow
def test_the_commits_are_the_same_every_time(tmp_path: Path) -> None:
    repository = create_demo_repository(tmp_path / "deep" / "ledger")
    assert repository == tmp_path / "deep" / "ledger"
    assert git(repository, "rev-parse", "HEAD").strip() == HEAD
    assert git(repository, "status", "--porcelain") == ""
    assert len(git(repository, "log", "--format=%h").split()) == 10


@pytest.mark.slow
def test_settings_of_the_user_change_nothing_and_a_commit_needs_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    (hooks / "applypatch-msg").write_text("#!/bin/sh\nexit 1\n")
    (hooks / "applypatch-msg").chmod(0o755)
    theirs = {"core.autocrlf": "true", "core.hooksPath": str(hooks), "init.defaultBranch": "x"}
    for name, value in (theirs | {"commit.gpgsign": "true"}).items():
        git(tmp_path, "config", "--global", name, value)
    monkeypatch.setenv("GIT_DIR", str(tmp_path / "elsewhere"))
    repository = create_demo_repository(tmp_path / "ledger")
    monkeypatch.delenv("GIT_DIR")
    assert git(repository, "rev-parse", "HEAD", "--abbrev-ref", "HEAD").split() == [HEAD, "main"]
    (repository / "README.md").write_text("changed\n")
    git(repository, "-c", "core.hooksPath=", "commit", "-qam", "Change the README")
    assert git(repository, "log", "-1", "--format=%an").strip() == "Patchwright Demo"


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine")
    with pytest.raises(UserError, match="is not empty") as caught:
        create_demo_repository(tmp_path)
    assert caught.value.fault is Fault.USAGE
    assert [path.name for path in tmp_path.iterdir()] == ["mine.txt"]


def test_a_place_where_no_folder_can_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="could not be made: Not a directory"):
        create_demo_repository(tmp_path / "file" / "ledger")


def test_without_git_it_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="git was not found"):
        create_demo_repository(tmp_path / "ledger")


@pytest.mark.slow
@pytest.mark.timeout(300)  # five runs of pytest, each a process of its own
def test_five_tests_fail_for_four_reasons(tmp_path: Path) -> None:
    repository = create_demo_repository(tmp_path / "ledger")
    assert failures(repository) == FAILING
    left = [len(FAILING)]
    for path, wrong, right in REPAIRS:
        source = (repository / path).read_text("utf-8")
        assert source.count(wrong) == 1
        (repository / path).write_text(source.replace(wrong, right), "utf-8")
        left.append(len(failures(repository)))
    assert left == [5, 4, 2, 1, 0]
