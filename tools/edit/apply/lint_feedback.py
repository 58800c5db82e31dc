"""New complaints of the project's own linter about the changed lines."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from sandbox.fs.line_diff import compute_opcodes
from tools.lint.linters.project_linters import (
    MAX_CHARACTERS,
    ConfiguredLinter,
    can_run_linters,
    find_linters,
    run_linter,
)

if TYPE_CHECKING:
    from tools.core.workspace import Workspace
    from tools.lint.linters.output_readers import Complaint

TIMEOUT = 3.0
"""Seconds for both versions: an edit does not wait longer for advice."""

MAX_COMPLAINTS = 5
"""Complaints shown: a change that breaks a rule often breaks it many times."""


async def find_new_complaints(at: Workspace, path: str, before: str, after: str) -> list[str]:
    """Return new complaints about changed lines, as "cart.py:12: F821 undefined name 'x'".

    path: relative to the workspace
    before: "" for a new file

    Empty without a configured and installed linter, after a timeout, and without a sandbox: the linter's
    configuration is the repository's, and may run its code.
    """
    import asyncio

    if not path.endswith((".py", ".pyi")) or before == after or max(len(before), len(after)) > MAX_CHARACTERS:
        return []
    if not can_run_linters(at.sandbox) or (found := _find_linter(at, path)) is None:
        return []
    changed = _find_changed_lines(before, after)
    try:
        async with asyncio.timeout(TIMEOUT):
            now = [each for each in await _run_linter(at, found, path, after) if each.line in changed]
            if not now:
                return []
            known = (
                _count_complaints(before, await _run_linter(at, found, path, before)) if before else Counter()
            )
    except TimeoutError:
        return []
    return [f"{path}:{each.line}: {each.code} {each.message}" for each in _filter_new(after, now, known)][
        :MAX_COMPLAINTS
    ]


def _find_linter(at: Workspace, path: str) -> ConfiguredLinter | None:
    """Return the linter configured in the file's folder or the nearest one above it; searched once per
    session.
    """
    decided: dict[str, ConfiguredLinter | None] = at.facts.setdefault("linters", {})
    folder = str(Path(path).parent)
    if folder not in decided:
        linters = (each for each in find_linters(at.root, path) if each.linter.role == "lint")
        decided[folder] = next(linters, None)
    return decided[folder]


async def _run_linter(at: Workspace, found: ConfiguredLinter, path: str, text: str) -> list[Complaint]:
    return await run_linter(found, at.sandbox, at.root, path, text, timeout=TIMEOUT)


def _find_changed_lines(before: str, after: str) -> set[int]:
    """Return the lines of `after`, from 1, that `before` lacks."""
    old, new = before.split("\n"), after.split("\n")
    return {
        row + 1
        for tag, _, _, first, last in compute_opcodes(old, new)
        if tag != "equal"
        for row in range(first, last)
    }


def _build_key(lines: list[str], each: Complaint) -> tuple[str, str, str]:
    """Return a key that identifies a complaint even when its line has moved."""
    return each.code, each.message, lines[each.line - 1].strip() if each.line <= len(lines) else ""


def _count_complaints(text: str, there: list[Complaint]) -> Counter[tuple[str, str, str]]:
    lines = text.split("\n")
    return Counter(_build_key(lines, each) for each in there)


def _filter_new(text: str, now: list[Complaint], known: Counter[tuple[str, str, str]]) -> list[Complaint]:
    lines = text.split("\n")
    fresh = []
    for each in now:
        key = _build_key(lines, each)
        if known[key]:
            known[key] -= 1
        else:
            fresh.append(each)
    return fresh
