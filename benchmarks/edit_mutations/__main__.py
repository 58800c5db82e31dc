"""Run the benchmark: `python -m benchmarks.edit_mutations CLONE… [--peer aider=/path/to/python] …`."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from multiprocessing.util import Finalize
from pathlib import Path

from benchmarks.edit_mutations import matchers, report
from benchmarks.edit_mutations.catalogue import NAMES, Form, cases
from benchmarks.edit_mutations.draft import Draft
from benchmarks.edit_mutations.histories import clone, hunks
from benchmarks.edit_mutations.judge import WRONGLY, Outcome, Tally
from benchmarks.edit_mutations.record import Record

SEED = 20261121
"""What the published figures were made with."""

PART = 10
"""Hunks that a process takes at once: what is done when a run is interrupted is reported in such parts."""

FORMS: tuple[Form, ...] = ("block", "patch", "diff")


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """What to run and what to show."""

    seed: int
    only: tuple[str, ...]
    forms: tuple[Form, ...]
    peers: tuple[str, ...]
    show: int
    of: str
    outcomes: tuple[Outcome, ...]
    quick: bool


def main() -> None:
    """Draw hunks, make cases, ask every matcher, print the tables."""
    options = _parser().parse_args()
    wanted = Wanted(
        seed=options.seed,
        only=_named(options.only),
        forms=tuple(options.form or FORMS),
        peers=tuple(options.peer),
        show=options.show,
        of=options.of,
        outcomes=tuple(options.outcome or WRONGLY),
        quick=options.quick,
    )
    clones = [clone(path) for path in options.clones]
    started = time.monotonic()
    drafts = hunks(clones, options.hunks, wanted.seed)
    numbered = list(enumerate(drafts))
    if options.hunk is not None:
        numbered = [numbered[options.hunk]]
    print(f"{len(drafts)} hunks of {len(clones)} repositories, seed {wanted.seed}", file=sys.stderr)
    numbered = numbered[options.skip :][: options.take]
    commits = {each.name: each.head for each in clones}
    record = _record(options.record, wanted, commits)
    _counted(numbered, wanted, options.jobs, record)
    tally, done = record.total()
    total = sum(sum(counter.values()) for counter in (*tally.counts.values(), *tally.traps.values()))
    print("# Edits as models write them\n")
    for each in clones:
        print(f"- {each.name} at {each.head}")
    print(f"\nSeed {wanted.seed}; {done} hunks; {total} answers in {time.monotonic() - started:.0f} s\n")
    print("\n".join(report.lines(tally)))
    if options.json:
        head = {
            "seed": wanted.seed,
            "hunks": done,
            "commits": commits,
        }
        options.json.write_text(json.dumps({**head, **report.as_data(tally)}, indent=1) + "\n")


def _record(path: Path | None, wanted: Wanted, commits: Mapping[str, str]) -> Record:
    of = {
        "seed": wanted.seed,
        "commits": commits,
        "only": wanted.only,
        "forms": wanted.forms,
        "peers": [peer.partition("=")[0] for peer in wanted.peers],
        "quick": wanted.quick,
    }
    try:
        return Record(path, of)
    except ValueError as problem:
        raise SystemExit(str(problem)) from None


def _counted(numbered: Sequence[tuple[int, Draft]], wanted: Wanted, jobs: int, record: Record) -> None:
    """All hunks that are not done yet, or as many as are until the run is interrupted."""
    done = record.done
    numbered = [each for each in numbered if each[0] not in done]
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with ProcessPoolExecutor(jobs, initializer=_prepare, initargs=(wanted.peers, wanted.quick)) as pool:
        parts = [numbered[start : start + PART] for start in range(0, len(numbered), PART)]
        running = {pool.submit(_run, part, wanted): [number for number, _ in part] for part in parts}
        try:
            for each in as_completed(running):
                counted, shows = each.result()
                record.add(running[each], counted)
                print("\n".join(shows), flush=True)
        except KeyboardInterrupt:
            pool.shutdown(wait=False, cancel_futures=True)


def _prepare(peers: Sequence[str], quick: bool) -> None:
    """In a process of the pool: the matchers, of which the others' take seconds to start."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    if quick:
        matchers.hurry()
    _ASKED[:] = [matchers.Ours(), matchers.OursInLine(), matchers.Strict()]
    for peer in peers:
        name, _, program = peer.partition("=")
        _ASKED.extend(matchers.peers(name, program))
    for matcher in _ASKED:
        Finalize(None, matcher.close, exitpriority=1)


_ASKED: list[matchers.Matcher] = []
"""The matchers of this process."""


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.edit_mutations", description=__doc__)
    parser.add_argument("clones", nargs="+", type=Path, metavar="CLONE", help="a git clone, bare or not")
    parser.add_argument("--hunks", type=int, default=3000, help="hunks to draw (3000)")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument(
        "--only", action="append", default=[], metavar="NAME", help="a perturbation, or a part of its name"
    )
    parser.add_argument("--form", action="append", choices=FORMS, help="only edits in this form")
    parser.add_argument(
        "--peer",
        action="append",
        default=[],
        metavar="NAME=PROGRAM",
        help=(
            "aider, gptme or openhands with the interpreter that has its package; codex or git with its program"
        ),
    )
    parser.add_argument(
        "--show", type=int, default=0, metavar="K", help="print K cases per matcher and perturbation in full"
    )
    parser.add_argument(
        "--outcome",
        action="append",
        choices=("refused", "guessed", *WRONGLY),
        help="which to show: the wrong ones",
    )
    parser.add_argument(
        "--of", default="patchwright", metavar="MATCHER", help="whose cases to show: patchwright's"
    )
    parser.add_argument("--hunk", type=int, help="this hunk alone, by its number")
    parser.add_argument(
        "--skip", type=int, default=0, metavar="K", help="leave out the first K of the hunks drawn"
    )
    parser.add_argument("--take", type=int, metavar="K", help="of the rest, only the first K")
    parser.add_argument(
        "--record",
        type=Path,
        metavar="FILE",
        help="keep there what is done, and leave out what is; runs of other hunks may share it",
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="look at each text of the engine's own once, and word no refusals: the times say nothing then",
    )
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the counts there")
    return parser


def _named(parts: Sequence[str]) -> tuple[str, ...]:
    found = tuple(name for name in NAMES if not parts or any(part in name for part in parts))
    if not found:
        raise SystemExit(f"no perturbation is called {' or '.join(parts)}; there are: {', '.join(NAMES)}")
    return found


def _run(numbered: Sequence[tuple[int, Draft]], wanted: Wanted) -> tuple[Tally, list[str]]:
    """All cases of these hunks, in a process of the pool."""
    tally, shows, seen = Tally(), list[str](), Counter[tuple[str, str, str, Outcome]]()
    for number, draft in numbered:
        for case in cases(draft, f"{wanted.seed} {number}", wanted.only):
            if case.form not in wanted.forms:
                continue
            for matcher in _ASKED:
                if case.form not in matcher.forms or (case.by_line and not matcher.by_line):
                    continue
                answer = matcher.answer(case)
                outcome = tally.add(matcher.name, case, answer)
                place = (matcher.name, case.form, case.name, outcome)
                right = outcome == "recovered" or (case.refuse and outcome == "refused")
                if matcher.name.startswith(wanted.of) and outcome in wanted.outcomes and not right:
                    seen[place] += 1
                    if seen[place] <= wanted.show:
                        shows += report.shown(matcher.name, number, case, answer, outcome)
    return tally, shows


if __name__ == "__main__":
    main()
