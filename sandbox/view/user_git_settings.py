"""The harmless part of the user's git settings, for commands that do not see the home folder."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

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
    return "".join(_format_settings(text)) if text is not None else ""


_MOST = 1 << 20
"""Bytes of a configuration that somebody wrote by hand."""


def _format_settings(text: str) -> Iterator[str]:
    section = ""
    for line in re.sub(r"\\\r?\n", "", text).splitlines():
        if header := _HEADER.match(line):
            section, line = header[1].lower(), line[header.end() :]
        entry = _ENTRY.match(line)
        if entry is None or f"{section}.{entry[1].lower()}" not in PASSED_ON:
            continue
        value = _strip_value(entry[2])
        yield f'[{section}]\n\t{entry[1]} = "{value}"\n'


_HEADER = re.compile(r"\s*\[\s*([A-Za-z0-9.-]+)\s*\]")
"""The header of a section without a subsection."""

_ENTRY = re.compile(r"\s*([A-Za-z][A-Za-z0-9-]*)\s*=\s*(.*)")

_PIECE = re.compile(r'"((?:[^"\\]|\\.)*)"|((?:[^"\\#;]|\\.)+)|([#;].*)|(.)')


def _strip_value(text: str) -> str:
    """Return a value without quotes, comment and surrounding space; its escapes stay as they are."""
    pieces = []
    for quoted, bare, comment, _ in _PIECE.findall(text.strip()):
        if comment:
            break
        pieces.append(quoted or bare)
    return "".join(pieces).strip()


def open_git_settings(text: str) -> int:
    """Return a descriptor from which a configuration can be read."""
    descriptor = os.memfd_create("gitconfig")
    os.write(descriptor, text.encode("utf-8", "surrogateescape"))
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
