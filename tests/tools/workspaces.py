"""Small real workspaces for tests of tools."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Mapping
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest

from sandbox.backends.selection import choose_sandbox
from sandbox.fs.workspace_tree import Tree
from tools.core.action import Observation, ToolFailure
from tools.core.artifacts import Artifacts
from tools.core.registry import Tool
from tools.core.tool_folders import ToolFolders
from tools.core.workspace import Workspace


def workspace(folder: Path, files: Mapping[str, str | bytes] = {}, **options: Any) -> Workspace:
    """A workspace in `folder`/work that holds these files; artifacts and caches stand beside it.

    options: of the workspace, such as `settings` and `rules`
    """
    root = folder / "work"
    root.mkdir(exist_ok=True)
    put(root, files)
    spill = folder / "spill"
    spill.mkdir(exist_ok=True)
    return Workspace(
        root=root,
        files=Tree(root),
        sandbox=choose_sandbox(root, cache=Path(os.environ["PATCHWRIGHT_HOME"], "cache"), spill=spill),
        artifacts=Artifacts(folder / "artifacts"),
        journal=folder / "journal",
        folders=ToolFolders(cache=folder / "cache"),
        **options,
    )


def put(root: Path, files: Mapping[str, str | bytes]) -> None:
    """Write files, text without its common indentation."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else dedent(content).encode())


def call(tool: Tool, at: Workspace, **arguments: Any) -> Observation:
    """Call a tool as the gateway does: arguments checked, then run."""
    return asyncio.run(tool.run(**tool.validate(arguments), at=at))  # type: ignore[arg-type]


def refused(tool: Tool, at: Workspace, **arguments: Any) -> str:
    """The text with which a tool refuses."""
    with pytest.raises(ToolFailure) as refusal:
        call(tool, at, **arguments)
    return str(refusal.value)
