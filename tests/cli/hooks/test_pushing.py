"""pre-push with a real remote, and the manifest under the real pre-commit framework."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.cli import CHECKOUT, environment, run
from tests.support.repo import Repo


def push(repo: Repo, *arguments: str) -> tuple[int, str]:
    """Exit code and all that was said."""
    done = subprocess.run(
        ["git", "push", "-q", *arguments],
        cwd=repo.root,
        env=environment(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=240,
        check=False,
    )
    return done.returncode, done.stdout


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_failing_tests_hold_a_push_up_and_a_repair_is_offered_on_a_branch(
    ledger: Path, tmp_path: Path
) -> None:
    repo = Repo(ledger, init=False)
    repo.git("init", "-q", "--bare", str(tmp_path / "remote"))
    repo.git("remote", "add", "origin", str(tmp_path / "remote"))
    repo.hook("pre-push", "cat > ../seen")
    assert run("hook", "install", "pre-push", "--fix", "offline", cwd=ledger).code == 0
    before = (repo.head(), repo.git("status", "--porcelain"), repo.index())
    code, said = push(repo, "origin", "HEAD:refs/heads/main")
    assert code == 1, said
    assert (tmp_path / "seen").read_text().split()[2] == "refs/heads/main", "the earlier hook read it, too"
    assert "pre-push: not pushed" in said
    branch = f"patchwright/fix-{before[0][:10]}"
    assert f"a repair is on the branch {branch}" in said, said
    assert (repo.head(), repo.git("status", "--porcelain"), repo.index()) == before
    assert repo.git("worktree", "list").count("\n") == 1
    repo.git("merge", "-q", "--ff-only", branch)
    code, said = push(repo, "origin", "HEAD:refs/heads/main")
    assert (code, "running all tests" in said) == (0, True), said
    repo.write("notes.md", "nothing to test\n")
    repo.commit_all("Add notes")
    code, said = push(repo, "origin", "HEAD:refs/heads/main")
    assert (code, "running" in said) == (0, False), said


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_only_the_tests_of_what_changed_are_run_at_the_pushed_commit(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "work")
    for name in ("one", "two"):
        repo.write(f"{name}.py", "VALUE = 1\n")
        repo.write(
            f"test_{name}.py",
            f"import unittest\nimport {name}\n\n\nclass T(unittest.TestCase):\n"
            f"    def test_value(self):\n        self.assertEqual({name}.VALUE, 1)\n",
        )
    repo.commit_all()
    repo.git("init", "-q", "--bare", str(tmp_path / "remote"))
    repo.git("push", "-q", str(tmp_path / "remote"), "main")
    assert run("hook", "install", "pre-push", cwd=repo.root).code == 0
    repo.write("one.py", "VALUE = 2\n")
    repo.write("test_one.py", repo.read("test_one.py").replace("VALUE, 1", "VALUE, 2"))
    repo.commit_all()
    repo.write("one.py", "VALUE = broken\n")  # only in the work tree: not pushed
    code, said = push(repo, str(tmp_path / "remote"), "main")
    assert (code, "running 1 test file" in said) == (0, True), said
    assert repo.read("one.py") == "VALUE = broken\n"


@pytest.mark.slow
def test_the_manifest_works_under_the_pre_commit_framework(tmp_path: Path, isolated: Path) -> None:
    def pre_commit(*arguments: str, cwd: Path) -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, "-m", "pre_commit", *arguments],
            cwd=cwd,
            env=environment(
                {
                    "PRE_COMMIT_HOME": str(isolated / "pre-commit"),
                    "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
                    "PYTHONPATH": "",
                }
            ),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            check=False,
        )
        return done.returncode, done.stdout

    manifest = (CHECKOUT / ".pre-commit-hooks.yaml").read_text("utf-8")
    code, said = pre_commit("validate-manifest", str(CHECKOUT / ".pre-commit-hooks.yaml"), cwd=tmp_path)
    assert code == 0, said
    ours = Repo(tmp_path / "patchwright")
    # What is installed here stands in for the environment that the framework would make from a package index.
    ours.write(".pre-commit-hooks.yaml", manifest.replace("language: python", "language: system"))
    ours.commit_all()
    repo = Repo(tmp_path / "work")
    repo.write("a.py", "x = 1\n")
    repo.commit_all()
    repo.write("a.py", "breakpoint()\n")
    repo.git("add", "a.py")
    repo.write("a.py", "x = 1\n")
    code, said = pre_commit("try-repo", str(ours.root), "patchwright", "--verbose", cwd=repo.root)
    assert (code, "a.py:1: leftovers" in said) == (1, True), said
    repo.write("a.py", "x = 2\n")
    repo.git("add", "a.py")
    code, said = pre_commit("try-repo", str(ours.root), "patchwright", cwd=repo.root)
    assert (code, "Passed" in said) == (0, True), said
