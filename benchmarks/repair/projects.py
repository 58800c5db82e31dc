"""Measure the repair engine on real projects: `python -m benchmarks.repair.projects COMMAND` (`--help`)."""

from __future__ import annotations

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from benchmarks.repair.diagnosis import explain
from benchmarks.repair.measure import tested_with, workspace
from benchmarks.repair.mining import Bug, blob, load, mine, outcomes, plain, unpack
from tools.repair.engine import repair_engine
from tools.repair.result import LOW


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What the engine made of a bug.

    outcome: the engine's own word for it
    plausible: every test that the real fix mends passes, and no other that passed before fails, by a run of our own
    exact: the same programs as the real fix, but for comments, annotations and docstrings
    tried, cpu, wall: candidates; seconds
    fixes: what was chosen, to be read by a person when it is plausible and not exact
    """

    name: str
    half: str
    edits: int
    sampled: bool
    outcome: str
    plausible: bool
    exact: bool
    tried: int
    cpu: float
    wall: float
    fixes: list[dict[str, Any]]
    reason: str


def main() -> None:
    options = _parser().parse_args()
    if options.command == "mine":
        with options.out.open("a", encoding="utf-8") as file:
            for clone in options.clones:
                for bug in mine(
                    clone.resolve(), options.python, newest=options.newest, sample=options.sample,
                    small=options.small, attempts=options.attempts, half=options.half,
                ):  # fmt: skip
                    file.write(bug.as_line())
                    file.flush()
                    print(
                        f"{bug.name}: {bug.edits} edits, {len(bug.failing)} failing: {bug.subject}",
                        flush=True,
                    )
    elif options.command == "run":
        _run(options)
    elif options.command == "explain":
        for bug in load(options.bugs):
            # Of the held-out half nobody is to know more than how many were found.
            if bug.half == "development" and (not options.only or any(p in bug.name for p in options.only)):
                print(f"{explain(bug, options.python)}\n", flush=True)
    else:
        results = [Result(**json.loads(line)) for line in options.results.read_text().splitlines()]
        verdicts = json.loads(options.reviewed.read_text()) if options.reviewed else {}
        print(report(results, verdicts))


def measure(bug: Bug, python: Path, budget: float, whole: float) -> Result:
    """Repair a bug from its tests and compare with what its author did.

    whole: seconds for a run of the whole suite by the judge; what takes longer is judged by the fix's own test files
    """
    with tempfile.TemporaryDirectory() as name:
        at = workspace(Path(name), {})
        unpack(bug, at.root)
        tested_with(python, at.root)
        began, spent = time.monotonic(), time.process_time()
        result = asyncio.run(repair_engine.repair(at, targets=bug.failing, budget=budget))
        wall, cpu = time.monotonic() - began, time.process_time() - spent + result.cpu
        before = {fix.path: (at.root / fix.path).read_text("utf-8") for fix in result.fixes}
        plausible = result.outcome == "fixed" and _holds(bug, python, at.root, result.fixes, whole)
        after = {path: (at.root / path).read_text("utf-8") for path in before}
    return Result(
        name=bug.name, half=bug.half, edits=bug.edits, sampled=bug.sampled, outcome=str(result.outcome),
        plausible=plausible, exact=plausible and _same(bug, after), tried=result.tried, cpu=round(cpu, 1),
        wall=round(wall, 1), fixes=[fix.as_data() for fix in result.fixes], reason=result.reason[:300],
    )  # fmt: skip


def _holds(bug: Bug, python: Path, root: Path, fixes: Sequence[Any], whole: float) -> bool:
    """The files are changed, and the project's suite is run before and after by pytest alone."""
    own = [path for path in bug.tests if path.endswith(".py") and not path.endswith("conftest.py")]
    everything = outcomes(root, python, (), whole) if whole else {}
    before = everything or outcomes(root, python, own)
    for fix in fixes:
        text = (root / fix.path).read_text("utf-8")
        (root / fix.path).write_text(text.replace(fix.old, fix.new, 1), "utf-8")
    after = outcomes(root, python, (), whole) if everything else outcomes(root, python, own)
    kept = all(after.get(test) == "passed" for test, outcome in before.items() if outcome == "passed")
    return kept and all(after.get(test) == "passed" for test in bug.failing)


def _same(bug: Bug, after: Mapping[str, str]) -> bool:
    clone = Path(bug.clone)
    for path in {*bug.sources, *after}:
        wanted = blob(clone, bug.commit, path).decode()
        found = after.get(path, blob(clone, f"{bug.commit}^", path).decode())
        if plain(wanted) != plain(found):
            return False
    return True


def report(results: Sequence[Result], verdicts: Mapping[str, str]) -> str:
    """The table, by half and reach. `verdicts`: name → "equal" or "wrong" by review, for plausible ones not exact."""
    lines = [
        "set                                bugs  plausible  right  (exact + equal by review; to be reviewed)"
        "  what would be written without --apply: right of plausible"
    ]
    for half in ("development", "held-out"):
        of = [each for each in results if each.half == half]
        rows = {
            "one edit": [e for e in of if e.edits == 1],
            "two edits": [e for e in of if e.edits == 2],
            "one or two edits": [e for e in of if e.edits in (1, 2)],
            "any size (drawn)": [e for e in of if e.sampled],
        }
        for name, row in rows.items():
            plausible = [e for e in row if e.plausible]
            exact = [e for e in plausible if e.exact]
            equal = [e for e in plausible if not e.exact and verdicts.get(e.name) == "equal"]
            unknown = [e for e in plausible if not e.exact and e.name not in verdicts]
            right = len(exact) + len(equal)
            written = [e for e in plausible if all(fix["confidence"] >= LOW for fix in e.fixes)]
            meant = [e for e in written if e in exact or e in equal]
            lines.append(
                f"{half + ', ' + name:34} {len(row):4}  {len(plausible):3} {_share(len(plausible), len(row)):>5}  "
                f"{right:3} {_share(right, len(row)):>5}  ({len(exact)} + {len(equal)}; {len(unknown)})"
                f"  {len(meant)} of {len(written)}"
            )
    return "\n".join(lines)


def _share(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "–"


def _run(options: argparse.Namespace) -> None:
    done = set()
    if options.results.exists():
        done = {json.loads(line)["name"] for line in options.results.read_text().splitlines()}
    with options.results.open("a", encoding="utf-8") as file:
        for bug in load(options.bugs):
            wanted = not options.only or any(part in bug.name for part in options.only)
            small = bug.in_reach or not options.in_reach
            if not wanted or not small or bug.name in done or options.half not in (bug.half, "both"):
                continue
            result = measure(bug, options.python, options.budget, options.whole)
            file.write(json.dumps(asdict(result)) + "\n")
            file.flush()
            word = "exact" if result.exact else "plausible" if result.plausible else result.outcome
            print(
                f"{result.name:34} {result.edits:3} edits  {word:12} {result.tried:6} tried "
                f"{result.cpu:6.1f} s CPU {result.wall:6.1f} s  {bug.subject[:50]}", flush=True,
            )  # fmt: skip
            for fix in result.fixes if options.show else ():
                print("\n".join(f"      - {line}" for line in fix["old"].split("\n")))
                print("\n".join(f"      + {line}" for line in fix["new"].split("\n")), flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.repair.projects", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    mining = commands.add_parser("mine", help="find bugs in the history of clones")
    mining.add_argument("out", type=Path, help="file of JSON lines, one a bug, that is added to")
    mining.add_argument("clones", type=Path, nargs="+")
    mining.add_argument("--newest", type=int, default=1200, help="commits of each clone that are looked at")
    mining.add_argument("--sample", type=int, default=2, help="bugs of any size, of each clone")
    mining.add_argument(
        "--small", type=int, default=4, help="bugs of one or two single-line edits beside them"
    )
    mining.add_argument("--half", choices=("development", "held-out", "both"), default="both")
    mining.add_argument("--attempts", type=int, default=14, help="commits of each clone whose tests are run")
    running = commands.add_parser("run", help="repair the bugs that were found")
    running.add_argument("bugs", type=Path)
    running.add_argument(
        "results", type=Path, help="file of JSON lines that is added to; what is in it is not run again"
    )
    running.add_argument("--half", choices=("development", "held-out", "both"), default="development")
    running.add_argument("--in-reach", action="store_true", help="only fixes of one or two single-line edits")
    running.add_argument("--budget", type=float, default=600.0, help="seconds a bug")
    running.add_argument(
        "--whole", type=float, default=600.0, help="seconds for the whole suite; 0: only the fix's tests"
    )
    running.add_argument("--only", nargs="*", default=(), help="parts of names")
    running.add_argument("--show", action="store_true", help="print the changes found")
    explaining = commands.add_parser("explain", help="where the real fix stands, in the development half")
    explaining.add_argument("bugs", type=Path)
    explaining.add_argument("--only", nargs="*", default=(), help="parts of names")
    for each in (mining, running, explaining):
        each.add_argument(
            "--python", type=Path, default=Path(sys.executable), help="has pytest and the projects' needs"
        )
    told = commands.add_parser("report", help="the table")
    told.add_argument("results", type=Path)
    told.add_argument(
        "--reviewed", type=Path, help='JSON: name → "equal" or "wrong", of plausible ones that are not exact'
    )
    return parser


if __name__ == "__main__":
    main()
