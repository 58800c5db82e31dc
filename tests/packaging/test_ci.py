"""`.ci/run`: the tests run in a fresh clone and here, and what fails in either of them fails the whole."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.cli import CHECKOUT
from tests.support.repo import Repo

pytestmark = pytest.mark.slow


MAKEFILE = """\
lint:
\t@echo linted
test:
\t@mkdir -p .pytest_cache; echo "test $(CURDIR) HOME=$$HOME PYTHON=$(PYTHON) VENV=$(VENV) $$(command -v python3)"
\t@sh ./tests.sh "$(CURDIR)" || { status=$$?; echo $$status >.pytest_cache/ended; exit $$status; }
again:
\t@echo "again $(CURDIR)"; sh ./again.sh "$(CURDIR)"
"""


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """A checkout whose tests are scripts that are given the folder they run in."""
    repo = Repo(tmp_path / "checkout")
    repo.write("Makefile", MAKEFILE)
    repo.write("tests.sh", "ls -ld ..; echo 1 passed\n")
    repo.write("again.sh", "echo 1 passed\n")
    repo.write(".gitignore", ".pytest_cache/\n")
    (repo.root / ".ci").mkdir()
    shutil.copy(CHECKOUT / ".ci/run", repo.root / ".ci/run")
    repo.commit_all()
    return repo


def run(repo: Repo, python: str = sys.executable) -> tuple[int, list[str], str]:
    """Exit code, what the stand-ins said, and the errors."""
    done = subprocess.run(
        [repo.root / ".ci/run"],
        cwd=repo.root.parent,
        env={**os.environ, "SYSTEM_PYTHON": python},
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, [line for line in done.stdout.splitlines() if line], done.stderr


def test_the_tests_run_in_a_clone_with_an_empty_home_and_then_here(repo: Repo) -> None:
    (repo.root / "tests.sh").write_text("echo not committed; echo 2 passed\n")
    code, lines, errors = run(repo)
    assert code == 0, errors
    clone, here = (line for line in lines if line.startswith("test "))
    assert clone.startswith("test /tmp/patchwright-ci-")
    place = clone.split()[1].rpartition("/")[0]
    assert f"HOME={place}/home PYTHON={sys.executable} VENV=.venv " in clone
    assert clone.endswith(f"{Path(sys.executable).parent}/python3")
    assert here.startswith(f"test {repo.root} HOME={os.environ['HOME']} ")
    assert lines[-2:] == ["not committed", "2 passed"]
    assert any(line.startswith("drwxr-xr-x") for line in lines), (
        "another user's commands can be started there"
    )
    assert not Path(place).exists()


@pytest.mark.parametrize("folder", ["/tmp/patchwright-ci-*", "*/checkout"])
def test_what_fails_in_one_of_them_is_tried_again_and_fails_the_whole(folder: str, repo: Repo) -> None:
    repo.write("tests.sh", f"case $1 in {folder}) echo 1 failed; exit 1;; esac; echo 1 passed\n")
    repo.commit_all()
    assert run(repo)[0] == 0, "it was unstable"
    repo.write("again.sh", f"case $1 in {folder}) echo 1 failed; exit 1;; esac; echo 1 passed\n")
    repo.commit_all()
    code, lines, _ = run(repo)
    assert (code, lines.count("1 failed")) == (1, 2)
    assert lines[-1] == ("1 failed" if folder == "*/checkout" else "1 passed")


def test_a_run_without_tests_is_begun_again_and_fails(repo: Repo) -> None:
    repo.write("tests.sh", "echo no tests ran; exit 5\n")
    (repo.root / ".pytest_cache").mkdir()
    (repo.root / ".pytest_cache/ended").write_text("1\n")  # of an earlier run
    repo.commit_all()
    code, lines, _ = run(repo)
    assert (code, lines.count("no tests ran"), lines[-1]) == (1, 4, "no tests ran")


def test_a_system_without_a_python_of_use_is_told_in_a_line_and_another_one_takes_its_part(
    repo: Repo, tmp_path: Path
) -> None:
    bare = tmp_path / "python3"
    bare.write_text("#!/bin/sh\nexit 1\n")
    bare.chmod(0o755)
    code, lines, errors = run(repo, str(bare))
    assert code == 0, errors
    assert errors.splitlines() == [
        f"{bare} is missing, too old, or lacks venv or ensurepip; another Python takes its part."
    ]
    assert sum(line.startswith("test /tmp/patchwright-ci-") for line in lines) == 1
