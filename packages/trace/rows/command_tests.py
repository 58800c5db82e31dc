"""Results of tests in the outputs of commands that a model ran itself, where no report was recorded."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from sandbox.lazy_pattern import compile_lazily

_TEST_RUN = compile_lazily(
    r"\b(?:py\.?test|unittest|nosetests|tox|nox|runtests|jest|vitest|mocha|rspec|phpunit|ctest|tests?)\b"
)
LONGEST = 200_000
"""Characters of an output that are searched, its last ones: summaries are at the end."""


def read_test_output(call: Mapping[str, Any], folder: Path) -> tuple[list[int], list[str]] | None:
    """Return how many tests passed and failed in a command's output, and the names of the failing ones, if it ran any.

    folder: one without files of the project, since nothing of it is to be read
    """
    if call.get("effect") != "execute" or not _TEST_RUN.search(str(call.get("about", ""))):
        return None
    from tools.testing.launch import FinishedRun
    from tools.testing.output_parsers import parse_any

    text = str(call.get("output", ""))[-LONGEST:]
    run = FinishedRun(
        root=folder, returncode=0, text=text, full_output=None, report_folder=folder, start_time=0.0
    )
    found = parse_any(run)
    if not found.counted or not found.passed + found.failed + found.errors:
        return None
    return [found.passed, found.failed + found.errors], [each.id for each in found.failures]
