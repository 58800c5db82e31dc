"""Files that the session changed: the version before its first change and the present one."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Mapping
from pathlib import Path

from sandbox.fs.regular_file import SOURCE, UnsafeFileError, read_entry
from sandbox.fs.repository import find_git_dir
from sandbox.lazy_dataclass import dataclass
from tools.changes.session_changes import SessionChanges
from tools.core.action import ToolFailure
from tools.core.workspace import Workspace
from tools.git.broker import Broker
from tools.git.commits.change_separation import (
    FileVersion,
    SessionChange,
    separate_session_change,
    to_git_mode,
)
from tools.git.commits.git_objects import Entry


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedFile:
    """A file that the session changed.

    path: relative to the repository, no link on the way to it
    keys: its names in `SessionChanges` (more than one when it was changed through a link as well)
    base: before the first change, None if it was not there
    now: at present, None if it is deleted
    is_original_lost: the version before existed, but its content was not saved
    conflict: why foreign edits cannot be separated from the session's changes; "" if they can
    has_foreign_edits: the file on disk differs from `now`: it also has foreign edits of the session's own lines
    """

    path: str
    keys: tuple[str, ...]
    base: FileVersion | None
    now: FileVersion | None
    is_original_lost: bool = False
    conflict: str = ""
    has_foreign_edits: bool = False


def list_changed_files(at: Workspace, broker: Broker, head: Mapping[str, Entry]) -> list[ChangedFile]:
    """List the files that the session changed, in order of first change.

    Foreign edits between its steps are in both `base` and `now`, or in neither.
    broker: of the repository; the workspace may be a folder in its work tree
    head: the entries of the last commit
    """
    real = broker.root.resolve()
    keys: dict[str, list[str]] = {}
    for key in at.changes:
        path = _resolve_changed_path(at, key, real, head)
        if path is not None:
            keys.setdefault(path, []).append(key)
    found = []
    for path, names in keys.items():
        base, now = _read_base_version(at.changes, names[0]), _read_current_version(real / path)
        own = SessionChange(base=base, now=now)
        edits = [edit for name in names for edit in at.changes.foreign_edits.get(name, ())]
        if edits and now != base:
            own = separate_session_change(broker, path, head.get(path), base, now, edits)
            base, now = own.base, own.now
        lost = not at.changes.lost.isdisjoint(names)
        if lost or (base != now and not (base and now and _is_same_version(base, now))):
            found.append(
                ChangedFile(
                    path=path,
                    keys=tuple(names),
                    base=base,
                    now=now,
                    is_original_lost=lost,
                    conflict=own.conflict,
                    has_foreign_edits=own.has_foreign_edits,
                )
            )
    return found


def find_enclosing_repository(root: Path, path: str, head: Mapping[str, Entry]) -> str:
    """Return the submodule or nested repository that contains `path`, or ""."""
    parts = path.split("/")
    for count in range(1, len(parts)):
        folder = "/".join(parts[:count])
        if head.get(folder, ("", ""))[0] == "160000" or find_git_dir(root / folder) is not None:
            return folder
    return ""


def _resolve_changed_path(at: Workspace, key: str, real: Path, head: Mapping[str, Entry]) -> str | None:
    """Return the real path of a changed file. Tools write through links: then the link's target changed."""
    here = at.root / key
    path = _resolve_links(here.parent) / here.name
    if path.is_symlink() and _is_old_link(at, key, path, real, head):
        path = _resolve_links(path)
    return path.relative_to(real).as_posix() if path.is_relative_to(real) else None


def _resolve_links(path: Path) -> Path:
    """Follow links as far as possible: `Path.resolve` gives up at a link to itself."""
    return Path(os.path.realpath(path))


def _is_old_link(at: Workspace, key: str, path: Path, real: Path, head: Mapping[str, Entry]) -> bool:
    """Return whether the link existed before the session: it was written through, not created."""
    if at.changes.originals[key] is None or stat.S_ISLNK(at.changes.original_modes.get(key, 0)):
        return False
    name = path.relative_to(real).as_posix() if path.is_relative_to(real) else ""
    return head.get(name, ("120000", ""))[0] == "120000"


def _read_base_version(changes: SessionChanges, key: str) -> FileVersion | None:
    content = changes.originals[key]
    if content is None:
        return None
    mode = changes.original_modes.get(key)
    return FileVersion(mode="" if mode is None else to_git_mode(mode), content=content)


def _read_current_version(path: Path) -> FileVersion | None:
    try:
        info = path.lstat()
        if stat.S_ISLNK(info.st_mode):
            return FileVersion(mode=to_git_mode(info.st_mode), content=os.fsencode(path.readlink()))
        if stat.S_ISREG(info.st_mode):
            return FileVersion(mode=to_git_mode(info.st_mode), content=read_entry(str(path), SOURCE))
    except UnsafeFileError as error:  # also no permission; not a deletion
        raise ToolFailure(f"{error.message}, so nothing was done") from None
    except (FileNotFoundError, NotADirectoryError):  # it or its folder was removed
        return None
    except PermissionError as error:  # not a deletion
        raise ToolFailure(f"{str(path)!r} cannot be read, so nothing was done: {error.strerror}") from None
    except OSError as error:
        if error.errno == errno.ELOOP:  # its folder is a link to itself now
            return None
        raise
    return None  # a folder, socket or pipe: no file to git


def _is_same_version(base: FileVersion, now: FileVersion) -> bool:
    return base.content == now.content and base.mode in ("", now.mode)
