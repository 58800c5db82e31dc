"""The start of a turn, by which commits made during it are known."""

from __future__ import annotations

import time
from pathlib import Path
from typing import NamedTuple

from sandbox.fs.repository import find_root, read_head_commit


class TurnStart(NamedTuple):
    """began: seconds since the epoch; head: the last commit then, "" without any"""

    began: float
    head: str

    @classmethod
    def record(cls, folder: Path) -> TurnStart:
        """Return the start of a turn in a workspace, now."""
        return cls(time.time(), read_head(folder))


def read_head(folder: Path) -> str:
    """Return the last commit of the repository of a folder, "" without any."""
    root = find_root(folder)
    return read_head_commit(root) if root is not None else ""
