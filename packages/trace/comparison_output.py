"""The comparison of runs as lines for a terminal, or as JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

from packages.trace.rows.session_trace import SessionTrace
from packages.trace.run_comparison import Parting, RunComparison, State, compare_runs
from packages.trace.session_folder import find_session_folder
from sandbox.errors import Fault, UserError


def print_comparison(folder: Path, sessions: Sequence[str], *, as_json: bool) -> int:
    """Print how runs of one task of this project went along and parted. Raises UserError for fewer than two."""
    from cli.output.standard_streams import print_json
    from sandbox.sanitize import sanitize_text
    from sandbox.secrets.redaction import redact, redact_values

    if len(set(sessions)) < 2:
        raise UserError(Fault.USAGE, "two or more sessions are compared", "sessions compare ID ID …")
    traces = []
    for each in dict.fromkeys(sessions):
        trace = SessionTrace(find_session_folder(folder, each))
        trace.read_new_lines()
        traces.append(trace)
    found = compare_runs(traces)
    if as_json:
        told = redact_values(asdict(found))
        assert isinstance(told, dict)
        print_json(told)
        return 0
    for line in format_comparison(found):
        print(sanitize_text(redact(line)).replace("\n", " "))
    return 0


def format_comparison(found: RunComparison) -> Iterator[str]:
    """Yield the runs, the states with those that came to them, and where the runs parted."""
    from cli.output.amounts import format_money

    for run in found.runs:
        cost = "" if run.cost is None else f"  {format_money(run.cost)}"
        steps = f"{max(run.steps)} step{'' if max(run.steps) == 1 else 's'}"
        yield f"{run.letter}  {run.session}  {run.outcome}  {steps}  {run.seconds:g} s{cost}  {run.title}"
    yield ""
    width = max(len(_list_steps(each)) for each in found.states)
    for number, state in enumerate(found.states):
        yield f"{number:>4}  {_list_steps(state):<{width}}  {_describe_state(state)}{_name_following(number, state)}"
    yield ""
    if found.common:
        last = found.common - 1
        yield f"all begin with {found.common} common states, up to {last}: {_describe_state(found.states[last])}"
    else:
        yield "they have no beginning in common"
    for parting in found.partings:
        yield _describe_parting(parting, found.states)


def _list_steps(state: State) -> str:
    return " ".join(f"{letter}{','.join(map(str, steps))}" for letter, steps in state.steps.items())


def _describe_state(state: State) -> str:
    tests = f" ({state.tests})" if state.tests else ""
    return f"{'✗ ' if state.failed else ''}{state.deed}{tests}"


def _name_following(number: int, state: State) -> str:
    """Name the states after this one where they are not simply the next."""
    if list(state.following) in ([], [number + 1]):
        return ""
    return "  → " + ", ".join(f"{place} ({' '.join(runs)})" for place, runs in state.following.items())


def _describe_parting(parting: Parting, states: Sequence[State]) -> str:
    after = (
        f"after {parting.state}: {states[parting.state].deed}" if parting.state >= 0 else "at the beginning"
    )
    return (
        f"{parting.letter} leaves {parting.other_letter} for good {after}; at step {parting.step} it does"
        f" {parting.deed}, {parting.other_letter} does {parting.other}"
    )
