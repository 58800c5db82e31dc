"""Signs in the steps of a session so far that it will fail, found without a model.

Their weights come from 36 sessions of one small model; what was measured is in
`benchmarks/results/2026-11-30-signals.md`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from packages.trace.local_faults import find_marks, has_failed, is_asked_for
from packages.trace.rows.row_signals import create_row_step
from packages.trace.rows.trace_rows import Row
from sandbox.lazy_pattern import compile_lazily

_NOTHING = compile_lazily(r"(?i)no (?:line|file|match|result)|exit 0[^\n]*\n\(no output\)")
"""Beginning of the result of a search that found nothing, or of a command that said nothing."""

SIGNS: Mapping[str, str] = {
    "fault": "steps with a fault that was not made good",
    "idle": "replies without an action",
    "stale": "steps that brought nothing new",
    "barren": "nothing was read, run or changed",
    "blind": "a change of a file that it had not read",
}

WEIGHTS: Mapping[str, float] = {"fault": 0.6, "idle": 0.3, "stale": 0.2, "barren": 1.4, "blind": 0.6}
"""How much a sign speaks for a failure, as its log-odds; fitted by `benchmarks.signals.early_failure`."""

LIKELY = 1.0
"""Sum of weighted signs from which on a session goes like those that failed."""


def find_bad_signs(rows: Sequence[Row]) -> list[str]:
    """Return what shows that a session will fail, the weightiest first; nothing if that is not likely."""
    weighed = {name: WEIGHTS[name] * value for name, value in measure_signs(rows).items() if value}
    if sum(weighed.values()) < LIKELY:
        return []
    return [SIGNS[name] for name in sorted(weighed, key=lambda name: -weighed[name])]


def measure_signs(rows: Sequence[Row]) -> dict[str, float]:
    """Return the signs of `SIGNS` in the rows of a session so far, each between 0 and 1; 0 before its first step."""
    kept = [row for row in rows if not row.off]
    steps = [row for row in kept if row.number]
    signs = dict.fromkeys(SIGNS, 0.0)
    if not steps:
        return signs
    faulty = {mark.place for mark in find_marks(kept) if not mark.recovered and kept[mark.place].number}
    read: set[str] = set()
    seen: set[int] = set()
    has_got = False
    asked = next((str(row.detail.get("text", "")) for row in reversed(kept) if row.kind == "prompt"), "")
    for row in steps:
        step = create_row_step(row)
        signs["idle"] += not step.tools
        signs["stale"] += bool(step.tools) and step.lines <= seen
        seen |= step.lines
        for call in row.detail.get("calls", ()):
            is_failure = has_failed(call) and not is_asked_for(call, asked)
            is_empty = _NOTHING.match(str(call.get("output", ""))) and not step.changed
            has_got = has_got or not (is_failure or is_empty)
            paths = {*call.get("paths", ())}
            is_new = str(call.get("diff", "")).startswith("--- /dev/null")
            if call.get("effect") == "write" and not is_new and not paths <= read:
                signs["blind"] = 1.0
            read |= paths
    signs["fault"] = float(len(faulty))
    for name in ("fault", "idle", "stale"):
        signs[name] /= len(steps)
    signs["barren"] = float(not has_got)
    return signs
