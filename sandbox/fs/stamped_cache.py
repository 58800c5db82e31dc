"""Cache of what was read from files, valid as long as their stamps stay the same."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Generic, TypeVar

T = TypeVar("T")

_MOST = 64
"""Entries kept."""

Stamp = tuple[int, ...] | None


class StampedCache(Generic[T]):
    """Values by key, each with the stamps of the files that it was read from."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[T, list[tuple[str, Stamp]]]] = {}

    def get(self, key: str, read: Callable[[], tuple[T, Iterable[str]]]) -> T:
        """Return the value for a key. read: returns it anew, with the paths on which it depends"""
        kept = self._kept.get(key)
        if kept is not None and all(_read_stamp(path) == stamp for path, stamp in kept[1]):
            return kept[0]
        value, paths = read()
        if len(self._kept) >= _MOST:
            self._kept.clear()
        self._kept[key] = (value, [(path, _read_stamp(path)) for path in paths])
        return value


def _read_stamp(path: str) -> Stamp:
    try:
        status = os.lstat(path)
    except (OSError, ValueError):  # missing
        return None
    return (status.st_ino, status.st_mode, status.st_size, status.st_mtime_ns, status.st_ctime_ns)
