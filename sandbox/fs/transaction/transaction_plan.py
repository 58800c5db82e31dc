"""Planning of a transaction: resolve the files and check that each may and can be changed."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Sequence

from sandbox.errors import translate_write_errors
from sandbox.fs.dirfd_walk import (
    FolderEntry,
    NotAFile,
    make_temporary_name,
    probe_write_access,
)
from sandbox.fs.regular_file import READ_FLAGS, describe_file_type
from sandbox.fs.text_file import compute_fingerprint, fingerprint_descriptor
from sandbox.fs.transaction.file_changes import Conflict, Remove, Write
from sandbox.fs.transaction.journal import Record, Step
from sandbox.fs.workspace_tree import Tree


def plan_transaction(tree: Tree, changes: Sequence[Write | Remove]) -> Record:
    """Return a record with one step per change, in their order. Nothing is written.

    Raises Conflict if a file is not as its change expects, ValueError if two changes concern one file or one
    needs a folder where another writes a file, and the errors of `Tree.write` and `Tree.remove`.
    """
    steps = []
    folders: dict[str, None] = {}
    conflicts = {}
    claims = _Claims()
    for change in changes:
        writes = isinstance(change, Write)
        follows = isinstance(change, Write) and change.follows_link
        with tree.open_entry(change.path, follow_last=follows) as place, translate_write_errors(change.path):
            claims.add(change, {place.path, _resolve_named_path(tree, change.path, place)}, place.stat())
            step = (
                _plan_write(tree, change, place)
                if isinstance(change, Write)
                else _plan_removal(tree, change, place)
            )
            if reason := explain_difference(step.before, fingerprint_entry(place)):
                conflicts[change.path] = reason
            steps.append(step)
            folders |= dict.fromkeys(place.missing if writes else ())
    claims.refuse_files_as_folders(step.path for step in steps if step.temporary)
    if conflicts:
        raise Conflict.from_reasons(conflicts)
    return Record(steps=tuple(steps), folders=tuple(folders))


def fingerprint_entry(place: FolderEntry) -> str | None:
    """Return the fingerprint of a file's content or of a link's text; None if it does not exist."""
    found = place.stat()
    if found is None:
        return None
    if stat.S_ISLNK(found.st_mode):
        return compute_fingerprint(os.fsencode(os.readlink(place.name, dir_fd=place.folder)))
    if not stat.S_ISREG(found.st_mode):
        return _NO_FILE
    descriptor = os.open(place.name, READ_FLAGS, dir_fd=place.folder)
    try:
        return fingerprint_descriptor(descriptor)
    finally:
        os.close(descriptor)


def explain_difference(before: str | None, now: str | None) -> str:
    """Return how a file differs from the expected one, as a predicate; "" if it does not."""
    if before == now:
        return ""
    if before is None:
        return "exists already"
    return "is gone" if now is None else "has changed since it was read"


_NO_FILE = "no file"
"""Used in place of a fingerprint for a folder, pipe or device: equal to none."""


class _Claims:
    """Files claimed by the changes so far, so that no two changes concern the same file."""

    def __init__(self) -> None:
        self._by: dict[object, Write | Remove] = {}

    def add(self, change: Write | Remove, places: set[str], found: os.stat_result | None) -> None:
        """Claim the files of a change.

        places: a link and its target; found: identifies a file under several names
        """
        keys: set[object] = {*places}
        if found and found.st_nlink == 1:  # hard links become different files once one of them is changed
            keys.add((found.st_dev, found.st_ino))
        for key in keys:
            other = self._by.setdefault(key, change)
            if other is not change:
                raise ValueError(f"{other.path!r} and {change.path!r} are one file: change it once")

    def refuse_files_as_folders(self, written: Iterable[str]) -> None:
        """Raise ValueError if a file is to be written where another one needs a folder."""
        paths = set(written)
        for path in paths:
            parent = path.rpartition("/")[0]
            while parent:
                if parent in paths:
                    raise ValueError(f"{parent!r} cannot be a file and the folder of {path!r}")
                parent = parent.rpartition("/")[0]


def _resolve_named_path(tree: Tree, given: str, place: FolderEntry) -> str:
    """Return the path of the entry itself: the link, if `given` is a link to `place`."""
    if given == place.path:
        return given
    with tree.open_entry(given, follow_last=False) as entry:
        return entry.path


def _plan_write(tree: Tree, change: Write, place: FolderEntry) -> Step:
    tree.check_writable(place.path)
    found = place.stat()
    is_link = found is not None and stat.S_ISLNK(found.st_mode) and not change.follows_link
    if found and not stat.S_ISREG(found.st_mode) and not is_link:
        raise NotAFile(
            f"{change.path!r} is {describe_file_type(found.st_mode)}, not a file, so it cannot be written"
        )
    if found and not is_link:
        probe_write_access(place)
    after = compute_fingerprint(change.content)
    return Step(path=place.path, temporary=make_temporary_name(), before=change.before, after=after)


def _plan_removal(tree: Tree, change: Remove, place: FolderEntry) -> Step:
    tree.check_writable(place.path)
    before = change.before
    if found := place.stat():
        link = stat.S_ISLNK(found.st_mode)
        if not link and not stat.S_ISREG(found.st_mode):
            raise NotAFile(
                f"{change.path!r} is {describe_file_type(found.st_mode)}, not a file, so it is not removed"
            )
        _probe_removal_access(place, found)
        if link and fingerprint_entry(place) != before and _links_to_content(tree, change.path, before):
            before = fingerprint_entry(place) or ""
    return Step(path=place.path, temporary="", before=before, after=None)


def _links_to_content(tree: Tree, link: str, content: str) -> bool:
    """Whether the link's target is a file in the tree with this fingerprint."""
    return tree.is_file(link) and compute_fingerprint(tree.read(link)) == content


def _probe_removal_access(place: FolderEntry, found: os.stat_result) -> None:
    """Raise OSError if unlinking would fail, before anything is changed."""
    if not os.access(".", os.W_OK | os.X_OK, dir_fd=place.folder, effective_ids=True):
        sealed = os.fstatvfs(place.folder).f_flag & os.ST_RDONLY
        raise _build_os_error(errno.EROFS if sealed else errno.EACCES, place)
    folder = os.fstat(place.folder)
    user = os.geteuid()
    if folder.st_mode & stat.S_ISVTX and user not in (0, folder.st_uid, found.st_uid):
        raise _build_os_error(errno.EPERM, place)
    if stat.S_ISREG(found.st_mode):
        try:
            probe_write_access(place)
        except PermissionError as error:
            if error.errno == errno.EPERM:  # immutable; a mode without "w" (EACCES) does not matter
                raise


def _build_os_error(number: int, place: FolderEntry) -> OSError:
    return OSError(number, os.strerror(number), place.path)
