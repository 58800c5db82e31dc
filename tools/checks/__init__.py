"""Checks of a change before it is committed: each one a module with a function `check`, quick, and without a model."""

from __future__ import annotations

from collections.abc import Collection
from importlib import import_module

from tools.checks.finding import Finding
from tools.checks.staged import Change

CHECKS = ("conflicts", "secrets", "syntax", "leftovers", "sizes", "weakened", "linters")
"""By name, which is the module's. They are imported when they are run."""


def run_checks(change: Change, skip: Collection[str] = ()) -> list[Finding]:
    """What all checks but those in `skip` find in a change, by path and line. Empty changes cost nothing."""
    if not change.files:
        return []
    change.load()
    found: list[Finding] = []
    for name in CHECKS:
        if name not in skip:
            found += import_module(f"tools.checks.{name}").check(change)
    return sorted(found, key=lambda each: (each.severity, each.path, each.line))
