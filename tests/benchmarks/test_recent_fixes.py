"""The builder of a set of bug fixes: which commits count, and what a task of the list is."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from benchmarks.local_model.fixes import check_fix, copy_revision, list_commits, read_fixes
from benchmarks.local_model.lines import has_same_syntax

BEFORE, AFTER = "def double(x):\n    return x + 2\n", "def double(x):\n    return x * 2\n"
TEST = "from program import double\n\n\ndef test_double():\n    assert double(3) == 6\n"


def commit(root: Path, files: dict[str, str], subject: str) -> str:
    """Commit files; return the commit."""
    for name, text in files.items():
        (root / name).write_text(text)
    who = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    subprocess.run(["git", "add", "-A"], cwd=root, check=True)
    subprocess.run(["git", *who, "commit", "-qm", subject], cwd=root, check=True)
    said = subprocess.run(["git", "rev-parse", "HEAD"], cwd=root, capture_output=True, text=True, check=True)
    return said.stdout.strip()


def make_repository(root: Path) -> str:
    """Make a history of which one commit is a small fix with a test; return it."""
    root.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", "."], cwd=root, check=True)
    commit(root, {"program.py": BEFORE, "other.py": "A = 1\n"}, "begin")
    commit(root, {"program.py": BEFORE + "\n\nLIMIT = 3\n"}, "no test")
    fix = commit(root, {"program.py": AFTER + "\n\nLIMIT = 3\n", "test_program.py": TEST}, "fix")
    commit(root, {"program.py": AFTER, "other.py": "A = 2\n", "test_other.py": TEST}, "two programs")
    commit(root, {"program.py": AFTER + "\n".join("abcdefghijkl"), "test_program.py": TEST + "\n"}, "long")
    return fix


def test_a_small_fix_with_a_test_is_listed(tmp_path: Path) -> None:
    fix = make_repository(tmp_path / "source")
    git = tmp_path / "source" / ".git"
    assert list(list_commits(git, "2020-01-01")) == [(fix, "program.py", ["test_program.py"])]


def test_a_task_is_the_revision_with_the_program_of_before(tmp_path: Path) -> None:
    fix = make_repository(tmp_path / "source")
    mirrors = tmp_path / "mirrors"
    (mirrors / "a+b").mkdir(parents=True)
    (mirrors / "a+b" / "repo").symlink_to(tmp_path / "source" / ".git")
    listed = tmp_path / "fixes.jsonl"
    entry = {"repository": "a+b", "commit": fix, "program": "program.py", "tests": ["test_program.py"]}
    listed.write_text(json.dumps(entry) + "\n")
    [task] = read_fixes(listed, mirrors)
    assert (task.text, task.tests) == (BEFORE + "\n\nLIMIT = 3\n", ("test_program.py",))
    assert has_same_syntax(task.original, f"{AFTER}LIMIT = 3  # the same\n")
    assert not has_same_syntax(task.text, task.original)


@pytest.mark.slow
def test_tests_have_to_fail_without_the_fix(tmp_path: Path) -> None:
    fix = make_repository(tmp_path / "source")
    root = tmp_path / "copy"
    root.mkdir()
    copy_revision(tmp_path / "source", fix, root)
    assert check_fix(root, "program.py", BEFORE, ["test_program.py"])
    assert not check_fix(root, "program.py", AFTER + "\n# the same\n", ["test_program.py"])
