"""Denied files under other names: hard links, and what was moved during the session."""

from __future__ import annotations

import os
import stat
from collections.abc import Collection, Iterable
from pathlib import Path

from sandbox.guards.workspace_inventory import Inventory

_Identity = tuple[int, int, int, int]
"""Device, inode, and of files size and modification time: a new file that only reuses an inode is another."""


class DeniedFiles:
    """The files and folders that were ever denied in a session. They stay so wherever they are."""

    def __init__(self, inventory: Inventory) -> None:
        self._inventory = inventory
        self._known: dict[_Identity, Path] = {}

    def list_all_names(self, named: Iterable[Path]) -> list[Path]:
        """Return the denied paths and the other paths of the same files in the workspace.

        named: the paths that rules deny now, links resolved
        """
        found = dict.fromkeys(named)
        for path in found:
            if (info := _stat_entry(path)) is not None:
                self._known[_identify(info)] = path
        moved = {each for each, path in self._known.items() if path not in found and not _is_at(each, path)}
        for each in moved:
            del self._known[each]
        if moved:
            self._search({each[:2] for each in moved})
        found |= dict.fromkeys(self._known.values())
        return [*found, *(path for path in self._list_links(found) if path not in found)]

    def _list_links(self, paths: Iterable[Path]) -> list[Path]:
        """Return all names in the workspace of those files that have several."""
        infos = [info for path in paths if (info := _stat_entry(path)) and stat.S_ISREG(info.st_mode)]
        several = {(info.st_dev, info.st_ino) for info in infos if info.st_nlink > 1}
        if not several:
            return []
        self._inventory.refresh()
        names, root = self._inventory.list_linked(), self._inventory.root
        return [root / folder / name for each in several for folder, name, _ in names.get(each, ())]

    def _search(self, inodes: Collection[tuple[int, int]]) -> None:
        """Remember where these are now. Reads names and inode numbers only: 50 ms for 50,000 files."""
        self._inventory.refresh()
        numbers = {inode for _, inode in inodes}
        for folder in self._inventory.list_folders():
            try:
                with os.scandir(self._inventory.root / folder) as entries:
                    near = [Path(entry.path) for entry in entries if entry.inode() in numbers]
            except OSError:  # gone meanwhile, or not readable
                continue
            for path in near:
                info = _stat_entry(path)
                if info is not None and (info.st_dev, info.st_ino) in inodes:
                    self._known[_identify(info)] = path


def _stat_entry(path: Path) -> os.stat_result | None:
    try:
        info = path.lstat()
    except OSError:  # missing
        return None
    return info if stat.S_ISREG(info.st_mode) or stat.S_ISDIR(info.st_mode) else None


def _identify(info: os.stat_result) -> _Identity:
    is_file = stat.S_ISREG(info.st_mode)
    return info.st_dev, info.st_ino, info.st_size if is_file else 0, info.st_mtime_ns if is_file else 0


def _is_at(identity: _Identity, path: Path) -> bool:
    info = _stat_entry(path)
    return info is not None and _identify(info) == identity
