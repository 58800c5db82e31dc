"""The place in which conversations are held."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.talking import make_shop


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    """A small repository with a mistake in it."""
    return make_shop(tmp_path / "shop")
