"""Each check finds what it is for in a real index, and has nothing to say of ordinary work."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.repo import Repo
from tools.git.git_change import read_committed_change, read_staged_change
from tools.git.git_process import Git
from tools.lint.checks import run_checks
from tools.lint.checks.staged_checks import CHECKS

KEY = "AKIA" + "QYLPMN5HHHFPZAM2"


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return Repo(tmp_path / "work")


def found(repo: Repo, *skip: str) -> list[str]:
    """What is found in what is staged, as "path:line check"."""
    change = read_staged_change(Git.from_folder(repo.root))
    return [f"{each.path}:{each.line} {each.check}" for each in run_checks(change, skip)]


STAGED = {
    "conflict": (
        "a.txt",
        "one\n<<<<<<< HEAD\nx\n=======\ny\n>>>>>>> side\n",
        ["a.txt:2 conflicts", "a.txt:6 conflicts"],
    ),
    "secret": ("a.py", f"x = 1\nkey = '{KEY}'\n", ["a.py:2 secrets"]),
    "a secret that is made up": ("a.py", f"key = '{KEY}'  # pragma: allowlist secret\n", []),
    "syntax of Python": ("a.py", "def f(:\n    pass\n", ["a.py:1 syntax"]),
    "syntax of Go": ("a.go", "package a\n\nfunc f( {\n", ["a.go:3 syntax"]),
    "a break point": ("a.py", "def f():\n    breakpoint()\n", ["a.py:2 leftovers"]),
    "a focused test": ("a.test.js", "it.only('x', () => {});\n", ["a.test.js:1 leftovers"]),
    "a large file": ("dump.bin", "x" * 1_000_001, ["dump.bin:0 sizes"]),
    "an odd name": ("n\nl ü.py", "breakpoint()\n", ["n\nl ü.py:1 leftovers"]),
    "a title of a text": ("a.rst", "Title\n=======\n", []),
    "ordinary work": ("a.py", "import os\n\n\ndef f():\n    print(os.sep)\n", []),
}  # fmt: skip


@pytest.mark.parametrize("what", STAGED)
def test_a_check_finds_what_it_is_for(repo: Repo, what: str) -> None:
    path, content, expected = STAGED[what]
    repo.write("other.txt", "x\n")
    repo.commit_all()
    repo.write(path, content)
    repo.git("add", "-A")
    assert found(repo) == expected


@pytest.mark.slow
def test_the_first_commit_and_links_and_binary_files_and_changes_of_kind(repo: Repo) -> None:
    repo.write("a.py", "breakpoint()\n")
    repo.write("bin", b"\0\1\2")
    (repo.root / "link").symlink_to("a.py")
    repo.git("add", "-A")
    assert found(repo) == ["a.py:1 leftovers"]
    repo.commit_all()
    (repo.root / "a.py").unlink()
    (repo.root / "a.py").symlink_to("bin")
    (repo.root / "link").unlink()
    repo.write("link", "breakpoint()\n")
    repo.write("z.py", "breakpoint()\n")
    repo.git("add", "-A")
    assert found(repo) == ["z.py:1 leftovers"]


def test_what_was_there_before_is_not_this_commits(repo: Repo) -> None:
    repo.write("a.py", f"def f(:\n    breakpoint()\nkey = '{KEY}'\n")
    repo.commit_all()
    repo.write("a.py", f"def f(:\n    breakpoint()\nkey = '{KEY}'\nx = 1\n")
    repo.write("moved.py", f"\n\nkey = '{KEY}'\n")
    repo.write("a.py", "def f(:\n    breakpoint()\nx = 1\n")
    repo.git("add", "-A")
    assert found(repo) == []


TEST = """\
import pytest


def test_one():
    assert f() == 1
    assert g() == 2


def test_two():
    assert h()
"""

WEAKER = {
    "a skip": (
        TEST.replace("def test_one", "@pytest.mark.skip\ndef test_one"),
        ["a test is skipped: `pytest.mark.skip`"],
    ),
    "a check less": (TEST.replace("    assert g() == 2\n", ""), ["'test_one' has 1 fewer checks than before"]),
    "a test less": (TEST.partition("\n\n\ndef test_two")[0] + "\n", ["the test 'test_two' is gone"]),
    "an empty check": (TEST.replace("assert h()", "assert True"), ["a check always holds: `assert True`"]),
    "a better check": (TEST.replace("assert h()", "assert h() == 3"), []),
    "gone": (None, ["the test 'test_one' is gone", "the test 'test_two' is gone"]),
}  # fmt: skip


@pytest.mark.parametrize("what", WEAKER)
def test_weakened_tests_are_told_and_stop_nothing(repo: Repo, what: str) -> None:
    after, expected = WEAKER[what]
    repo.write("tests/test_a.py", TEST)
    repo.commit_all()
    if after is None:
        (repo.root / "tests/test_a.py").unlink()
    else:
        repo.write("tests/test_a.py", after)
    repo.git("add", "-A")
    findings = run_checks(read_staged_change(Git.from_folder(repo.root)))
    assert [each.message for each in findings] == expected
    assert {each.severity for each in findings} <= {"warning"}


def test_a_test_that_moved_is_not_gone(repo: Repo) -> None:
    repo.write("tests/test_a.py", TEST)
    repo.commit_all()
    repo.git("mv", "tests/test_a.py", "tests/test_b.py")
    assert found(repo) == []


@pytest.mark.slow
def test_a_change_between_two_commits_is_read_in_the_same_way(repo: Repo) -> None:
    repo.write("a.py", "x = 1\n")
    first = repo.commit_all()
    repo.write("a.py", "x = 1\nbreakpoint()\n")
    second = repo.commit_all()
    for old, lines in ((first, [2]), ("", [2])):
        change = read_committed_change(Git.from_folder(repo.root), old, second)
        assert [each.line for each in run_checks(change)] == lines
    assert set(CHECKS) >= {"secrets", "syntax"}
