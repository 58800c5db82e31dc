"""Execution of a transaction on the tree: prepare, check, commit, roll back."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress

from sandbox.errors import translate_write_errors
from sandbox.fs.dirfd_walk import LONGEST_NAME, FolderEntry, create_sibling_file
from sandbox.fs.transaction.file_changes import Conflict, Remove, UnresolvedFile, Write
from sandbox.fs.transaction.journal import Record, Step
from sandbox.fs.transaction.transaction_plan import explain_difference, fingerprint_entry
from sandbox.fs.workspace_tree import Tree


def prepare_files(tree: Tree, record: Record, changes: Sequence[Write | Remove]) -> None:
    """Write and sync every new content to a temporary file in its target's folder."""
    writes = [
        (step, change)
        for step, change in zip(record.steps, changes, strict=True)
        if isinstance(change, Write)
    ]
    for first in range(0, len(writes), _AT_ONCE):
        with ExitStack() as handles:
            written = []
            for step, change in writes[first : first + _AT_ONCE]:
                with (
                    _open_target(tree, step, make_parents=True) as place,
                    translate_write_errors(change.path),
                ):
                    if change.place == "link":
                        os.symlink(change.content, os.fsencode(step.temporary), dir_fd=place.folder)
                        continue
                    handle = create_sibling_file(place, step.temporary, change.content, _stat_file(place))
                    handles.callback(os.close, handle)
                    if change.mode is not None:
                        os.fchmod(handle, change.mode)
                    _start_writeback(handle)
                written.append((handle, change.path))
            for handle, path in written:
                with translate_write_errors(path):
                    os.fsync(handle)


def check_targets(tree: Tree, record: Record, changes: Sequence[Write | Remove]) -> None:
    """Raise Conflict unless every target is unchanged."""
    reasons = {}
    for step, change in zip(record.steps, changes, strict=True):
        with _open_target(tree, step) as place, translate_write_errors(change.path):
            if reason := explain_difference(step.before, fingerprint_entry(place)):
                reasons[change.path] = reason
    if reasons:
        raise Conflict.from_reasons(reasons)


def finish_steps(tree: Tree, record: Record) -> tuple[UnresolvedFile, ...]:
    """Rename new files into place and remove those to be removed; completed steps are skipped.

    Raises UserError if the file system rejects all writes: then it can be called again later.
    """
    left: list[UnresolvedFile] = []
    for step in sorted(record.steps, key=lambda step: not step.temporary):
        lost = any(other.reason == _LOST for other in left)
        try:
            with _open_target(tree, step) as place:
                found = (
                    _replace_target(place, step)
                    if step.temporary
                    else _remove_target(place, step, spare=lost)
                )
        except (OSError, ValueError) as error:  # the other files may still be changeable
            found = _build_unresolved(step, error)
        if found:
            left.append(found)
    return tuple(left)


def undo_steps(tree: Tree, record: Record) -> tuple[UnresolvedFile, ...]:
    """Remove the files and folders made by `prepare_files`. Raises UserError as `finish_steps` does."""
    left = []
    for step in record.steps:
        if not step.temporary:
            continue
        try:
            with _open_target(tree, step) as place, suppress(FileNotFoundError):
                if place.folder >= 0:
                    os.unlink(step.temporary, dir_fd=place.folder)
        except (OSError, ValueError) as error:
            left.append(_build_unresolved(step, error))
    for path in reversed(record.folders):
        # ENOTEMPTY: in use by now. For any other reason too the folder stays, empty.
        with suppress(OSError, ValueError), tree.open_entry(path, follow_last=False) as folder:
            if folder.folder >= 0 and folder.path == path:
                os.rmdir(folder.name, dir_fd=folder.folder)
    return tuple(left)


def is_step_done(tree: Tree, step: Step) -> bool:
    """Whether the file is in the step's final state."""
    try:
        with _open_target(tree, step) as place:
            return fingerprint_entry(place) == step.after
    except (OSError, ValueError):  # unreachable
        return False


def sync_folders(tree: Tree, record: Record) -> None:
    """Sync the folders, so that the new names survive a loss of power after the record is removed."""
    for path in {_get_parent(path) for path in (*(step.path for step in record.steps), *record.folders)}:
        # A folder that may not be read cannot be synced, nor can those of some network file systems.
        with suppress(OSError, ValueError), tree.open_entry(path or ".") as place:
            handle = os.open(place.name, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC, dir_fd=place.folder)
            try:
                os.fsync(handle)
            finally:
                os.close(handle)


def _stat_file(place: FolderEntry) -> os.stat_result | None:
    """Return the metadata of the file to replace; None where there is none, or a link."""
    found = place.stat()
    return None if found is None or stat.S_ISLNK(found.st_mode) else found


_AT_ONCE = 64
"""Files kept open together: more need fewer waits for the disk; a process may have 1024, or 256."""

_LOST = "was not written: its new content is gone"

_NOTHING_GOES = (errno.EROFS, errno.ENOSPC, errno.EDQUOT)
"""Errors of the whole file system: the next file would fail too, but a later retry may succeed."""


@contextmanager
def _open_target(tree: Tree, step: Step, *, make_parents: bool = False) -> Iterator[FolderEntry]:
    """Open the folder of the planned path; a link put in the way since is not followed."""
    with tree.open_entry(step.path, follow_last=False, make_parents=make_parents) as place:
        if place.path != step.path:
            raise Conflict.from_reasons({step.path: "is now reached through a link"})
        yield place


def _start_writeback(handle: int) -> None:
    """Start writing to disk in the background: syncing many files one by one afterwards is then much faster."""
    if hasattr(os, "posix_fadvise"):
        with suppress(OSError):  # it is only advice, which a file system may ignore
            os.posix_fadvise(handle, 0, 0, os.POSIX_FADV_DONTNEED)


def _replace_target(place: FolderEntry, step: Step) -> UnresolvedFile | None:
    now = fingerprint_entry(place)
    if not _entry_exists(place, step.temporary):
        kept = _make_kept_name(place, step)
        if _entry_exists(place, kept):
            return UnresolvedFile(path=step.path, reason=_CHANGED, kept=_build_sibling_path(step, kept))
        return UnresolvedFile(path=step.path, reason=_LOST) if now == step.before != step.after else None
    free = now in (step.before, step.after)
    target = place.name if free else _make_kept_name(place, step)
    os.rename(step.temporary, target, src_dir_fd=place.folder, dst_dir_fd=place.folder)
    return (
        None
        if free
        else UnresolvedFile(path=step.path, reason=_CHANGED, kept=_build_sibling_path(step, target))
    )


def _remove_target(place: FolderEntry, step: Step, *, spare: bool) -> UnresolvedFile | None:
    """Remove the step's file.

    spare: new contents have vanished, so the old files may have been restored on purpose
    """
    now = fingerprint_entry(place)
    if now is None:
        return None
    if now != step.before:
        return UnresolvedFile(path=step.path, reason=f"was not removed: it {_CHANGED}")
    if spare:
        return UnresolvedFile(path=step.path, reason="was not removed: the other changes are gone")
    os.unlink(place.name, dir_fd=place.folder)
    return None


_CHANGED = "was changed by somebody else"


def _make_kept_name(place: FolderEntry, step: Step) -> str:
    """Return a visible, recognizable name in the target's folder."""
    name = f"{place.name}.{step.temporary.removeprefix('.').removesuffix('.tmp')}"
    return name if len(os.fsencode(name)) <= LONGEST_NAME else step.temporary.removeprefix(".")


def _build_unresolved(step: Step, error: OSError | ValueError) -> UnresolvedFile:
    if isinstance(error, OSError) and error.errno in _NOTHING_GOES:
        with translate_write_errors(step.path):
            raise error
    reason = error.strerror if isinstance(error, OSError) else "its folder was replaced"
    kept = _build_sibling_path(step, step.temporary) if step.temporary else ""
    return UnresolvedFile(path=step.path, reason=f"could not be changed: {reason}", kept=kept)


def _entry_exists(place: FolderEntry, name: str) -> bool:
    return FolderEntry(folder=place.folder, name=name, path=name).stat() is not None


def _build_sibling_path(step: Step, name: str) -> str:
    return "/".join(part for part in (_get_parent(step.path), name) if part)


def _get_parent(path: str) -> str:
    return path.rpartition("/")[0]
