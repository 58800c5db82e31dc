"""Print the table: `python -m benchmarks.context --data FILE …`."""

from __future__ import annotations

import argparse
import os
import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from agent.events import Event
from agent.session_settings import DEFAULT_CONTEXT, ContextSettings, Outputs
from benchmarks.context.data import events, generated, joined, load
from benchmarks.context.measure import Result, interval, replay
from benchmarks.context.policies import Ours, policies


def table(sessions: Sequence[Sequence[Event]], window: int, settings: ContextSettings, only: str) -> None:
    """All policies over all sessions; medians over sessions, references pooled."""
    base: list[Result] = []
    head = f"{'policy':<36}{'peak':>8}{'cut':>8}{'cost':>8}{'charged':>9}{'calls':>7}{'ms':>7}{'ms at':>7}"
    print(f"\nwindow {window:,}\n{head}  identifiers / paths visible; reachable")
    for name, make in policies(window, settings).items():
        if base and only not in name:
            continue
        results = [replay(session, make()) for session in sessions]
        charged = [replay(session, make(), charged=True) for session in sessions] if base else results
        base = base or results
        cut = statistics.median(1 - r.peak / b.peak for r, b in zip(results, base, strict=True))
        cost = statistics.median(r.cost / b.cost for r, b in zip(results, base, strict=True))
        honest = statistics.median(r.cost / b.cost for r, b in zip(charged, base, strict=True))
        plain = statistics.median(ms for r in results for ms in r.plain)
        at = statistics.median([ms for r in results for ms in r.compressing] or [0.0])
        print(
            f"{name:<36}{statistics.median(r.peak for r in results):>8,.0f}{cut:>8.1%}{cost:>8.1%}{honest:>9.1%}"
            f"{statistics.median(r.compactions for r in results):>7.0f}{plain:>7.2f}{at:>7.1f}"
            f"  {interval([x for r in results for x in r.identifiers])}"
            f" / {interval([x for r in results for x in r.paths])}"
            f"; {interval([x for r in results for x in r.reachable])}"
            f"; edited {interval([x for r in results for x in r.edited])}"
            f"; read again {sum(len(r.again) for r in charged)}",
            flush=True,
        )


def long_session(steps: int, window: int, settings: ContextSettings) -> None:
    """A generated session: never over the window, nothing planted lost, the cost of a step flat."""
    made, constraints, facts = generated(steps)
    policy = Ours(window, settings)
    result = replay(made, policy)
    last = "\n".join(policy.request())
    kept = sum(each in last for each in constraints)
    reached = sum(policy.reachable([int(event[1:])]) for _, event in facts)
    raw = sum(len(vars(event).get("text", "")) for event in made) / 3.6
    tenth = max(len(result.plain) // 10, 1)
    print(
        f"\n{steps:,} generated steps ({raw / 1e6:.1f} M tokens), window {window:,}: peak {result.peak:,.0f},"
        f" {result.compactions} compactions; constraints {kept}/{len(constraints)}, facts reachable"
        f" {reached}/{len(facts)}; ms a step {statistics.median(result.plain[:tenth]):.3f} in the first tenth,"
        f" {statistics.median(result.plain[-tenth:]):.3f} in the last"
    )


def main() -> None:
    """Read the arguments and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--data", type=Path, nargs="*", default=[], help="trajectories (or PATCHWRIGHT_TRAJECTORIES)"
    )
    parser.add_argument("--single", action="store_true", help="single runs instead of joined ones")
    parser.add_argument("--sessions", type=int, default=40)
    parser.add_argument("--windows", default="128000")
    parser.add_argument("--recent", type=int, default=DEFAULT_CONTEXT.recent)
    parser.add_argument("--batch", type=int, default=DEFAULT_CONTEXT.batch)
    parser.add_argument("--outputs", choices=get_args(Outputs), default="outlined")
    parser.add_argument("--generated", type=int, default=0, metavar="STEPS")
    parser.add_argument("--only", default="", help="policies with this in their name, and none")
    given = parser.parse_args()
    settings = ContextSettings(recent=given.recent, batch=given.batch)
    windows = [int(each) for each in given.windows.split(",")]
    if given.generated:
        for window in windows:
            long_session(given.generated, window, settings)
        return
    named = os.environ.get("PATCHWRIGHT_TRAJECTORIES")
    paths = given.data or ([Path(named)] if named else [])
    if not paths or not all(path.is_file() for path in paths):
        raise SystemExit("no trajectories: name files with --data (docs/context.md says where to get some)")
    runs = load(paths)
    sessions = [[run] for run in runs] if given.single else joined(runs, count=given.sessions)
    print(
        f"{len(runs)} runs; {len(sessions)} sessions; recent {settings.recent:,}, batch {settings.batch:,} tokens"
    )
    for window in windows:
        table([list(events(session, given.outputs)) for session in sessions], window, settings, given.only)


if __name__ == "__main__":
    main()
