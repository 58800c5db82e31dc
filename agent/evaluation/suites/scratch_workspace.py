"""A temporary folder as a workspace, where programs of others run in the sandbox."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tools.core.workspace import Workspace


@contextmanager
def open_scratch() -> Iterator[Workspace]:
    """Open an empty workspace; it is removed afterwards. Raises UserError if no sandbox works here."""
    from sandbox.backends.selection import choose_sandbox
    from sandbox.fs.workspace_tree import Tree
    from tools.core.artifacts import Artifacts
    from tools.core.tool_folders import ToolFolders
    from tools.core.workspace import Workspace

    with tempfile.TemporaryDirectory(prefix="patchwright-eval-", ignore_cleanup_errors=True) as name:
        folder = Path(name).resolve()
        root, spill = folder / "work", folder / "spill"
        root.mkdir()
        spill.mkdir()
        yield Workspace(
            root=root,
            files=Tree(root),
            sandbox=choose_sandbox(root, spill=spill),
            artifacts=Artifacts(folder / "artifacts"),
            journal=folder / "journal",
            folders=ToolFolders(cache=folder / "cache"),
        )
