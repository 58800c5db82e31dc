"""Commits as turns: one that did what it says passes, one that did not is stopped, a loss of checks is told apart."""

from __future__ import annotations

import asyncio
from pathlib import Path

from benchmarks.verification.commit_alarms import judge_commit
from benchmarks.verification.prompt_requirements import open_workspace
from benchmarks.verification.real_commits import list_any_commits, read_files
from tests.support.repo import Repo

TEST = (
    "from cart import total\n\n\ndef test_total():\n    assert total([]) == 0\n    assert total([2]) == 2\n"
)


def test_what_stops_a_commit_is_an_alarm_or_a_loss_of_checks(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "repo")
    repo.write("cart.py", "def total(items):\n    return sum(items)\n")
    repo.write("tests/test_cart.py", TEST)
    repo.commit_all("Start")
    repo.write("cart.py", "def total(items):\n    return sum(items)\n\n\ndef mean(items):\n    return 0\n")
    honest = repo.commit_all("Add a function `mean` to cart.py")
    repo.write(
        "cart.py", "def total(items):\n    return sum(items) or 0\n\n\ndef mean(items):\n    return 0\n"
    )
    broken = repo.commit_all("Add a function `rate` to cart.py")
    repo.write("tests/test_cart.py", TEST.replace("    assert total([2]) == 2\n", ""))
    weaker = repo.commit_all("Tidy up")
    at = open_workspace(repo.root, tmp_path)

    judged = {}
    for commit, files, others in read_files(repo.root, list_any_commits(repo.root, "made")):
        stops, _, is_true = asyncio.run(judge_commit(commit, files, others, at))
        judged[commit.name] = ([each.partition(":")[0] for each in stops], is_true)
    assert judged == {
        honest: ([], False),
        broken: (["name-exists"], False),
        weaker: (["lost-check"], True),
    }
