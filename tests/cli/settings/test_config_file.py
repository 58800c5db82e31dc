"""What `patchwright config set` does to the file: a link stays a link, permissions stay, a mistake changes nothing."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from agent.app_dirs import Home
from cli.settings.setting_sources import store_setting, unset_setting
from sandbox.errors import UserError


@pytest.fixture
def dotfiles(tmp_path: Path) -> Path:
    """The user keeps the settings in a folder of dotfiles and links to them."""
    kept = tmp_path / "dotfiles" / "patchwright.toml"
    kept.parent.mkdir()
    kept.write_text('# mine\nmodel = "openai/a"\n')
    kept.chmod(0o640)
    config = Home.from_environment().config
    config.mkdir(parents=True)
    (config / "settings.toml").symlink_to(kept)
    return kept


@pytest.mark.slow
def test_a_linked_file_is_changed_where_it_lies(dotfiles: Path) -> None:
    home = Home.from_environment()
    link = home.config / "settings.toml"
    store_setting(home, "terminal.theme", "dark")
    assert link.is_symlink()
    assert dotfiles.read_text() == '# mine\nmodel = "openai/a"\n\n[terminal]\ntheme = "dark"\n'
    assert stat.S_IMODE(dotfiles.stat().st_mode) == 0o640
    unset_setting(home, "model")
    assert link.is_symlink()
    assert "openai/a" not in dotfiles.read_text()


def test_a_value_that_is_wrong_leaves_everything_as_it_was(dotfiles: Path) -> None:
    before = dotfiles.read_text()
    with pytest.raises(UserError, match="theme"):
        store_setting(Home.from_environment(), "terminal.theme", "pink")
    assert dotfiles.read_text() == before
    assert [each.name for each in dotfiles.parent.iterdir()] == [dotfiles.name]
