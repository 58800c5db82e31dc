"""The files that a child session works on, opened before it starts and closed after it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.errors import Fault, UserError

if TYPE_CHECKING:
    from agent.app_dirs import Home


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenPlace:
    """folder: the child's workspace; build_patch: returns its changes so far, b"" where they need no patch"""

    folder: Path
    build_patch: Callable[[], bytes] = lambda: b""


class Lease:
    """Right to change the parent's files: one child has it at a time, in the order in which they asked."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()

    @asynccontextmanager
    async def hold(self, folder: Path) -> AsyncIterator[OpenPlace]:
        """Wait for the lease, and give it back afterwards."""
        async with self._lock:
            yield OpenPlace(folder=folder)


class Worktrees:
    """Worktrees of one session's repository, below Patchwright's cache."""

    def __init__(self, root: Path, home: Home) -> None:
        self._root = root
        self._home = home
        self._making = asyncio.Lock()

    @asynccontextmanager
    async def open_worktree(self) -> AsyncIterator[OpenPlace]:
        """Make a worktree of the present state, uncommitted changes included; it is removed in any case.

        Raises UserError where the folder is no git repository, or has no commit yet.
        """
        from sandbox.fs.repository import find_root
        from sandbox.policy.trust import TrustStore
        from tools.git.broker import Broker
        from tools.git.git_process import Git, GitFailed
        from tools.git.worktrees import commit_work_tree, temporary_worktree

        if find_root(self._root) is None:
            raise UserError(Fault.USAGE, "a worktree needs a git repository", "Make one: git init")
        broker = await asyncio.to_thread(
            Broker.from_path, self._root, TrustStore(self._home.config).create_check(self._root)
        )
        git = Git(broker.root, alone=True, extra=broker.replacement_environment)
        try:
            async with self._making:  # git creates one worktree at a time
                base = await asyncio.to_thread(commit_work_tree, git)
                context = temporary_worktree(git, base, self._home.cache / "worktrees")
                tree = await asyncio.to_thread(context.__enter__)
        except GitFailed as error:
            raise UserError(Fault.USAGE, f"no worktree could be made: {error}") from None
        inner = self._root.relative_to(broker.root)
        try:
            yield OpenPlace(folder=tree.folder / inner, build_patch=tree.build_patch)
        finally:
            async with self._making:
                await asyncio.to_thread(context.__exit__, None, None, None)
