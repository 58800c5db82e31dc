"""All signs of a change, by its parts."""

from __future__ import annotations

from tools.lint.checks.finding import Finding
from tools.lint.gaming.data_signs import find_data_signs
from tools.lint.gaming.file_changes import ChangeSet
from tools.lint.gaming.product_signs import find_product_signs
from tools.lint.gaming.setup_signs import find_setup_signs
from tools.lint.gaming.test_signs import find_test_signs

DETECTORS = (find_test_signs, find_product_signs, find_data_signs, find_setup_signs)


def find_signs(change: ChangeSet) -> list[Finding]:
    """Return the signs of a change, failures first, without repetitions."""
    found = dict.fromkeys(sign for detect in DETECTORS for sign in detect(change))
    return sorted(found, key=lambda each: (each.severity, each.path, each.line))
