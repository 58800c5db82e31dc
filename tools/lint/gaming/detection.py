"""All signs of a change, by its parts."""

from __future__ import annotations

from collections.abc import Iterator

from tools.lint.checks.finding import Finding
from tools.lint.gaming.file_changes import ChangeSet
from tools.lint.gaming.product_signs import find_product_signs
from tools.lint.gaming.setup_signs import find_setup_signs
from tools.lint.gaming.signs import make_sign
from tools.lint.gaming.test_signs import find_test_signs


def find_data_signs(change: ChangeSet) -> Iterator[Finding]:
    """Yield stored output that existed and is edited or deleted; where code changed with it, it is only told."""
    for file in change.list_files("expected"):
        if file.before is None or not file.removed:
            continue
        verb = "deleted" if file.after is None else "edited"
        fails = change.is_suspect and not change.request.tests and file.after is not None
        message = f"expected data of tests is {verb} ({len(file.removed)} lines)"
        yield make_sign("expected-data", file.path, 0, message, fails=fails)


DETECTORS = (find_test_signs, find_product_signs, find_data_signs, find_setup_signs)


def find_signs(change: ChangeSet) -> list[Finding]:
    """Return the signs of a change, failures first, without repetitions."""
    found = dict.fromkeys(sign for detect in DETECTORS for sign in detect(change))
    return sorted(found, key=lambda each: (each.severity, each.path, each.line))
