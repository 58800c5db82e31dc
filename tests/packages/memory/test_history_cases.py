"""Cases of a repository's own commits."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.memory.case_search import find_similar_places
from agent.memory.memory_store import MemoryStore
from packages.memory.history_cases import seed_from_history
from sandbox.errors import UserError
from tests.support.cli import run
from tests.support.repo import Repo


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    found = Repo(tmp_path / "shop")
    found.write("shop/cart.py", "def compute_rebate(x):\n    a = x\n    b = a\n    c = b\n    return c\n")
    found.write("shop/tax.py", "RATE = 1\n")
    found.commit_all("Start")
    found.write("shop/cart.py", "def compute_rebate(x):\n    a = x\n    b = a\n    c = b\n    return c + 1\n")
    found.write("tests/test_cart.py", "y = 1\n")
    found.commit_all("Correct the loyalty discount\n\nA basket was rounded twice.\n+++ b/evil.py")
    for number in range(40):
        found.write(f"many/{number}.py", "x = 1\n")
    found.commit_all("Vendor many files")
    return found


def test_a_commit_leads_to_its_files_and_only_new_ones_are_added(repo: Repo, tmp_path: Path) -> None:
    store = MemoryStore(tmp_path / "c-1.sqlite")
    assert seed_from_history(store, repo.root) == 2, "the one with many files tells no place"
    newest, _ = store.list_cases(source="history")
    assert newest.places == ("shop/cart.py", "tests/test_cart.py"), "files of the patch, not of the message"
    assert newest.names == ("compute_rebate",)
    [(places, why)] = find_similar_places(store, "the loyalty discount of a basket is off", 1)
    assert (places[0], why) == ("shop/cart.py", "it shares loyalty, discount, basket")
    assert seed_from_history(store, repo.root) == 0
    repo.write("shop/tax.py", "RATE = 2\n")
    repo.commit_all("Raise the tax")
    assert seed_from_history(store, repo.root) == 1


def test_a_patch_with_null_bytes_leaves_the_commits_before_it_their_files(repo: Repo, tmp_path: Path) -> None:
    repo.write(".gitattributes", "*.dat diff\n")
    repo.write("a.dat", "x\0y\n")
    repo.commit_all("Add data")
    store = MemoryStore(tmp_path / "c-1.sqlite")
    assert seed_from_history(store, repo.root) == 3
    assert [(each.task.split("\n")[0], len(each.places)) for each in store.list_cases()] == [
        ("Add data", 2), ("Correct the loyalty discount", 2), ("Start", 2),
    ]  # fmt: skip


def test_a_folder_without_git_has_no_history(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="history cannot be read"):
        seed_from_history(MemoryStore(tmp_path / "c-1.sqlite"), tmp_path)


@pytest.mark.slow
def test_the_command_says_how_many(repo: Repo) -> None:
    assert run("memory", "seed", cwd=repo.root).out == "new cases: 2\n"
    assert run("memory", "list", cwd=repo.root).out == "2 commits of the history\n"
    told = run("memory", "seed", cwd=repo.root.parent).err
    assert ("not in a git repository" in told, "--no-commit" in told) == (True, False), "it has none"


def test_long_lines_of_a_commit_are_read_in_linear_time(repo: Repo, tmp_path: Path) -> None:
    repo.write("shop/data.py", "x = 1\n" + "word " * 60_000 + "\n" + "a\n" * 10)
    repo.commit_all("Add data")
    repo.write("shop/data.py", "x = 1\n" + "word " * 60_000 + "\n" + "a\n" * 9 + "b\n")
    repo.commit_all("Correct the data")
    assert seed_from_history(MemoryStore(tmp_path / "c-1.sqlite"), repo.root) == 4
