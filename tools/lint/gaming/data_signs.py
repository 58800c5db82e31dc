"""Signs in stored expected output: snapshots, golden files and fixtures that are edited to fit."""

from __future__ import annotations

from collections.abc import Iterator

from tools.lint.checks.finding import Finding
from tools.lint.gaming.file_changes import ChangeSet
from tools.lint.gaming.signs import make_sign


def find_data_signs(change: ChangeSet) -> Iterator[Finding]:
    """Yield stored output that existed and is edited or deleted; where code changed with it, it is only told."""
    for file in change.list_files("expected"):
        if file.before is None or not file.removed:
            continue
        verb = "deleted" if file.after is None else "edited"
        fails = change.is_suspect and not change.request.tests and file.after is not None
        message = f"expected data of tests is {verb} ({len(file.removed)} lines)"
        yield make_sign("expected-data", file.path, 0, message, fails=fails)
