"""Workspace in which a command runs a project's tests without a session, confined as a session's would be."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tools.core.workspace import Workspace


def open_test_workspace(
    root: Path, scratch: Path, *, working: Path | None = None, timeout: float | None = None
) -> Workspace:
    """Return a workspace by the user's settings. Raises UserError.

    working: folder in which the person works, if it is not the root
    scratch: folder for outputs and caches; timeout: seconds that limit those of the settings
    """
    from agent.app_dirs import Home
    from agent.workspace_root import find_working_folder
    from cli.settings.layers import load_settings
    from sandbox.backends.selection import choose_sandbox
    from sandbox.fs.workspace_tree import Tree
    from sandbox.view.visible_paths import resolve_visible_paths
    from tools.core.artifacts import Artifacts
    from tools.core.tool_folders import ToolFolders
    from tools.core.workspace import Workspace

    home = Home.from_environment()
    settings = load_settings(home, root, {}).session
    tests = settings.tools.tests
    if timeout is not None:
        tests = replace(tests, timeout=min(tests.timeout, timeout))
    return Workspace(
        root=root,
        files=Tree(root),
        sandbox=choose_sandbox(
            root,
            settings.access.sandbox,
            cache=home.cache,
            spill=scratch,
            hidden=(home.data, home.config),
            visible=resolve_visible_paths(settings.access.visible_paths),
        ),
        artifacts=Artifacts(scratch / "artifacts"),
        journal=scratch / "journal",
        settings=replace(settings.tools, tests=tests),
        folders=ToolFolders(cache=scratch),
        working_folder=find_working_folder(root, working or root),
    )
