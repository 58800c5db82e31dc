"""Sandbox for the project's own programs that checks run: linters and formatters."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sandbox.process.command import Sandbox


def choose_confinement(root: Path) -> Sandbox:
    """Choose the strongest sandbox that works here for the project's own programs, without network."""
    from agent.app_dirs import Home
    from cli.settings.layers import load_settings
    from sandbox.backends.selection import choose_sandbox
    from sandbox.view.visible_paths import resolve_visible_paths

    home = Home.from_environment()
    shown = resolve_visible_paths(load_settings(home, root, {}).session.access.visible_paths)
    return choose_sandbox(root, cache=home.cache, hidden=(home.data, home.config), visible=shown)
