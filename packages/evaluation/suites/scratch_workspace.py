"""A temporary folder as a workspace, where programs of others run in the sandbox."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.access_settings import AccessSettings

if TYPE_CHECKING:
    from tools.core.workspace import Workspace


@contextmanager
def open_scratch(access: AccessSettings | None = None) -> Iterator[Workspace]:
    """Open an empty workspace; it is removed afterwards.

    Raises UserError if no sandbox works here, unless the user wants none. access: the user's settings
    """
    from agent.app_dirs import Home
    from packages.evaluation.tasks.confinement import require_confinement
    from sandbox.backends.selection import choose_sandbox
    from sandbox.fs.workspace_tree import Tree
    from sandbox.view.visible_paths import resolve_visible_paths
    from tools.core.artifacts import Artifacts
    from tools.core.tool_folders import ToolFolders
    from tools.core.workspace import Workspace

    access, home = access or AccessSettings(), Home.from_environment()
    with tempfile.TemporaryDirectory(prefix="patchwright-eval-", ignore_cleanup_errors=True) as name:
        folder = Path(name).resolve()
        root, spill = folder / "work", folder / "spill"
        root.mkdir()
        spill.mkdir()
        sandbox = choose_sandbox(
            root,
            access.sandbox,
            spill=spill,
            hidden=(home.data, home.config),
            image=access.container_image,
            visible=resolve_visible_paths(access.visible_paths),
        )
        require_confinement(
            sandbox,
            access.sandbox,
            "these commands come from whoever wrote the project",
            "If you trust it: set `sandbox` to `unconfined` in your settings.",
        )
        yield Workspace(
            root=root,
            files=Tree(root),
            sandbox=sandbox,
            artifacts=Artifacts(folder / "artifacts"),
            journal=folder / "journal",
            folders=ToolFolders(cache=folder / "cache"),
        )
