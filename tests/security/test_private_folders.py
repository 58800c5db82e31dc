"""All that Patchwright keeps of a user's work is that user's alone, whatever the umask; old folders are closed."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path

import pytest

from agent.app_dirs import Home
from tests.conftest import PROBE
from tests.support.cli import call, run, script
from tests.support.repo import Repo

UMASK = ("/bin/sh", "-c", 'umask 000; exec "$@"', "sh")

TURNS = [
    {"calls": [call("read", path="cart.py"), call("search", pattern="total"), call("code", name="total")]},
    {
        "calls": [
            call("edit", path="cart.py", old="0", new="1"),
            call("shell", command="seq 30000; echo x >&2"),
        ]
    },
    {"calls": [call("run_tests"), call("remember", text="Use tabs.")]},
    {"text": "Done.", "repeat": 9},
]


def list_entries(*places: Path) -> Iterator[Path]:
    for place in places:
        if place.exists():
            yield place
            yield from place.rglob("*")


def is_of_a_command(path: Path) -> bool:
    """The cache of the tests that a command ran is written by that command, in a private folder."""
    return "pytest" in path.parts[:-2] or path.name == PROBE


def list_open_entries(*places: Path) -> list[str]:
    return [
        f"{stat.S_IMODE(path.lstat().st_mode):o} {path}"
        for path in list_entries(*places)
        if not path.is_symlink() and path.lstat().st_mode & 0o077 and not is_of_a_command(path)
    ]


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "shop")
    repo.write("cart.py", "def total():\n    return 0\n")
    repo.write("test_cart.py", "from cart import total\n\n\ndef test_total():\n    assert total() == 1\n")
    repo.commit_all()
    return repo


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_every_entry_of_a_session_is_private(repo: Repo, tmp_path: Path) -> None:
    done = run("run", "fix it", "--model", script(tmp_path, TURNS), cwd=repo.root, wrap=UMASK)
    assert "Traceback" not in done.err
    assert run("config", "set", "max_steps", "50", cwd=repo.root, wrap=UMASK).code == 0
    assert run("trust", cwd=repo.root, wrap=UMASK).code in (0, 3)
    run("undo", cwd=repo.root, wrap=UMASK)
    run("run", "make the tests pass", "--model", "offline", cwd=repo.root, wrap=UMASK)
    home = Home._locate(os.environ)  # without closing anything
    names = {path.name for path in list_entries(home.data, home.config, home.cache)}
    assert {"log.jsonl", "snapshots", "stat-cache", "settings.toml"} <= names
    assert "\n".join(list_open_entries(home.data, home.config, home.cache)) == ""


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_folders_of_older_versions_are_closed_and_links_are_not_followed(repo: Repo, tmp_path: Path) -> None:
    model = script(tmp_path, [{"text": "Done."}])
    run("run", "look", "--model", model, cwd=repo.root)
    home = Home._locate(os.environ)
    foreign = tmp_path / "foreign"
    foreign.mkdir(mode=0o755)
    (home.data / "elsewhere").symlink_to(foreign)
    for path in list_entries(home.data, home.cache):
        if path.is_dir() and not path.is_symlink():
            path.chmod(0o755)
        elif path.is_file():
            path.chmod(0o644)
    done = run("run", "look", "--model", model, cwd=repo.root)
    assert done.code == 0, done.err
    assert "\n".join(list_open_entries(home.data, home.cache)) == ""
    assert stat.S_IMODE(foreign.stat().st_mode) == 0o755
