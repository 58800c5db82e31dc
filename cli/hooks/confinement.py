"""Sandbox for the project's own programs that checks run: linters and formatters."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sandbox.process.command import Sandbox


def choose_confinement(root: Path, flags: Mapping[str, Any] | None = None) -> Sandbox:
    """Choose the strongest sandbox that works here for the project's own programs, without network.

    flags: options of the command line; one that names a sandbox is obeyed
    """
    from agent.app_dirs import Home
    from cli.settings.layers import load_settings
    from sandbox.backends.selection import AUTO, choose_sandbox
    from sandbox.view.visible_paths import resolve_visible_paths

    home = Home.from_environment()
    access = load_settings(home, root, flags or {}).session.access
    return choose_sandbox(
        root,
        access.sandbox if flags and "sandbox" in flags else AUTO,
        cache=home.cache,
        hidden=(home.data, home.config),
        image=access.container_image,
        visible=resolve_visible_paths(access.visible_paths),
    )
