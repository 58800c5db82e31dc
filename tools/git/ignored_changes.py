"""Ignored files that changed lately: no snapshot has them, unless a tool of ours wrote them."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path

from sandbox.errors import UserError
from sandbox.fs.repository import find_root
from sandbox.guards.workspace_inventory import SKIPPED
from sandbox.helpers.git_runner import LITERAL
from sandbox.lazy_pattern import compile_lazily
from tools.core.action import ToolFailure
from tools.git.broker import Broker

_MOST_FOLDERS = 20_000
"""Ignored folders that are looked through: some tenths of a second."""


def find_ignored_changes(root: Path, since: float) -> list[str]:
    """Return the files that git ignores and that changed after a time (seconds since the epoch), sorted.

    Folders that package managers and builds fill are left out, and so is everything outside a repository.
    """
    if find_root(root) is None:
        return []
    options = ("--others", "--ignored", "--exclude-standard", "--directory")
    found: list[str] = []
    with suppress(UserError, ToolFailure):  # git cannot read the repository: it says so elsewhere
        for entry in Broker(root).run(LITERAL, "ls-files", "-z", *options).split_fields():
            if SKIPPED.isdisjoint(entry.split("/")):
                found += _list_changed(root, entry, since)
    return sorted(found)


def _list_changed(root: Path, entry: str, since: float) -> Iterator[str]:
    """Yield the changed files of an ignored entry; a folder ends with a slash."""
    if not entry.endswith("/"):
        if _is_newer(root / entry, since):
            yield entry
        return
    for number, (folder, folders, files) in enumerate(os.walk(root / entry)):
        if number >= _MOST_FOLDERS:
            return
        folders[:] = [name for name in folders if name not in SKIPPED]
        paths = (Path(folder, name) for name in files)
        yield from (path.relative_to(root).as_posix() for path in paths if _is_newer(path, since))


def _is_newer(path: Path, since: float) -> bool:
    try:
        return path.lstat().st_ctime > since
    except OSError:  # gone meanwhile
        return False


_REMOVES = compile_lazily(r"\b(?:rm|mv|unlink|shred|clean|rsync|-delete)\b")


def find_removed_files(root: Path, lines: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return what shell lines removed, as far as git ignores it: (paths that are gone, lines that name none).

    Such a line removes by a pattern or by git's own rules: nobody knows afterwards what was there.
    """
    removing = [line for line in dict.fromkeys(lines) if _REMOVES.search(line)]
    if not removing or find_root(root) is None:
        return [], []
    from sandbox.policy.shell import judge_command_line

    named: set[str] = set()
    unnamed = []
    for line in removing:
        effects = [
            each for segment in judge_command_line(line, root=root).segments for each in segment.effects
        ]
        paths = {path for each in effects if each.kind == "write" for path in each.paths}
        if any((root / path).is_dir() for path in paths) or any(
            each.kind == "destructive" and not each.paths for each in effects
        ):
            unnamed.append(line)
        named |= {path for path in paths if not path.startswith(("/", "..")) and not (root / path).exists()}
    asked = b"".join(os.fsencode(f"./{path}") + b"\0" for path in sorted(named))
    gone: list[str] = []
    with suppress(UserError, ToolFailure):
        options = ("check-ignore", "-z", "--stdin")
        found = Broker(root).run(*options, stdin=asked, ok=(0, 1)).split_fields() if asked else ()
        gone = sorted(each.removeprefix("./") for each in found)
    return gone, unnamed
