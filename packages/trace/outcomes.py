"""How a session ended whose log does not say it, as those of other agents do not."""

from __future__ import annotations

from collections.abc import Sequence

from packages.trace.rows.trace_rows import Row

SUCCESSES = (0, 3)
"""Exit codes of a turn that reached its goal: done, nothing to do."""

NO_FAILURES = (*SUCCESSES, 10)
"""Those of a turn of which nothing says that it failed: nobody could check its changes, either."""


def infer_failure(rows: Sequence[Row]) -> str:
    """Return by what the rows show that their last turn failed, as a clause, "" if by nothing."""
    kept = [row for row in rows if not row.off]
    steps = [row for row in kept if row.number]
    tested = [row for row in steps if row.tests is not None]
    acted = [row for row in steps if row.detail.get("calls")]
    if tested and tested[-1].tests is not None and tested[-1].tests[1]:
        return f"{tested[-1].tests[1]} tests failed when they last ran, at step {tested[-1].number}"
    if steps and steps[-1].detail.get("calls"):
        return "it stopped after an action, without an answer"
    if acted and any(signal.name == "loop" for row in acted[-1:] for signal in row.signals):
        return "it ended in a loop"
    if acted and acted[-1].failed and not tested:
        return f"its last action failed, at step {acted[-1].number}"
    return ""
