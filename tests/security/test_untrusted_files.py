"""Pipes, sockets, devices, endless and huge files under names that Patchwright itself reads: one line, at once."""

from __future__ import annotations

import resource
from functools import partial
from pathlib import Path

import pytest

from agent.app_dirs import Home
from tests.sandbox.fs.test_untrusted_file import TRAPS
from tests.support import cli
from tests.support.cli import call, script
from tests.support.repo import Repo

run = partial(cli.run, wrap=("env",))
"""Starts that this process waits for itself: their memory is measured."""

SETTINGS = "patchwright.toml"

READ = (
    *(
        "AGENTS.md",
        "CLAUDE.md",
        "package.json",
        "pyproject.toml",
        "pytest.ini",
        "tox.ini",
        "setup.cfg",
        "go.mod",
    ),
    *(
        "Cargo.toml",
        "Makefile",
        "README.md",
        "ruff.toml",
        ".pre-commit-config.yaml",
        "lefthook.yml",
        "CODEOWNERS",
    ),
    *(".gitmodules", ".env", "conftest.py", "sub/.git", "sub/pyproject.toml"),
)
"""Instructions, manifests, test configuration, names of git: all of them at once are the same trap."""

MOST_MEMORY = 400_000
"""Kilobytes of the largest process; one that reads all of a trap has millions."""

TURNS = [
    {"calls": [call("read", path="cart.py"), call("list")]},
    {"calls": [call("edit", path="cart.py", old="0", new="1")]},
    {"text": "Done.", "repeat": 9},
]


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "shop")
    (tmp_path / "secret").write_text("secret")
    repo.write("cart.py", "total = 0\n")
    repo.write("sub/x.py", "x = 0\n")
    repo.commit_all()
    return repo


def measure_children() -> int:
    """The memory of the largest process that this one has waited for so far, in KiB: other tests' included."""
    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("trap", TRAPS)
def test_a_run_neither_hangs_nor_fills_the_memory(repo: Repo, tmp_path: Path, trap: str) -> None:
    most = max(MOST_MEMORY, measure_children())
    for name in READ:
        TRAPS[trap][0](repo.root / name)
    model = script(tmp_path, TURNS)
    done = run("run", "fix", "--no-commit", "--model", model, cwd=repo.root, timeout=60)
    assert done.code in (1, 4, 10, 13), done.err  # what pytest makes of these files in the sandbox differs
    assert "Traceback" not in done.err
    assert repo.read("cart.py") == "total = 1\n"
    for command in (("init", "--print"), ("trust", "--list"), ("doctor",), ("undo",)):
        done = run(*command, cwd=repo.root, timeout=60)
        assert "Traceback" not in done.err, done.err
    assert repo.read("cart.py") == "total = 0\n"
    assert measure_children() <= most


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("trap", TRAPS)
def test_settings_of_a_project_that_are_no_file_are_one_line(repo: Repo, tmp_path: Path, trap: str) -> None:
    most = max(MOST_MEMORY, measure_children())
    TRAPS[trap][0](repo.root / SETTINGS)
    done = run("run", "fix", "--model", script(tmp_path, TURNS), cwd=repo.root, timeout=60)
    first, *others = done.err.splitlines()
    assert (done.code, len(others) <= 1) == (6, True), done.err
    assert f"{str(repo.root / SETTINGS)!r} is not read: " in first
    assert measure_children() <= most


@pytest.mark.slow
def test_instructions_behind_a_link_are_read_if_they_are_inside(repo: Repo, tmp_path: Path) -> None:
    repo.write("docs/agents.md", "Use tabs.\n")
    (repo.root / "CLAUDE.md").symlink_to("docs/agents.md")
    expected = script(tmp_path, [{"expect": [{"anywhere": "Use tabs."}], "text": "Done."}])
    done = run("run", "look", "--model", expected, cwd=repo.root)
    assert done.code == 0, done.err
    (repo.root / "CLAUDE.md").unlink()
    (repo.root / "CLAUDE.md").symlink_to(tmp_path / "secret")
    done = run("run", "look", "--model", script(tmp_path, [{"text": "Done."}]), cwd=repo.root)
    assert done.code == 0, done.err
    sessions = list(Home.from_environment().data.rglob("log.jsonl"))
    assert sessions
    assert not any(
        b"project-instructions" in path.read_bytes() and b"secret" in path.read_bytes() for path in sessions
    )
