"""A workspace that is a real repository, a home of its own, and each sandbox that works on this machine."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from sandbox.process.command import Sandbox
from tests.sandbox.boxes import draw_confined, make


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    return folder


@pytest.fixture
def workspace(tmp_path: Path, home: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    subprocess.run(["git", "init", "--quiet", str(folder)], check=True)
    (folder / "src").mkdir()
    (folder / "src" / "cart.py").write_text("total = 0\n")
    return folder


@pytest.fixture
def spill(tmp_path: Path) -> Path:
    return tmp_path / "spill"


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    given = {
        name.strip()
        for mark in metafunc.definition.iter_markers("parametrize")
        for name in (mark.args[0].split(",") if isinstance(mark.args[0], str) else mark.args[0])
    }
    drawn = draw_confined(metafunc.function.__name__)
    for fixture, names in (("confined", drawn), ("sandbox", (*drawn, "unconfined"))):
        if fixture in metafunc.fixturenames and fixture not in given:  # a test's own argument of that name
            metafunc.parametrize(fixture, names, indirect=True)


@pytest.fixture
def confined(request: pytest.FixtureRequest, workspace: Path, spill: Path) -> Sandbox:
    return make(request.param, workspace, spill)


@pytest.fixture
def sandbox(request: pytest.FixtureRequest, workspace: Path, spill: Path) -> Sandbox:
    return make(request.param, workspace, spill)


@pytest.fixture
def bubble(workspace: Path, spill: Path) -> Sandbox:
    return make("bubblewrap", workspace, spill)
