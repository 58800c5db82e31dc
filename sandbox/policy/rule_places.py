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

MOST_LINKS = 200
"""Links in one folder that a pattern with wildcards is compared with."""

_WILD = compile_lazily(r"[*?]")


def is_absolute(pattern: str) -> bool:
    """Return whether a pattern names its place by its full path, or from a home folder."""
    return pattern.startswith(("/", "~"))


def list_relative_patterns(pattern: str, root: Path, *, loose: bool) -> tuple[str, ...]:
    """Return the patterns, relative to the workspace, for what a full path or one from `~` means inside it.

    () if it means nothing there. Links in the path of the workspace, and in that of the pattern, are followed, too.
    loose: names in other cases count as the same
    """
    place = re.sub("^/+", "/", posixpath.normpath(posixpath.expanduser(pattern)))
    spellings = dict.fromkeys((place, _resolve_beginning(place)))
    if loose:
        spellings |= dict.fromkeys((_resolve_all(place), *_follow_matching_links(place, root)))
    roots = dict.fromkeys((str(root.absolute()), os.path.realpath(root)))
    found = dict.fromkeys(
        each
        for spelling in spellings
        for folder in roots
        for each in _match_folders(spelling.split("/")[1:], _split(folder), loose=loose)
    )
    return tuple(found)


def list_linked_patterns(pattern: str, root: Path) -> tuple[str, ...]:
    """Return the patterns for what a relative pattern means behind links in the workspace, () if none is on its way."""
    place = posixpath.normpath(pattern)
    match = _WILD.search(place)
    literal = place if match is None else place[: match.start()].rpartition("/")[0]
    whole, folder = os.path.realpath(root), os.path.realpath(root / literal)
    if folder == posixpath.normpath(posixpath.join(whole, literal)):
        return ()
    rest = place[len(literal) :].strip("/")
    found = posixpath.join(folder, rest) if rest else folder
    if folder == whole or folder.startswith(f"{whole}/"):
        return (f"./{posixpath.relpath(found, whole)}",)
    return (found,)


def _resolve_all(place: str) -> str:
    """Return a pattern without wildcards with all links followed, also that in its last part."""
    return posixpath.realpath(place) if _WILD.search(place) is None else place


def _follow_matching_links(place: str, root: Path) -> Iterator[str]:
    """Yield a pattern with the links followed that its wildcards fit in the folders around the workspace."""
    parts = _split(place)
    folders = dict.fromkeys((str(root.absolute()), os.path.realpath(root)))
    for folder in folders:
        around = _split(folder)
        for depth, part in enumerate(parts[: len(around) + 1]):
            above = "/" + "/".join(around[:depth])
            if part == "**" or not all(
                _matches_name(one, other, loose=True)
                for one, other in zip(parts[:depth], around, strict=False)
            ):
                break
            try:
                links = [each.path for each in os.scandir(above) if each.is_symlink()][:MOST_LINKS]
            except OSError:
                continue
            for link in links:
                if any(map(_WILD.search, parts[: depth + 1])) and _matches_name(
                    part, posixpath.basename(link), loose=True
                ):
                    yield posixpath.join(posixpath.realpath(link), *parts[depth + 1 :])


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
