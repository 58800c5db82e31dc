"""Reading files of a workspace, which a stranger may have made: regular files only, of bounded size, none outside.

A pipe, a device or a link to one under the name of a settings file would otherwise block the process or fill its
memory. Whatever of a workspace this process reads by itself is read here, or through `workspace_tree.Tree`.
"""

from __future__ import annotations

from pathlib import Path

from sandbox.errors import Fault
from sandbox.fs.dirfd_walk import OutsideWorkspace, PathWalk
from sandbox.fs.regular_file import HINT, UnsafeFileError, build_read_error, read_bounded, read_start


def read_workspace_file(root: Path, name: str, limit: int) -> bytes | None:
    """Return the bytes of a file of the workspace, None if there is none. Raises UnsafeFileError.

    Links are followed inside the workspace only, one folder handle at a time. limit: in bytes
    """
    place = str(root / name)
    walk = PathWalk((root.resolve(), root.absolute()), name)
    try:
        entry = walk.resolve_entry(follow_last=True, make_parents=False)
        return None if entry.folder < 0 else read_bounded(entry.name, entry.folder, limit, place)
    except OutsideWorkspace:
        raise UnsafeFileError(
            Fault.CONFIGURATION, f"{place!r} is not read: it is a link that leads outside", HINT
        ) from None
    except PermissionError as error:
        raise build_read_error(place, error) from None
    finally:
        walk.close()


def read_workspace_text(root: Path, name: str, limit: int, errors: str = "replace") -> str:
    """Return a file of the workspace as UTF-8 text, "" if there is none, or none that may be read."""
    try:
        content = read_workspace_file(root, name, limit)
    except UnsafeFileError:
        return ""
    return "" if content is None else content.decode("utf-8", errors)


def read_workspace_start(root: Path, name: str, size: int) -> bytes | None:
    """Return the first bytes of a file of the workspace, None if there is none, or none that may be read."""
    walk = PathWalk((root.resolve(), root.absolute()), name)
    try:
        entry = walk.resolve_entry(follow_last=True, make_parents=False)
        return None if entry.folder < 0 else read_start(entry.name, size, entry.folder)
    except (OutsideWorkspace, OSError):
        return None
    finally:
        walk.close()
