"""`read`, `list` and `write`: files of the workspace."""

from __future__ import annotations

import asyncio
import io
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

from tools.action import Observation, ToolFailure
from tools.edit.changes import Create
from tools.edit.loading import load
from tools.locate import existing_file, located, missing, refusals
from tools.registry import tool
from tools.search import BASE, file_names
from tools.seen import version
from tools.text import listed, plural, size
from tools.window import Window, window
from tools.workspace import Workspace

if TYPE_CHECKING:
    from tools.edit.change import Change

HUGE = 8 << 20
"""Bytes from which a file is read only as far as asked, without decoding or counting the whole."""

MAX_ENTRIES = 300
"""Lines of a listing, about 2k tokens."""

MAX_PER_FOLDER = 60
"""Files of one folder that are named; folders of data hold thousands."""

MAX_DEPTH = 20


@tool(effect="read")
async def read(path: str, start: int = 1, end: int | None = None, *, at: Workspace) -> Observation:
    """Read a text file with line numbers (the tab after the number is not part of the line).

    start: first line
    end: last line; without it up to 400 lines
    """
    return await asyncio.to_thread(_read, at, path, start, end)


@tool(effect="read", name="list")
async def list_files(path: str = ".", depth: int = 2, *, at: Workspace) -> Observation:
    """List files and folders as a tree, without those that .gitignore names.

    depth: levels of folders to open
    """
    folder = located(at, "list", path)
    with refusals("list", folder):
        if at.files.is_file(folder):
            return Observation(text=f"{folder} is a file ({size(at.files.get_size(folder))})")
        if not at.files.is_dir(folder):
            raise ToolFailure(missing(at, "list", folder))
    if not 1 <= depth <= MAX_DEPTH:
        raise ToolFailure(f"list: depth must be 1 to {MAX_DEPTH} (got {depth})")
    names = await file_names(at, BASE, folder)
    ignored = not names
    if ignored:  # asked for by name, so it is shown although it is ignored
        names = await file_names(at, (*BASE, "--no-ignore"), folder)
    listing = await asyncio.to_thread(_listing, at, folder, names, depth, ignored)
    return replace(listing, value=names)


@tool(effect="write")
async def write(path: str, content: str, *, at: Workspace) -> Observation:
    """Create a file, or replace one that was read before."""
    from tools.edit.making import advised  # with the engine, which a session's start does without

    observation, change = await asyncio.to_thread(_write, at, path, content.replace("\r\n", "\n"))
    return await advised(at, observation, [change])


def _read(at: Workspace, path: str, start: int, end: int | None) -> Observation:
    relative = existing_file(at, "read", path)
    with refusals("read", relative):
        length = at.files.get_size(relative)
    if length > HUGE:
        part, facts, content = _huge(at, relative, start, end), [size(length)], None
    else:
        part, facts, content = _whole(at, relative, start, end)
    if not part.text:
        return Observation(text=f"{relative} is empty", data={"path": relative}, value="")
    head = ", ".join([part.extent(), *facts])
    rest = f"\n[more: read(path={relative!r}, start={part.last + 1})]" if part.more else ""
    asked = {"asked": [start, end or start]} if (start, end) != (1, None) else {}
    return Observation(
        text=f"{relative}: {head}\n{part.text}{rest}",
        data={"path": relative, "first": part.first, "last": part.last, "lines": part.total, **asked},
        value=content,
    )


def _whole(at: Workspace, path: str, start: int, end: int | None) -> tuple[Window, list[str], str]:
    """A window on a file of ordinary size, and for code the lines that were asked for; its content counts as seen."""
    before = load(at, "read", path)
    part = window(io.BytesIO(before.text.encode("utf-8", "replace")), start, end, tool="read")
    at.read[path] = version(before.fingerprint, before.text)
    facts = []
    if before.file.encoding.lower().replace("_", "-") not in ("utf-8", "ascii"):
        facts.append(before.file.encoding)
    asked = (
        before.text if (start, end) == (1, None) else "".join(before.text.splitlines(True)[start - 1 : end])
    )
    return part, facts, asked


def _huge(at: Workspace, path: str, start: int, end: int | None) -> Window:
    with refusals("read", path), _opened(at, path) as file:
        if b"\0" in file.read(8192):
            raise ToolFailure(f"read: {path!r} is binary: look at it with shell")
        file.seek(0)
        return window(file, start, end, tool="read", count=False)


def _opened(at: Workspace, path: str) -> BinaryIO:
    """A stream on a file. `path` comes from the tree with its links followed, so there is none to follow."""
    descriptor = os.open(at.root / path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    return os.fdopen(descriptor, "rb")


@dataclass(slots=True)
class _Folder:
    """A folder of a listing. total: files in it and below"""

    folders: dict[str, _Folder] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)
    total: int = 0


def _listing(at: Workspace, folder: str, names: Sequence[str], depth: int, ignored: bool) -> Observation:
    tree = _Folder()
    prefix = "" if folder == "." else f"{folder}/"
    for name in names:
        _place(tree, name.removeprefix(prefix).split("/"))
    _add_unlisted(at, tree, folder, depth)
    lines = list(_lines(tree, depth, ""))
    number = plural(len(names), "file")
    note = ", ignored by .gitignore" if ignored and names else ""
    head = f"{folder}: {number}, {plural(_count(tree), 'folder')}{note} (depth {depth})"
    if len(lines) > MAX_ENTRIES:
        left = len(lines) - MAX_ENTRIES
        lines = [*lines[:MAX_ENTRIES], f"… {left:,} more entries: list a folder below, or a smaller depth"]
    return Observation(text="\n".join([head, *lines]), data={"path": folder, "files": len(names)})


def _place(tree: _Folder, parts: Sequence[str]) -> None:
    tree.total += 1
    for part in parts[:-1]:
        tree = tree.folders.setdefault(part, _Folder())
        tree.total += 1
    tree.files.append(parts[-1])


def _add_unlisted(at: Workspace, tree: _Folder, folder: str, depth: int) -> None:
    """Links, which ripgrep passes over, in the folders that are shown."""
    try:
        entries = sorted(os.scandir(at.root / folder), key=lambda entry: entry.name)
    except OSError:  # gone meanwhile: nothing to add
        return
    for entry in entries:
        if entry.is_symlink():
            tree.files.append(f"{entry.name} -> {Path(entry.path).readlink()}")
    for name, below in tree.folders.items():
        if depth > 1:
            _add_unlisted(at, below, f"{folder}/{name}", depth - 1)


def _lines(tree: _Folder, depth: int, indent: str) -> Iterator[str]:
    for name, below in sorted(tree.folders.items()):
        if depth > 1:
            yield f"{indent}{name}/"
            yield from _lines(below, depth - 1, indent + "  ")
        else:
            yield f"{indent}{name}/  ({plural(below.total, 'file')})"
    files = sorted(tree.files)
    yield from (f"{indent}{name}" for name in files[:MAX_PER_FOLDER])
    if len(files) > MAX_PER_FOLDER:
        yield f"{indent}… {len(files) - MAX_PER_FOLDER:,} more files ({_kinds(files[MAX_PER_FOLDER:])})"


def _kinds(files: Sequence[str]) -> str:
    kinds: Mapping[str, int] = Counter(Path(name).suffix or "no suffix" for name in files)
    ranked = sorted(kinds.items(), key=lambda item: -item[1])
    return listed([f"{number} {kind}" for kind, number in ranked], 4)


def _count(tree: _Folder) -> int:
    return sum(1 + _count(below) for below in tree.folders.values())


def _write(at: Workspace, path: str, content: str) -> tuple[Observation, Change]:
    relative = located(at, "write", path)
    with refusals("write", relative):
        if at.files.is_dir(relative):
            raise ToolFailure(f"write: {relative!r} is a folder; nothing was written")
    from tools.edit.change import perform

    [change] = perform(at, "write", [Create(path=relative, content=content)])
    if not change.planned.changes:
        return Observation(text=f"write: {relative}: no change: it already has this content"), change
    existed = change.planned.before is not None
    lines = plural(content.count("\n") + (not content.endswith("\n") and bool(content)), "line")
    counts = f" (+{change.added} −{change.removed})" if existed else ""
    head = f"write: {relative}: {'replaced' if existed else 'created'}, {lines}{counts}"
    return Observation(text="\n".join([head, *change.notes]), data=change.as_data()), change
