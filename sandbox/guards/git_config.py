"""Files of a workspace that git's own configuration makes it obey: `include.path`, `includeIf`, `core.hooksPath`."""

from __future__ import annotations

import os
import stat
from functools import lru_cache
from pathlib import Path

from sandbox.fs.git_settings import Setting, parse_settings
from sandbox.fs.regular_file import read_regular_text
from sandbox.fs.repository import find_common_dir
from sandbox.lazy_dataclass import dataclass

_MOST_FILES = 64
"""Files read in all: git itself gives up at ten nested includes."""

_LARGEST = 1 << 20
"""Bytes of a configuration file that is read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfiguredPaths:
    """Paths that a repository's configuration names. included: files, existing or not; hooks: folders"""

    included: tuple[Path, ...] = ()
    hooks: tuple[Path, ...] = ()


def find_configured_paths(work_tree: Path, git_dir: Path) -> ConfiguredPaths:
    """Return the files that a repository's own configuration includes, under any condition, and its hook folders."""
    included: dict[Path, None] = {}
    hooks: dict[Path, None] = {}
    waiting = [find_common_dir(git_dir) / "config", git_dir / "config.worktree"]
    for _ in range(_MOST_FILES):
        if not waiting:
            break
        path = waiting.pop(0)
        for name, value in _read_entries(path):
            if name == "core.hookspath":
                hooks[_join_path(work_tree, value)] = None
            elif (place := _join_path(path.parent, value)) not in included:
                included[place] = None
                waiting.append(place)
    return ConfiguredPaths(included=tuple(included), hooks=tuple(hooks))


def _join_path(base: Path, value: str) -> Path:
    return base / os.path.expanduser(value)  # noqa: PTH111 (an unknown user is no error)


def _read_entries(path: Path) -> tuple[tuple[str, str], ...]:
    try:
        found = path.stat()
    except OSError:  # missing
        return ()
    if not stat.S_ISREG(found.st_mode) or found.st_size > _LARGEST:
        return ()
    return _parse_file(
        path, (found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns, found.st_ctime_ns)
    )


@lru_cache(maxsize=256)
def _parse_file(path: Path, identity: tuple[int, ...]) -> tuple[tuple[str, str], ...]:
    """Return the entries that matter, read once per identity of the file."""
    text = read_regular_text(path, _LARGEST)
    if text is None:  # not readable, by git neither
        return ()
    return tuple(
        (f"{each.section}.{each.name}", each.value)
        for each in parse_settings(text)
        if each.value and _has_effect(each)
    )


def _has_effect(entry: Setting) -> bool:
    if entry.section.partition(".")[0] in _INCLUDES:
        return entry.name == "path"
    return entry.key == "core.hookspath"


_INCLUDES = ("include", "includeif")
