"""Several runs of one task as one graph: a state is a deed, with the files and the tests as they were after it.

Runs that did the same and had the same after it share a state, in whatever order they came there, after TopoCurate's
merging of equal states. A run that comes back to a state goes in a circle.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import field

from packages.trace.local_faults import has_failed
from packages.trace.outcomes import NO_FAILURES, infer_failure
from packages.trace.rows.session_trace import IMPORTED, SessionTrace
from packages.trace.rows.trace_rows import Row
from sandbox.lazy_dataclass import dataclass

Key = tuple[object, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ComparedRun:
    """letter: by which states name it; states: places of its states in the graph, one a step, and its end"""

    letter: str
    session: str
    title: str
    outcome: str
    failed: bool
    steps: Sequence[int]
    states: Sequence[int]
    cost: float | None
    seconds: float


@dataclass(slots=True, kw_only=True)
class State:
    """A state of the graph. steps: numbers of the steps that came to it, by the letters of the runs"""

    deed: str
    failed: bool
    tests: str
    steps: dict[str, list[int]] = field(default_factory=dict)
    following: dict[int, list[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parting:
    """Where a run leaves another for good. state: the last that both came to, -1 for none

    step: number of the run's first step that leads elsewhere; deed: of it; other: the deed of the other one after it
    """

    letter: str
    other_letter: str
    state: int
    step: int
    deed: str
    other: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunComparison:
    """common: states with which all runs begin; partings: of each failed run from the nearest one that did not fail"""

    runs: Sequence[ComparedRun]
    states: Sequence[State]
    common: int
    partings: Sequence[Parting]


def compare_runs(traces: Sequence[SessionTrace]) -> RunComparison:
    """Return the graph of these runs, in their order. Each is the first session of a task, without those below."""
    has_trees = all(any(row.tree for row in each.rows) for each in traces if _has_edits(each))
    states: list[State] = []
    places: dict[Key, int] = {}
    runs = []
    for number, trace in enumerate(traces):
        letter = _spell_letter(number)
        came: list[int] = []
        steps: list[int] = []
        for key, state, step in _iterate_states(trace, has_trees=has_trees):
            place = places.setdefault(key, len(states))
            if place == len(states):
                states.append(state)
            states[place].steps.setdefault(letter, []).append(step)
            if came:
                after = states[came[-1]].following.setdefault(place, [])
                if letter not in after:
                    after.append(letter)
            came.append(place)
            steps.append(step)
        runs.append(_describe_run(trace, letter, came, steps))
    return RunComparison(
        runs=runs, states=states, common=_count_common(runs), partings=list(_find_partings(runs, states))
    )


def _has_edits(trace: SessionTrace) -> bool:
    return any(_list_edits(row) for row in trace.rows if not row.off)


def _iterate_states(trace: SessionTrace, *, has_trees: bool) -> list[tuple[Key, State, int]]:
    """Return each step with calls as key, state and number, then the end."""
    found: list[tuple[Key, State, int]] = []
    files, tests, last = "", "", 0
    for row in trace.rows:
        if row.off or not (row.number or row.tests is not None):
            continue
        last = max(last, row.number)
        if row.tests is not None:
            tests = f"{row.tests[0]} passed, {row.tests[1]} failed"
        calls = [each for each in row.detail.get("calls", ()) if "within" not in each]
        if edits := _list_edits(row):
            files = row.tree if has_trees else _digest(files, *edits)
            tests = "" if row.tests is None else tests
        if not row.number or not calls:
            continue
        aims = tuple((each.get("effect") or each["tool"], each["about"], has_failed(each)) for each in calls)
        deed = ", ".join(f"{each['tool']} {each['about']}".strip() for each in calls)
        failed = any(failed for *_, failed in aims)
        found.append(((aims, files, tests), State(deed=deed, failed=failed, tests=tests), row.number))
    outcome, failed = _read_outcome(trace)
    found.append(
        (("end", outcome, files, tests), State(deed=f"end: {outcome}", failed=failed, tests=tests), last)
    )
    return found


def _list_edits(row: Row) -> list[str]:
    """Return what a step changed, as texts; spacing of their hunks' places aside."""
    return [
        str(each.get("diff") or each["arguments"])
        for each in row.detail.get("calls", ())
        if not each.get("failed")
        and (each.get("effect") == "write" or each.get("diff") or each.get("changed"))
    ]


def _digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode("utf-8", "replace")).hexdigest()


def _read_outcome(trace: SessionTrace) -> tuple[str, bool]:
    outcome, code = str(trace.facts.get("outcome") or "not ended"), trace.facts.get("exit_code", 0)
    if outcome == IMPORTED and code in NO_FAILURES and (seen := infer_failure(trace.rows)):
        return f"{outcome}: {seen}", True
    return outcome, code not in NO_FAILURES or "outcome" not in trace.facts


def _describe_run(
    trace: SessionTrace, letter: str, states: Sequence[int], steps: Sequence[int]
) -> ComparedRun:
    outcome, failed = _read_outcome(trace)
    costs = [row.usage["cost"] for row in trace.rows if row.usage and row.usage["cost"] is not None]
    times = [row.time for row in trace.rows if row.time]
    return ComparedRun(
        letter=letter,
        session=trace.id,
        title=str(trace.facts["title"]),
        outcome=outcome,
        failed=failed,
        steps=steps,
        states=states,
        cost=sum(costs) if costs else None,
        seconds=round(times[-1] - times[0], 1) if times else 0.0,
    )


def _count_common(runs: Sequence[ComparedRun]) -> int:
    count = 0
    for states in zip(*(each.states for each in runs), strict=False):
        if len(set(states)) > 1:
            break
        count += 1
    return count


def _find_partings(runs: Sequence[ComparedRun], states: Sequence[State]) -> list[Parting]:
    """Return where each failed run left the one without a failure that it went along with longest.

    Where all failed, or none did, each run is compared with the first.
    """
    good = [each for each in runs if not each.failed]
    bad = [each for each in runs if each.failed]
    pairs = [(each, good) for each in bad] if good and bad else [(each, runs[:1]) for each in runs[1:]]
    found = []
    for run, others in pairs:
        left, other = max(
            ((_find_last_shared(run, other), other) for other in others), key=lambda each: each[0]
        )
        if left == len(run.states) - 1:
            continue  # the same to the end
        state = run.states[left] if left >= 0 else -1
        at = max((n for n, each in enumerate(other.states) if each == state), default=-1)
        after = other.states[at + 1] if at + 1 < len(other.states) else other.states[-1]
        found.append(
            Parting(
                letter=run.letter,
                other_letter=other.letter,
                state=state,
                step=run.steps[left + 1],
                deed=states[run.states[left + 1]].deed,
                other=states[after].deed,
            )
        )
    return found


def _find_last_shared(run: ComparedRun, other: ComparedRun) -> int:
    """Return the place in a run of its last state to which the other came, too, -1 for none."""
    known = set(other.states)
    return max((place for place, each in enumerate(run.states) if each in known), default=-1)


def _spell_letter(number: int) -> str:
    """Return A, B, …, Z, A1, B1, …"""
    return f"{chr(65 + number % 26)}{number // 26 or ''}"
