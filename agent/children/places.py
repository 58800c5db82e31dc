"""The files that a child session works on, opened before it starts and closed after it."""

from __future__ import annotations

import asyncio
import shutil
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from agent.app_dirs import Home
    from tools.git.git_process import Git


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenPlace:
    """Files of a child.

    folder: its workspace
    build_patch: returns its changes so far, b"" where they need no patch
    list_ignored: returns ignored files that it made, which no patch has
    top: of a worktree, which `folder` is in; list_files: returns its files that are not ignored, relative to it
    apply_patch: changes its files, completely or not at all
    """

    folder: Path
    build_patch: Callable[[], bytes] = lambda: b""
    list_ignored: Callable[[], list[str]] = list
    top: Path | None = None
    list_files: Callable[[], list[str]] = list
    apply_patch: Callable[[bytes], None] = lambda patch: None


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
    async def open_worktree(self, base: str = "", patch: bytes = b"") -> AsyncIterator[OpenPlace]:
        """Make a worktree of a commit, or of the present files with uncommitted changes; it is removed in any case.

        patch: applied to it, and a part of what it returns
        Raises UserError where the folder is no git repository, has no commit yet, or the patch does not fit.
        """
        from tools.git.git_process import GitFailed
        from tools.git.worktrees import apply_patch, commit_work_tree, temporary_worktree

        git = await self.open_git()
        try:
            async with self._making:  # git creates one worktree at a time
                base = base or await asyncio.to_thread(commit_work_tree, git)
                context = temporary_worktree(git, base, self._home.cache / "worktrees")
                tree = await asyncio.to_thread(context.__enter__)
        except GitFailed as error:
            raise UserError(Fault.USAGE, f"no worktree could be made: {error}") from None
        folder = tree.folder / self._root.relative_to(git.root)
        try:
            try:
                await asyncio.to_thread(apply_patch, tree.git, patch)
            except GitFailed as error:
                raise UserError(Fault.USAGE, f"the changes to begin with do not fit: {error}") from None
            yield OpenPlace(
                folder=folder,
                top=tree.folder,
                build_patch=tree.build_patch,
                list_ignored=tree.list_ignored,
                list_files=tree.list_files,
                apply_patch=partial(apply_patch, tree.git),
            )
        finally:
            async with self._making:
                await asyncio.to_thread(context.__exit__, None, None, None)
            await asyncio.to_thread(self.remove_data, folder.resolve())

    def remove_data(self, folder: Path) -> None:
        """Remove snapshots and journal of a worktree that is gone; its log is with those of the parent. Blocking."""
        if folder.is_relative_to((self._home.cache / "worktrees").resolve()):
            shutil.rmtree(self._home.get_project_folder(folder), ignore_errors=True)

    async def commit_files(self) -> str:
        """Commit the present files for several worktrees that begin alike; no reference changes. Returns its id.

        Raises UserError where the folder is no git repository, or has no commit yet.
        """
        from tools.git.git_process import GitFailed
        from tools.git.worktrees import commit_work_tree

        git = await self.open_git()
        try:
            return await asyncio.to_thread(commit_work_tree, git)
        except GitFailed as error:
            raise UserError(
                Fault.USAGE, f"a worktree needs a commit to begin with: {error}", "Make one: git commit"
            ) from None

    async def commit_patch(self, base: str, patch: bytes) -> str:
        """Commit `base` with a child's patch, so that it can be read; no reference changes. Returns its id."""
        from tools.git.worktrees import commit_patch

        return await asyncio.to_thread(commit_patch, await self.open_git(), base, patch)

    async def open_git(self) -> Git:
        """Open git in the user's repository, without definitions that they do not trust. Raises UserError."""
        from sandbox.fs.repository import find_root

        if find_root(self._root) is None:
            raise UserError(Fault.USAGE, "a worktree needs a git repository", "Make one: git init")
        return await asyncio.to_thread(open_git, self._root, self._home)


def remove_leftover_worktrees(root: Path, home: Home) -> None:
    """Remove the worktrees of killed processes with the data kept for them.

    Where that fails, the next worktree that is made removes them.
    """
    from sandbox.fs.repository import find_root
    from tools.git.git_process import GitFailed
    from tools.git.worktrees import remove_leftovers

    if find_root(root) is None:
        return
    with suppress(UserError, GitFailed):
        for folder in remove_leftovers(open_git(root, home), home.cache / "worktrees"):
            shutil.rmtree(home.get_project_folder(folder.resolve()), ignore_errors=True)


def open_git(root: Path, home: Home) -> Git:
    """Open git in a repository of the user, without definitions that they do not trust. Blocking. Raises UserError."""
    from sandbox.policy.trust import TrustStore
    from tools.git.broker import Broker
    from tools.git.git_process import Git

    broker = Broker.from_path(root, TrustStore(home.config).create_check(root))
    return Git(broker.root, alone=True, extra=broker.replacement_environment)
