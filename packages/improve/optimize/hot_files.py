"""The files of a folder in which the metric spends its time: each is a target of its own."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from packages.improve.optimize.measurement import Measurement
from packages.improve.optimize.target_profile import LEAST_SHARE, profile_files
from packages.offline.repair.templates.support.source_tree import Source
from packages.search.microsteps.file_choice import list_matching_files
from sandbox.errors import Fault, UserError
from tools.core.workspace import Workspace
from tools.lint.test_files import is_test_file
from tools.testing.project_copies import TooLarge, create_copies

MOST_FILES, MOST_PROBED = 4, 300
"""Files that are changed in one command, and files of a folder that can be profiled at once."""


async def rank_hot_files(at: Workspace, folder: str, metric: str) -> list[tuple[str, float]]:
    """Return the files that take 5 % or more of the metric's time in a folder, with their shares, the hottest first.

    folder: relative, "." for the root. Raises UserError where nothing of it is run, or it has too many files
    """
    paths = await list_matching_files(at, [f"{folder}/**/*.py" if folder != "." else "**/*.py"])
    texts = await asyncio.to_thread(_read_sources, at, paths)
    if not texts or len(texts) > MOST_PROBED:
        raise UserError(
            Fault.USAGE, f"{len(texts)} Python files in {folder!r}", "Name a file, or a smaller folder."
        )
    try:
        async with create_copies(at, 1) as copies:
            trial = copies[0].at
            top = trial.root.resolve()  # folders of installed packages are links in a copy
            copied = {path: text for path, text in texts.items() if top in (top / path).resolve().parents}
            measurement = Measurement(
                original=at, base=trial, trial=trial, path=next(iter(texts)), command=metric, goal="min"
            )
            found = await profile_files(measurement, copied)
    except TooLarge as problem:
        raise UserError(Fault.USAGE, str(problem)) from None
    if problems := {each.problem for each in found.values()} - {""}:
        raise UserError(Fault.USAGE, f"the metric fails on the original: {problems.pop()}")
    samples = {path: sum(profile.functions.values()) for path, profile in found.items()}
    total = sum(samples.values())
    hot = [(path, count / total) for path, count in samples.items() if total and count >= LEAST_SHARE * total]
    if not hot:
        raise UserError(Fault.USAGE, f"the metric spends no time in the files of {folder!r}")
    return sorted(hot, key=lambda pair: -pair[1])[:MOST_FILES]


def _read_sources(at: Workspace, paths: Sequence[str]) -> dict[str, str]:
    """Return the texts of the files that are Python and no tests."""
    found = {}
    for path in paths:
        if is_test_file(path) or {"test", "tests", "conftest.py"} & set(path.split("/")):
            continue
        try:
            text = at.files.read(path).decode("utf-8")
            Source(path, text)
        except (OSError, ValueError, SyntaxError, RecursionError):
            continue
        found[path] = text
    return found
