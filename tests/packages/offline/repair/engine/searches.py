"""Searches for a fix in a small project, as the tests of the engine start them."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from pathlib import Path

from packages.offline.repair.engine.repair_engine import repair
from packages.offline.repair.result import Fix, RepairResult
from tests.tools.workspaces import workspace


def run(
    folder: Path, files: Mapping[str, str], *, targets: tuple[str, ...] = (), budget: float = 150
) -> RepairResult:
    at = workspace(folder, files)
    before = contents(at.root)
    result = asyncio.run(repair(at, targets=targets, budget=budget))
    assert contents(at.root) == before, "a search leaves the workspace as it was"
    return result


def contents(root: Path) -> dict[str, bytes]:
    return {str(p.relative_to(root)): p.read_bytes() for p in sorted(root.rglob("*")) if p.is_file()}


def applied(root: Path, fixes: tuple[Fix, ...]) -> None:
    """Apply fixes as the edit tool would: each old text must stand at exactly one place."""
    for fix in fixes:
        text = (root / fix.path).read_text("utf-8")
        assert text.count(fix.old) == 1
        (root / fix.path).write_text(text.replace(fix.old, fix.new), "utf-8")
