"""Signs in the steps of a session so far that it will fail, each between 0 and 1, found without a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from agent.prompt.prompt_reader import read_intent
from packages.trace.local_faults import find_marks
from packages.trace.rows.row_signals import create_row_step
from packages.trace.rows.trace_rows import Row

CHANGING = ("change", "repair")
"""Kinds of prompts that ask for a change of files."""

SIGNS: Mapping[str, str] = {
    "fault": "steps with a fault that was not made good",
    "idle": "replies without an action",
    "stale": "steps that brought nothing new",
    "contrary": "no change where one was asked for, or one where none was",
    "blind": "a change of a file that it had not read",
}


def measure_signs(rows: Sequence[Row]) -> dict[str, float]:
    """Return the signs of `SIGNS` in the rows of a session so far; all 0 before its first step."""
    kept = [row for row in rows if not row.off]
    steps = [row for row in kept if row.number]
    signs = dict.fromkeys(SIGNS, 0.0)
    if not steps:
        return signs
    faulty = {mark.place for mark in find_marks(kept) if not mark.recovered and kept[mark.place].number}
    read: set[str] = set()
    seen: set[int] = set()
    has_changed = False
    for row in steps:
        step = create_row_step(row)
        signs["idle"] += not step.tools
        signs["stale"] += bool(step.tools) and step.lines <= seen
        seen |= step.lines
        has_changed = has_changed or step.changed
        for call in row.detail.get("calls", ()):
            paths = {*call.get("paths", ())}
            is_new = str(call.get("diff", "")).startswith("--- /dev/null")
            if call.get("effect") == "write" and not is_new and not paths <= read:
                signs["blind"] = 1.0
            read |= paths
    signs["fault"] = float(len(faulty))
    for name in ("fault", "idle", "stale"):
        signs[name] /= len(steps)
    prompts = [str(row.detail.get("text", "")) for row in kept if row.kind == "prompt"]
    asks_change = bool(prompts) and read_intent(prompts[-1]).kind in CHANGING
    signs["contrary"] = float(asks_change != has_changed)
    return signs
