"""Files and folders that programs run or obey by themselves, by the table of them (`self_run_table`)."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from sandbox.guards.self_run_table import (
    AGENT_FOLDERS,
    AGENT_SETTINGS,
    HARMLESS_FOLDERS,
    HOOKS,
    TABLE,
    UNKNOWN,
)
from sandbox.lazy_pattern import compile_lazily


class SelfRun(NamedTuple):
    """What one program acts on, in whichever folder it is started: a line of the table.

    A tuple, since every start makes all of them: a dataclass takes four times as long.

    folders: names of folders; everything in them counts
    files: names of files, `*` for any characters
    inside: `folder/name`: entries of a folder whose other entries are harmless
    written: of all these, those that programs write themselves: only edits of them are guarded
    keys: `manifest:table.field`: parts of manifests by which a commit runs programs
    """

    kind: str
    program: str
    source: str
    date: str
    folders: tuple[str, ...]
    files: tuple[str, ...]
    inside: tuple[str, ...]
    written: tuple[str, ...]
    keys: tuple[str, ...]


def _parse_line(line: str) -> SelfRun:
    kind, program, names, keys, source, date = (each.strip() for each in line.split("|"))
    folders: list[str] = []
    files: list[str] = []
    inside: list[str] = []
    written: list[str] = []
    for word in names.split():
        for name in _expand_braces(word.removeprefix("~")):
            group = folders if name.endswith("/") else inside if "/" in name else files
            group.append(name.rstrip("/"))
            written += [name.rstrip("/")] if word.startswith("~") else []
    return SelfRun(
        kind=kind,
        program=program,
        source=source,
        date=date,
        folders=tuple(dict.fromkeys(folders)),
        files=tuple(dict.fromkeys(files)),
        inside=tuple(dict.fromkeys(inside)),
        written=tuple(dict.fromkeys(written)),
        keys=tuple(keys.split()),
    )


def _expand_braces(word: str) -> list[str]:
    before, opened, rest = word.partition("{")
    if not opened:
        return [word]
    inner, _, after = rest.partition("}")
    return [f"{before}{choice}{end}" for choice in inner.split(",") for end in _expand_braces(after)]


SELF_RUN = tuple(_parse_line(line) for line in TABLE.strip().replace("\n    ", " ").splitlines() if line)

_COMMANDS = [
    (row, {name for name in (*row.folders, *row.files, *row.inside) if name not in row.written})
    for row in SELF_RUN
]
"""The names that commands may not write, by row."""

FOLDERS = tuple(dict.fromkeys(name for row, names in _COMMANDS for name in row.folders if name in names))
FILES = tuple(
    dict.fromkeys(name for row, names in _COMMANDS for name in row.files if name in names and "*" not in name)
)
"""Names without a wildcard: these can be named while they are missing."""

_PATTERNS = tuple(dict.fromkeys(name for row in SELF_RUN for name in row.files if "*" in name))
_ENDINGS = tuple({pattern.rpartition("*")[2] for pattern in _PATTERNS})
_WILD = compile_lazily("|".join(re.escape(each).replace(r"\*", ".*") for each in _PATTERNS), re.DOTALL)
_EXACT = frozenset((*FOLDERS, *FILES))
_FOLDED = frozenset(name.casefold() for row in SELF_RUN for name in (*row.folders, *row.files))
_FOLDED_FOLDERS = frozenset(name.casefold() for row in SELF_RUN for name in row.folders)


_INSIDE_NAMES = tuple(dict.fromkeys(name for row, names in _COMMANDS for name in row.inside if name in names))


def _index_inside(paths: Iterable[str], flags: int = 0) -> dict[str, re.Pattern[str]]:
    entries: dict[str, list[str]] = {}
    for path in paths:
        folder, _, name = path.partition("/")
        entries.setdefault(folder, []).append(re.escape(name).replace(r"\*", ".*"))
    return {folder: compile_lazily("|".join(names), re.DOTALL | flags) for folder, names in entries.items()}


_INSIDE = _index_inside(_INSIDE_NAMES)


@cache
def _fold_inside() -> dict[str, re.Pattern[str]]:
    """Return the entries of folders in any case, those that commands may write among them: edits are compared so."""
    every = dict.fromkeys(path for row in SELF_RUN for path in row.inside)
    found = _index_inside(every, re.IGNORECASE)
    return {folder.casefold(): pattern for folder, pattern in found.items()}


INSIDE_FILES = tuple(path for path in _INSIDE_NAMES if "*" not in path)
INSIDE_FOLDERS = tuple(_INSIDE)


def is_self_run(name: str, folder: str = "") -> bool:
    """Whether an entry with this name is in the table. folder: name of the folder that holds it

    Called for every entry of a workspace: set look-ups first, patterns only for names with their endings.
    """
    if name in _EXACT or (name.endswith(_ENDINGS) and _WILD.fullmatch(name) is not None):
        return True
    return folder in _INSIDE and _INSIDE[folder].fullmatch(name) is not None


def find_self_run_part(parts: Sequence[str]) -> str:
    """Return the part of a path (`folder/name` for an entry inside) that is in the table, else "".

    In any case, because some file systems take `.GitHub` for `.github`. So does an entry of a dot folder that the
    table does not know, by whose name a program probably acts on it.
    """
    folded = [part.casefold() for part in parts]
    for at, name in enumerate(folded):
        is_last = at == len(folded) - 1
        if name in _FOLDED_FOLDERS or (is_last and (name in _FOLDED or _WILD.fullmatch(name))):
            return parts[at]
        inside = _fold_inside().get(folded[at - 1]) if at else None
        if inside is not None and inside.fullmatch(name):
            return f"{parts[at - 1]}/{parts[at]}"
        if at and is_unknown_setting(name, folded[at - 1]):
            return f"{parts[at - 1]}/{parts[at]}"
    return ""


def is_unknown_setting(name: str, folder: str) -> bool:
    """Whether an entry of a dot folder that is not in the table has a name on which a program probably acts."""
    if not folder.startswith(".") or (kind := folder.casefold()) in HARMLESS_FOLDERS:
        return False
    stem, _, ending = name.partition(".")
    if kind in AGENT_FOLDERS:
        return stem.casefold() in AGENT_SETTINGS and ending.casefold() not in ("md", "mdc")
    return stem.casefold() in UNKNOWN


def is_hook_file(parts: Sequence[str]) -> bool:
    """Return whether a path is one of the files that managers of git's hooks run or obey, at any depth."""
    folded = [part.casefold() for part in parts]
    if folded[-1] in _HOOK_NAMES or _HOOK_WILD.fullmatch(folded[-1]):
        return True
    if len(folded) > 1 and "/".join(folded[-2:]) in _HOOK_NAMES:
        return True
    return not HOOK_FOLDERS.isdisjoint(folded[:-1])


_HOOK_ROWS = [row for row in SELF_RUN if row.kind == HOOKS]
_HOOK_NAMES = frozenset(name.casefold() for row in _HOOK_ROWS for name in (*row.files, *row.inside))
HOOK_FOLDERS = frozenset(name.casefold() for row in _HOOK_ROWS for name in row.folders)
"""Folders of hooks and of their managers, in lower case; everything in them counts."""

_HOOK_WILD = compile_lazily(
    "|".join(re.escape(each).replace(r"\*", ".*") for row in _HOOK_ROWS for each in row.files if "*" in each)
)

HOOK_KEYS = {
    manifest: tuple(
        key.partition(":")[2] for row in _HOOK_ROWS for key in row.keys if key.startswith(f"{manifest}:")
    )
    for manifest in dict.fromkeys(key.partition(":")[0] for row in _HOOK_ROWS for key in row.keys)
}
"""By manifest, the tables and fields by which managers of git's hooks are configured."""


def list_top_entries(root: Path, names: Iterable[str]) -> Iterator[Path]:
    """Yield the entries at the top of a workspace that are in the table. names: of all entries there

    A symbolic link that leads to a folder with such entries counts itself: what is behind it may be anyone's.
    """
    given = frozenset(names)  # sets: this runs several times for each command
    wild = [each for each in given if each.endswith(_ENDINGS) and _WILD.fullmatch(each)]
    found = dict.fromkeys((*(given & _EXACT), *wild))
    yield from (root / each for each in found)
    for name in given & _INSIDE.keys() - found.keys():
        folder = f"{root}/{name}"
        if os.path.islink(folder):  # noqa: PTH114
            yield root / name
            continue
        try:
            inner = os.listdir(folder)
        except OSError:  # a file, or not readable
            continue
        yield from (root / name / each for each in inner if is_self_run(each, name))


def list_unknown_settings(root: Path, names: Iterable[str]) -> Iterator[Path]:
    """Yield the entries of dot folders at the top that are not in the table, and on which a program probably acts."""
    for name in names:
        if name[0] == "." and name.casefold() not in HARMLESS_FOLDERS and name not in _EXACT:
            try:
                inner = os.listdir(f"{root}/{name}")
            except OSError:  # a file, or not readable
                continue
            yield from (
                root / name / each
                for each in inner
                if is_unknown_setting(each, name) and not is_self_run(each, name)
            )
