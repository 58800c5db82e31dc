"""Copies of the project in which changes are tried by its own test command, in parallel."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

from sandbox.fs.workspace_tree import Tree
from sandbox.lazy_dataclass import dataclass
from sandbox.snapshots.path_state import State
from sandbox.snapshots.working_tree import WorkingTree
from tools.changes.session_changes import SessionChanges
from tools.core.workspace import Workspace
from tools.git.worktrees import LINKED
from tools.testing.report import TestReport
from tools.testing.suite_run import run_copy

SKIPPED = frozenset(
    {"node_modules", "vendor", "target", "build", "dist", "out", "third_party", "venv", "env"}
)
"""Folders of what others wrote or a build made."""

# Maximum size of a copied project, not a data collection: total bytes, and files.
LARGEST, MOST = 200 << 20, 20_000
_LEFT_OUT = SKIPPED - {"vendor", "third_party", "build", "dist", "out"} | {".git", ".hg", "__pycache__"}

States = Mapping[str, tuple[bytes | None, int | None]]
"""(content, mode) of files by path; None for no file, and for a mode that is not known."""


class TooLarge(Exception):
    """The project is too large to be copied as often as needed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProjectCopy:
    """One copy. `at` runs tests in it, and may write there and nowhere else."""

    at: Workspace

    async def run_tests(self, texts: Mapping[str, str], seconds: float) -> TestReport:
        """Return the test report with these files changed; they are restored afterwards."""
        before = {path: (self.at.root / path).read_bytes() for path in texts}
        try:
            for path, text in texts.items():
                (self.at.root / path).write_bytes(text.encode("utf-8"))
            return await run_copy(self.at, seconds)
        finally:
            for path, content in before.items():
                (self.at.root / path).write_bytes(content)

    def restore(self, states: States) -> None:
        """Give files other states, without following a link that leads out of the copy. Blocking; raises OSError."""
        tree = WorkingTree(self.at.root)
        for path, (content, mode) in states.items():
            now = tree.read_state(path)
            if content is not None:
                kept = now.mode if now is not None and now.id and not now.is_link else _PLAIN
                tree.write(path, State(mode=mode or kept, id=""), content)
            elif now is not None:
                tree.remove(path)


_PLAIN = 0o100644
"""Mode of a file whose own is not known."""


@asynccontextmanager
async def create_copies(at: Workspace, number: int) -> AsyncIterator[list[ProjectCopy]]:
    """Create copies of the workspace with uncommitted changes; deleted afterwards. Raises TooLarge."""
    await asyncio.to_thread(at.folders.cache.mkdir, parents=True, exist_ok=True)
    folder = Path(await asyncio.to_thread(tempfile.mkdtemp, prefix="copies-", dir=at.folders.cache))
    try:
        found = []
        for each in range(number):
            root = folder / str(each) / at.root.name
            await asyncio.to_thread(_copy_tree, at.root.resolve(), root)
            found.append(
                ProjectCopy(at=replace(at, root=root, files=Tree(root), changes=SessionChanges(), facts={}))
            )
        yield found
    finally:
        await asyncio.to_thread(shutil.rmtree, folder, ignore_errors=True)


def _copy_tree(root: Path, target: Path) -> None:
    left, files = LARGEST, MOST

    def select_ignored(folder: str, names: list[str]) -> list[str]:
        nonlocal left, files
        gone = [name for name in names if name in _LEFT_OUT]
        for path in (Path(folder) / name for name in names if name not in gone):
            if path.is_file():
                left -= path.stat().st_size
                files -= 1
            elif not path.is_dir() and not path.is_symlink():  # a socket, a pipe
                gone.append(path.name)
        if left < 0 or files < 0:
            raise TooLarge(f"{root.name}/ is too large to be copied for each trial")
        return gone

    shutil.copytree(root, target, symlinks=True, ignore=select_ignored)
    for name in LINKED:
        if (root / name).is_dir() and not os.path.lexists(target / name):
            (target / name).symlink_to(root / name, target_is_directory=True)
