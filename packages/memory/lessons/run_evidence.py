"""Evidence in the output of a command that is to run tests: how many it ran, or that it ran none."""

from __future__ import annotations

from pathlib import Path

from tools.testing.launch import FinishedRun
from tools.testing.output_parsers import explain_idle_make, parse_any


def count_results(observed: str) -> tuple[int, str]:
    """Return how many results the output of a command shows, and why it ran no test, "" if it may have run some.

    observed: what the model saw of it: a line with the exit status, then the output
    """
    output = observed.partition("\n")[2]
    nowhere = Path("/nonexistent")
    found = parse_any(
        FinishedRun(
            root=nowhere, returncode=0, text=output, full_output=None, report_folder=nowhere, start_time=0.0
        )
    )
    if found.counted and not found.results:
        return 0, "it ran no test"
    return found.results, explain_idle_make(output)
