"""A repository with a file that two can change, and the settings of a session that starts writers in it."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.session_settings import SessionSettings
from tests.support.child_sessions import settings_for
from tests.support.cli import script
from tests.support.repo import Repo


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    repo = Repo(tmp_path / "shop")
    repo.write("cart.py", "first = 1\n\n\n\nlast = 9\n")
    repo.write(".gitignore", "*.log\n")
    (repo.root / "link").symlink_to("cart.py")
    repo.commit_all("Start")
    return repo.root


@pytest.fixture
def parent(tmp_path: Path) -> SessionSettings:
    return settings_for(script(tmp_path, [{"text": "hello"}], "parent.json"))
