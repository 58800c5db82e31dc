"""Trees to change wholly or not at all, and what is seen of them afterwards."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from sandbox.fs.text_file import compute_fingerprint
from sandbox.fs.transaction.transactions import Remove, Transactions, Write
from sandbox.fs.workspace_tree import Tree

Image = dict[str, tuple[int, bytes]]


def image(root: Path) -> Image:
    """Mode and content of all that lies below: files, links, folders."""
    found: Image = {}
    for folder, folders, files in os.walk(root):
        for name in (*folders, *files):
            path = Path(folder, name)
            mode, content = path.lstat().st_mode, b""
            if path.is_symlink():
                content = os.fsencode(path.readlink())
            elif stat.S_ISREG(mode):
                content = path.read_bytes()
            found[str(path.relative_to(root))] = (mode, content)
    return found


@dataclass(frozen=True)
class Place:
    """A tree in a folder, its transactions, and the journal beside it."""

    root: Path
    journal: Path

    @classmethod
    def make(cls, folder: Path, files: Mapping[str, bytes] | None = None) -> Place:
        place = cls(root=folder / "root", journal=folder / "journal")
        place.root.mkdir(parents=True)
        for path, content in (files or {}).items():
            (place.root / path).parent.mkdir(parents=True, exist_ok=True)
            (place.root / path).write_bytes(content)
        return place

    def transactions(self) -> Transactions:
        return Transactions(Tree(self.root), self.journal)

    def commit(self, *changes: Write | Remove) -> None:
        transactions = self.transactions()
        with transactions.lock_tree():
            transactions.commit(changes)

    def write(self, path: str, content: bytes, mode: int | None = None) -> Write:
        """The change of a file as it is now."""
        there = (self.root / path).exists()
        return Write(path=path, content=content, before=self.seen(path) if there else None, mode=mode)

    def remove(self, path: str) -> Remove:
        return Remove(path=path, before=self.seen(path))

    def seen(self, path: str) -> str:
        return compute_fingerprint((self.root / path).read_bytes())

    def image(self) -> Image:
        return image(self.root)

    def records(self) -> list[str]:
        """What the journal holds besides its lock."""
        return sorted(set(os.listdir(self.journal)) - {"lock"}) if self.journal.exists() else []
