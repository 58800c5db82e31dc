"""A repository with a file that two can change, and the settings of a session that starts writers in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.session_settings import SessionSettings
from tests.support.child_sessions import settings_for
from tests.support.cli import git, script


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "cart.py").write_text("first = 1\n\n\n\nlast = 9\n")
    (folder / ".gitignore").write_text("*.log\n")
    (folder / "link").symlink_to("cart.py")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "Start")
    return folder


@pytest.fixture
def parent(tmp_path: Path) -> SessionSettings:
    return settings_for(script(tmp_path, [{"text": "hello"}], "parent.json"))
