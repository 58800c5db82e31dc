"""The wheel of this checkout, and environments in which it is installed."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.packaging.installing import CHECKOUT, install, run


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built without a network."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, CHECKOUT, cwd=folder)
    (built,) = folder.glob("*.whl")
    return built


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The programs' folder of a fresh environment that holds the wheel."""
    return install(wheel, tmp_path_factory.mktemp("environment") / "venv")
