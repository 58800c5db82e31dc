"""Strategies of installed packages: found in the user's environment, never in a repository."""

from __future__ import annotations

import site
import sys
from pathlib import Path

import pytest

from agent.session_settings import StrategySettings
from agent.strategy.single import Single
from agent.strategy.strategy_table import check_strategy_name, make_strategy
from sandbox.errors import UserError
from sandbox.extensions import list_foreign_extensions


def install(folder: Path, name: str, target: str) -> None:
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[patchwright.strategies]\n{name} = {target}\n")


def test_packages_of_the_environment_count_and_a_repositorys_do_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    packages, repository = tmp_path / "site-packages", tmp_path / "shop"
    install(packages, "careful", "careful_strategy:make")
    install(packages, "broken", "no_such_module:make")
    (packages / "careful_strategy.py").write_text(
        "from agent.strategy.single import Single\n\ndef make(settings):\n    return Single()\n"
    )
    install(repository, "planted", "planted:make")
    monkeypatch.setattr(site, "getsitepackages", lambda: [str(packages)])
    monkeypatch.setattr(site, "ENABLE_USER_SITE", False)
    monkeypatch.setattr(sys, "path", [str(repository), *sys.path, str(packages)])
    monkeypatch.chdir(repository)
    assert list(list_foreign_extensions("strategies")) == ["broken", "careful"]
    assert isinstance(make_strategy(StrategySettings(name="careful")), Single)
    check_strategy_name("careful")
    with pytest.raises(UserError, match="there is no strategy 'planted'"):
        check_strategy_name("planted")
    with pytest.raises(UserError, match="cannot be loaded: ModuleNotFoundError"):
        make_strategy(StrategySettings(name="broken"))
