"""All signs of a change, by its parts; and a change in git, with the tests that it leaves alone, as they are read."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from pathlib import Path, PurePosixPath

from sandbox.fs.untrusted_file import read_workspace_text
from sandbox.policy.shell.parsing.syntax import parse_word_set
from tools.git.git_change import Change
from tools.lint.checks.finding import Finding
from tools.lint.honesty.file_changes import ChangeSet, FileChange, Request, find_role
from tools.lint.honesty.product_signs import find_product_signs
from tools.lint.honesty.setup_signs import find_setup_signs
from tools.lint.honesty.test_signs import find_test_signs

MOST_ENTRIES = 4_000
"""Names that are looked at: more takes longer than a look at the end of a turn may."""

MOST_FILES = 12
"""Test files that are read, those named after a changed file first."""

LARGEST = 200_000
"""Bytes of a test file: larger ones are generated."""

_OTHERS = parse_word_set("node_modules site-packages vendor build dist target venv __pycache__")
"""Folders that hold no tests of the project."""

_NO_REQUEST = Request()


def find_signs(change: ChangeSet) -> list[Finding]:
    """Return the signs of a change, failures first, without repetitions."""
    detectors = (find_test_signs, find_product_signs, _find_data_signs, find_setup_signs)
    found = dict.fromkeys(sign for detect in detectors for sign in detect(change))
    return sorted(found, key=lambda each: (each.severity, each.path, each.line))


def _find_data_signs(change: ChangeSet) -> Iterator[Finding]:
    """Yield stored output that existed and is edited or deleted; where code changed with it, it is only told."""
    for file in change.list_files("expected"):
        if file.before is not None and file.removed:
            verb = "deleted" if file.after is None else "edited"
            message = f"expected data of tests is {verb} ({len(file.removed)} lines)"
            fails = change.is_suspect and not change.request.tests and file.after is not None
            yield file.sign("expected-data", 0, message, fails=fails)


def build_change_set(
    change: Change, *, request: Request = _NO_REQUEST, root: Path | None = None
) -> ChangeSet:
    """Return a change, whose contents are loaded, with the request that it answers.

    root: folder whose unchanged tests are read too; None for none
    """
    sides = [
        [change.read_text(blob) if blob else None for blob in (each.old, each.new)] for each in change.files
    ]
    files = [
        FileChange(path=each.path, before=before, after=after)
        for each, (before, after) in zip(change.files, sides, strict=True)
        if before != after
    ]
    others = read_related_tests(root, [each.path for each in change.files]) if root is not None else {}
    return ChangeSet(files=files, request=request, other_tests=others)


def read_related_tests(root: Path, changed: Collection[str]) -> dict[str, str]:
    """Return unchanged test files by path, the likeliest for the changed product files; {} if no product changed."""
    stems = {PurePosixPath(path).stem.lower() for path in changed if find_role(path) == "product"}
    if not stems:
        return {}
    found = [path for path in _walk_files(root) if path not in changed and find_role(path) == "test"]
    found.sort(key=lambda path: (not any(stem in PurePosixPath(path).stem.lower() for stem in stems), path))
    texts = {path: read_workspace_text(root, path, LARGEST) for path in found[:MOST_FILES]}
    return {path: text for path, text in texts.items() if text}


def _walk_files(root: Path) -> Iterator[str]:
    left = MOST_ENTRIES
    for folder, folders, files in os.walk(root):
        folders[:] = sorted(each for each in folders if not each.startswith(".") and each not in _OTHERS)
        left -= len(folders) + len(files)
        if left < 0:
            return
        prefix = Path(folder).relative_to(root).as_posix()
        yield from (name if prefix == "." else f"{prefix}/{name}" for name in files)
