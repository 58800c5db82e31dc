"""Changes of a workspace's files since a server was last told of them, by their stamps."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from tools.code.index.file_listing import Listing, Stamp, read_stamp

CREATED, CHANGED, DELETED = 1, 2, 3
"""Kinds of the protocol (`FileChangeType`)."""


class FileEvent(NamedTuple):
    path: str
    kind: int


class WatchedFiles:
    """Stamps of the files that git does not ignore. Servers rely on their client to watch them."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._stamps: dict[str, Stamp] | None = None

    def find_changes(self) -> list[FileEvent]:
        """Return what changed since the last call, nothing at the first one. Raises UserError (see `Listing`)."""
        known = self._stamps
        names = Listing(self._root, len(known or ())).collect_names()
        root = str(self._root)
        now = {path: stamp for path in names if (stamp := read_stamp(root, path)) is not None}
        self._stamps = now
        if known is None:
            return []
        found = [
            FileEvent(path, CHANGED if path in known else CREATED)
            for path, stamp in now.items()
            if known.get(path) != stamp
        ]
        return found + [FileEvent(path, DELETED) for path in known.keys() - now.keys()]
