"""The harmless part of the user's git settings, for commands that do not see the home folder."""

from __future__ import annotations

import os
from functools import lru_cache
from pathlib import Path

from sandbox.fs.git_settings import format_setting, parse_settings
from sandbox.fs.regular_file import read_regular_text
from sandbox.secrets.child_environment import find_home

PASSED_ON = frozenset(
    {
        *("user.name", "user.email", "init.defaultbranch", "safe.directory"),
        *("core.autocrlf", "core.eol", "core.safecrlf", "core.quotepath", "core.precomposeunicode"),
        *("pull.rebase", "merge.conflictstyle", "diff.algorithm", "diff.renames", "color.ui"),
    }
)
"""Settings, in lower case, whose values are words: none holds a key, names a program or leads to another file."""


def read_git_settings() -> str:
    """Return a git configuration with these settings of the user's global one, "" for none.

    Files that it includes are not read.
    """
    home = find_home()
    return "".join(
        _read_file(each, _get_identity(each)) for each in (home / ".config/git/config", home / ".gitconfig")
    )


def _get_identity(path: Path) -> tuple[int, int, int]:
    try:
        status = path.stat()
    except OSError:  # no such file
        return (0, 0, 0)
    return (status.st_ino, status.st_size, status.st_mtime_ns)


@lru_cache(maxsize=8)
def _read_file(path: Path, identity: tuple[int, int, int]) -> str:
    text = read_regular_text(path, _MOST)
    found = [each for each in parse_settings(text or "") if each.key in PASSED_ON and each.value is not None]
    return "".join(map(format_setting, found))


_MOST = 1 << 20
"""Bytes of a configuration that somebody wrote by hand."""


def write_git_settings(folder: Path, root: Path) -> dict[str, str]:
    """Write these settings to a folder; return a variable that makes git read them instead of the user's: what may
    not be read is a fatal error for git. root: the workspace; one around the home folder shows the user's own"""
    if find_home().is_relative_to(root):
        return {}
    copy = folder / "gitconfig"
    copy.write_text(read_git_settings(), "utf-8", "surrogateescape")
    return {"GIT_CONFIG_GLOBAL": str(copy)}


def open_git_settings(text: str) -> int:
    """Return a descriptor from which a configuration can be read."""
    descriptor = os.memfd_create("gitconfig")
    os.write(descriptor, text.encode("utf-8", "surrogateescape"))
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
