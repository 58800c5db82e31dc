"""Files of repositories inside a workspace, which its snapshots leave out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from sandbox.errors import UserError
from sandbox.fs.protected_paths import GIT
from sandbox.fs.repository import find_git_dir
from sandbox.guards.workspace_inventory import open_inventory
from sandbox.helpers.git_runner import LITERAL
from tools.core.action import ToolFailure
from tools.git.broker import Broker


def find_nested_changes(root: Path, since: float) -> Mapping[str, Sequence[str]]:
    """Return uncommitted files changed after a time (seconds since the epoch), by the folder of their repository.

    Ignored files and repositories that git cannot read are left out.
    """
    found: dict[str, list[str]] = {}
    inventory = open_inventory(root.resolve())
    inventory.refresh()
    for entry in inventory.list_guarded():
        folder = entry.parent
        if entry.name != GIT or find_git_dir(folder) is None:
            continue
        with suppress(UserError, ToolFailure):
            if paths := [
                path for path in _list_uncommitted_files(folder) if _read_change_time(folder / path) > since
            ]:
                found[folder.relative_to(inventory.root).as_posix()] = paths
    return found


def _list_uncommitted_files(folder: Path) -> Iterator[str]:
    options = ("--porcelain", "-z", "--untracked-files=all", "--ignore-submodules=all", "--no-renames")
    for line in Broker(folder).run(LITERAL, "status", *options).split_fields():
        yield line[3:]


def _read_change_time(path: Path) -> float:
    """Return when a file changed last; for a deleted one, the change time of the nearest existing folder."""
    with suppress(FileNotFoundError, NotADirectoryError):
        return path.lstat().st_ctime
    return _read_change_time(path.parent)
