"""The sandbox of checks before a commit, and of the offline engine: what they can see."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from agent.app_dirs import Home
from cli.hooks.confinement import choose_confinement
from packages.offline.commands.repair import open_workspace
from sandbox.process.command import Command


@pytest.mark.slow
def test_linters_and_the_offline_engine_see_what_the_user_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATCHWRIGHT_HOME", str(tmp_path / "own"))
    root, shown = tmp_path / "shop", tmp_path / "rules"
    root.mkdir()
    shown.mkdir()
    (shown / "ruff.toml").write_text("shared rules")
    read = Command(argv=("cat", str(shown / "ruff.toml")), cwd=root)
    if choose_confinement(root).name == "unconfined":
        pytest.skip("nothing confines commands here")
    assert asyncio.run(choose_confinement(root).run(read)).returncode != 0
    config = Home.from_environment().config
    config.mkdir(parents=True, exist_ok=True)
    (config / "settings.toml").write_text(f"visible_paths = [{str(shown)!r}]\n")
    assert asyncio.run(choose_confinement(root).run(read)).stdout.text() == "shared rules"
    with open_workspace(root) as at:
        assert asyncio.run(at.sandbox.run(read)).stdout.text() == "shared rules"
