"""A change in git as the detectors read it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tools.git.git_change import Change, File
from tools.lint.gaming.file_changes import ChangeSet, FileChange, Request
from tools.lint.gaming.related_tests import read_related_tests

_NO_REQUEST = Request()


def build_change_set(
    change: Change, *, request: Request = _NO_REQUEST, root: Path | None = None
) -> ChangeSet:
    """Return a change, whose contents are loaded, with the request that it answers.

    root: folder whose unchanged tests are read too; None for none
    """
    files = list(_read_files(change))
    others = read_related_tests(root, [each.path for each in change.files]) if root is not None else {}
    return ChangeSet(files=files, request=request, other_tests=others)


def _read_files(change: Change) -> Iterator[FileChange]:
    for file in change.files:
        before, after = _read_side(change, file, file.old), _read_side(change, file, file.new)
        if before != after:
            yield FileChange(path=file.path, before=before, after=after)


def _read_side(change: Change, file: File, blob: str) -> str | None:
    """Return the text of one version; None for no file. Links and large files have no text."""
    return change.read_text(blob) if blob else None
