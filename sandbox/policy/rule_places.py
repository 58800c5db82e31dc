"""The places that a rule on paths means in a workspace, in the one spelling that everything compares: relative."""

from __future__ import annotations

import os
import posixpath
import re
from collections.abc import Iterator, Sequence
from fnmatch import translate
from pathlib import Path

from sandbox.lazy_pattern import compile_lazily

STANDARD_FOLDERS = frozenset(
    ("/bin", "/usr/bin", "/sbin", "/usr/sbin", "/usr/local/bin", "/opt/homebrew/bin")
)
"""Folders in which program names can be trusted; a program in any other folder is an unknown file."""

WHOLE = "**"
"""Pattern of all that is in the workspace."""

_WILD = compile_lazily(r"[*?]")


def is_absolute(pattern: str) -> bool:
    """Return whether a pattern names its place by its full path, or from a home folder."""
    return pattern.startswith(("/", "~"))


def list_relative_patterns(pattern: str, root: Path, *, loose: bool) -> tuple[str, ...]:
    """Return the patterns, relative to the workspace, for what a full path or one from `~` means inside it.

    () if it means nothing there. Links in the path of the workspace, and in that of the pattern, are followed, too.
    loose: names in other cases count as the same
    """
    place = posixpath.normpath(posixpath.expanduser(pattern))
    spellings = dict.fromkeys((place, _resolve_beginning(place)))
    roots = dict.fromkeys((str(root.absolute()), os.path.realpath(root)))
    found = dict.fromkeys(
        each
        for spelling in spellings
        for folder in roots
        for each in _match_folders(spelling.split("/")[1:], _split(folder), loose=loose)
    )
    return tuple(found)


def _split(folder: str) -> list[str]:
    return [part for part in folder.split("/") if part]


def _resolve_beginning(place: str) -> str:
    """Return a pattern with the links followed in the folders before its first wildcard."""
    match = _WILD.search(place)
    if match is None:
        folder, _, name = place.rpartition("/")
        return posixpath.join(posixpath.realpath(folder or "/"), name)
    folder, _, rest = place[: match.start()].rpartition("/")
    return posixpath.join(posixpath.realpath(folder or "/"), rest + place[match.start() :])


def _match_folders(pattern: Sequence[str], folders: Sequence[str], *, loose: bool) -> Iterator[str]:
    """Yield what is left of a pattern inside the innermost of the folders."""
    if not pattern or not pattern[0]:
        yield WHOLE  # a folder around the workspace means all that is in it
        return
    if not folders:
        yield "./" + "/".join(pattern)
        return
    first = pattern[0]
    if first == "**":
        yield from _match_folders(pattern[1:], folders, loose=loose) if len(pattern) > 1 else (WHOLE,)
        yield from _match_folders(pattern, folders[1:], loose=loose)
    elif _matches_name(first, folders[0], loose=loose):
        yield from _match_folders(pattern[1:], folders[1:], loose=loose)


def _matches_name(pattern: str, name: str, *, loose: bool) -> bool:
    flags = re.IGNORECASE if loose else 0
    return re.fullmatch(translate(pattern.replace("[", "[[]")), name, flags) is not None
