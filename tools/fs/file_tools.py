"""`read`, `list` and `write`: files of the workspace."""

from __future__ import annotations

import asyncio
import io
import os
import stat
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from sandbox.fs.regular_file import READ_FLAGS
from sandbox.fs.text_file import show_odd_bytes
from sandbox.lazy_dataclass import dataclass
from tools.changes.file_versions import create_version
from tools.core.action import Observation, ToolFailure
from tools.core.path_resolution import (
    describe_missing_path,
    resolve_existing_file,
    resolve_path,
    translate_path_errors,
)
from tools.core.registry import tool
from tools.core.text import format_count, format_size, join_names
from tools.core.workspace import Workspace
from tools.edit.edit_model import Create
from tools.edit.loaded_file import load_text_file
from tools.fs.line_range import LineRange, read_line_range
from tools.fs.pointer_files import MOST_BYTES, describe_pointer
from tools.fs.ripgrep import BASE
from tools.fs.search import list_file_names

if TYPE_CHECKING:
    from tools.edit.apply.change_writer import AppliedChange

HUGE = 8 << 20
"""Bytes above which a file is read only as far as requested, without decoding or counting the rest."""

MAX_ENTRIES = 300
"""Lines of a listing, about 2k tokens."""

MAX_PER_FOLDER = 60
"""Files of one folder that are listed; folders of data hold thousands."""

MAX_DEPTH = 20


@tool(effect="read")
async def read(path: str, start: int = 1, end: int | None = None, *, at: Workspace) -> Observation:
    """Read a text file, 400 lines unless an end is given; line numbers and tabs are not in the file."""
    done = await asyncio.to_thread(_read_file, at, path, start or 1, end)  # small models count from 0
    if at.servers is not None:
        at.servers.warm_up(at, str(done.data["path"]))
    return done


@tool(effect="read", name="list")
async def list_files(path: str = ".", depth: int = 2, *, at: Workspace) -> Observation:
    """List files as a tree, without ignored ones."""
    folder = resolve_path(at, "list", path)
    with translate_path_errors("list", folder):
        if at.files.is_file(folder):
            return Observation(text=f"{folder} is a file ({format_size(at.files.get_size(folder))})")
        if not at.files.is_dir(folder):
            raise ToolFailure(describe_missing_path(at, "list", folder))
    if not 1 <= depth <= MAX_DEPTH:
        raise ToolFailure(f"list: depth must be 1 to {MAX_DEPTH} (got {depth})")
    names = await list_file_names(at, BASE, folder)
    ignored = not names
    if ignored:  # requested by name, so it is listed although ignored
        names = await list_file_names(at, (*BASE, "--no-ignore"), folder)
    else:
        from tools.fs.tracked_ignored import list_tracked_ignored

        names = sorted({*names, *await asyncio.to_thread(list_tracked_ignored, at.root, folder)})
    listing = await asyncio.to_thread(_build_listing, at, folder, names, depth, ignored)
    return replace(listing, value=names)


def _preview_write(given: Mapping[str, Any], at: Workspace) -> str:
    """Return a diff of what a call of `write` would change now."""
    from tools.edit.apply.change_preview import preview_changes

    content = given["content"].replace("\r\n", "\n")
    return preview_changes(lambda given, at: [Create(path=given["path"], content=content)], given, at)


@tool(effect="write", preview=_preview_write)
async def write(path: str, content: str, *, at: Workspace) -> Observation:
    """Create a file, or replace one that was read before."""
    from tools.edit.apply.execute import (
        add_diagnostics,  # part of the edit engine, which a session's start does not import
    )

    observation, change = await asyncio.to_thread(_write_file, at, path, content.replace("\r\n", "\n"))
    return await add_diagnostics(at, observation, [change])


def _read_file(at: Workspace, path: str, start: int, end: int | None) -> Observation:
    relative = resolve_existing_file(at, "read", path)
    with translate_path_errors("read", relative):
        length = at.files.get_size(relative)
    if length > HUGE:
        part, facts, content = _read_huge_file(at, relative, start, end), [format_size(length)], None
    else:
        part, facts, content = _read_whole_file(at, relative, start, end)
    if not part.text:
        return Observation(text=f"{relative} is empty", data={"path": relative}, value="")
    head = ", ".join([part.describe_extent(), *facts])
    rest = f"\n[more: read(path={relative!r}, start={part.last + 1})]" if part.more else ""
    asked = {"asked": [start, end or start]} if (start, end) != (1, None) else {}
    return Observation(
        text=f"{relative}: {head}\n{part.text}{rest}",
        data={"path": relative, "first": part.first, "last": part.last, "lines": part.total, **asked},
        value=content,
    )


def _read_whole_file(
    at: Workspace, path: str, start: int, end: int | None
) -> tuple[LineRange, list[str], str]:
    """Return a range of lines of a file, and its text as requested; the file's version counts as seen."""
    before = load_text_file(at, "read", path)
    shown = show_odd_bytes(before.text)
    part = read_line_range(io.BytesIO(shown.encode()), start, end, tool="read")
    at.read_versions[path] = create_version(before.fingerprint, before.text)
    facts = (
        [pointer]
        if (pointer := describe_pointer(before.text[: MOST_BYTES + 1].encode("utf-8", "replace"), path))
        else []
    )
    from tools.fs.generated_files import describe_generated  # here: a session's start reads no file

    if generated := describe_generated(before.text, path, at.root):
        facts.append(generated)
    if before.file.encoding.lower().replace("_", "-") not in ("utf-8", "ascii"):
        facts.append(f"{before.file.encoding} (a guess)" if before.file.doubt else before.file.encoding)
    if before.file.has_odd_bytes:
        facts.append("with bytes that are not UTF-8, shown as \ufffd")
    asked = shown if (start, end) == (1, None) else "".join(shown.splitlines(True)[start - 1 : end])
    return part, facts, asked


def _read_huge_file(at: Workspace, path: str, start: int, end: int | None) -> LineRange:
    with translate_path_errors("read", path), _open_file(at, path) as file:
        if b"\0" in file.read(8192):
            raise ToolFailure(f"read: {path!r} is binary: look at it with shell")
        file.seek(0)
        return read_line_range(file, start, end, tool="read", count=False)


def _open_file(at: Workspace, path: str) -> BinaryIO:
    """Open a stream on a file. `path` comes from the tree with its links followed, so no link is expected."""
    descriptor = os.open(at.root / path, READ_FLAGS)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):  # exchanged since it was looked at
        os.close(descriptor)
        raise ToolFailure(f"read: {path!r} is no longer a file")
    return os.fdopen(descriptor, "rb")


@dataclass(slots=True)
class _Folder:
    """A folder of a listing. total: files in it and below"""

    folders: dict[str, _Folder] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)
    total: int = 0


def _build_listing(
    at: Workspace, folder: str, names: Sequence[str], depth: int, ignored: bool
) -> Observation:
    tree = _Folder()
    prefix = "" if folder == "." else f"{folder}/"
    for name in names:
        _insert_path(tree, name.removeprefix(prefix).split("/"))
    _add_links(at, tree, folder, depth)
    lines = list(_format_tree(tree, depth, ""))
    number = format_count(len(names), "file")
    note = ", ignored by .gitignore" if ignored and names else ""
    head = f"{folder}: {number}, {format_count(_count_entries(tree), 'folder')}{note} (depth {depth})"
    if len(lines) > MAX_ENTRIES:
        left = len(lines) - MAX_ENTRIES
        lines = [*lines[:MAX_ENTRIES], f"… {left:,} more entries: list a folder below, or a smaller depth"]
    return Observation(text="\n".join([head, *lines]), data={"path": folder, "files": len(names)})


def _insert_path(tree: _Folder, parts: Sequence[str]) -> None:
    tree.total += 1
    for part in parts[:-1]:
        tree = tree.folders.setdefault(part, _Folder())
        tree.total += 1
    tree.files.append(parts[-1])


def _add_links(at: Workspace, tree: _Folder, folder: str, depth: int) -> None:
    """Add the links, which ripgrep skips, to the listed folders."""
    try:
        entries = sorted(os.scandir(at.root / folder), key=lambda entry: entry.name)
    except OSError:  # deleted meanwhile: nothing to add
        return
    for entry in entries:
        if entry.is_symlink():
            tree.files.append(f"{entry.name} -> {Path(entry.path).readlink()}")
    for name, below in tree.folders.items():
        if depth > 1:
            _add_links(at, below, f"{folder}/{name}", depth - 1)


def _format_tree(tree: _Folder, depth: int, indent: str) -> Iterator[str]:
    for name, below in sorted(tree.folders.items()):
        if depth > 1:
            yield f"{indent}{name}/"
            yield from _format_tree(below, depth - 1, indent + "  ")
        else:
            yield f"{indent}{name}/  ({format_count(below.total, 'file')})"
    files = sorted(tree.files)
    yield from (f"{indent}{name}" for name in files[:MAX_PER_FOLDER])
    if len(files) > MAX_PER_FOLDER:
        yield f"{indent}… {len(files) - MAX_PER_FOLDER:,} more files ({_summarize_suffixes(files[MAX_PER_FOLDER:])})"


def _summarize_suffixes(files: Sequence[str]) -> str:
    kinds: Mapping[str, int] = Counter(Path(name).suffix or "no suffix" for name in files)
    ranked = sorted(kinds.items(), key=lambda item: -item[1])
    return join_names([f"{number} {kind}" for kind, number in ranked], 4)


def _count_entries(tree: _Folder) -> int:
    return sum(1 + _count_entries(below) for below in tree.folders.values())


def _write_file(at: Workspace, path: str, content: str) -> tuple[Observation, AppliedChange]:
    relative = resolve_path(at, "write", path)
    with translate_path_errors("write", relative):
        if at.files.is_dir(relative):
            raise ToolFailure(f"write: {relative!r} is a folder; nothing was written")
    from tools.edit.apply.change_writer import apply_changes

    [change] = apply_changes(at, "write", [Create(path=path, content=content)])
    if not change.planned.has_changes:
        return Observation(text=f"write: {relative}: no change: it already has this content"), change
    existed = change.planned.before is not None
    lines = format_count(content.count("\n") + (not content.endswith("\n") and bool(content)), "line")
    counts = f" (+{change.added} −{change.removed})" if existed else ""
    head = f"write: {relative}: {'replaced' if existed else 'created'}, {lines}{counts}"
    return Observation(text="\n".join([head, *change.notes]), data=change.as_data()), change
