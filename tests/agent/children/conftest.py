"""A small repository, and the settings of a session that starts children in it."""

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
    repo.write("cart.py", "total = 0\n")
    repo.commit_all("Start")
    return repo.root


@pytest.fixture
def parent(tmp_path: Path) -> SessionSettings:
    return settings_for(script(tmp_path, [{"text": "hello"}], "parent.json"))
