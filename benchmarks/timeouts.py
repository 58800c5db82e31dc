"""Which trials of terminal-bench end by `agent_timeout`, told from the first half of their recording.

`python -m benchmarks.timeouts FOLDER [--measure development|held-out]`: FOLDER holds a bare snapshot of
laude-institute/terminal-bench-leaderboard as OWNER+NAME/repo. A task whose name has an even SHA-1 is of the development
half. Two rules, each the same for all systems, with nothing to fit: the seconds until half of the recording had come,
and whether a trial is still at work when half of its task's time has passed, as one who watches it can tell.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import statistics
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from sandbox.lazy_dataclass import dataclass

REPOSITORY = "laude-institute+terminal-bench-leaderboard"

SHORT = 60
"""Lines of a recording that holds only how the agent was started."""


LIMIT = 900.0
"""Seconds that a task allows where no other system shows it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """A recorded trial. half, end: seconds until half of the recording, and all of it, had come"""

    system: str
    task: str
    has_timed_out: bool
    half: float
    end: float
    is_recorded: bool


def read_trials(repo: Path, *, development: bool) -> Iterator[Trial]:
    """Yield the trials of one half that ended by themselves or by a time-out."""
    names = _git(repo, "ls-tree", "-r", "--name-only", "-z", "HEAD", "results").strip("\0").split("\0")
    kept = set(names)
    command = ["git", "-C", str(repo), "cat-file", "--batch"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for name in names:
            cast = f"{name.removesuffix('results.json')}sessions/agent.cast"
            if not name.endswith("/results.json") or cast not in kept:
                continue
            found = json.loads(_read(process.stdin, process.stdout, name) or "{}")
            is_even = int(hashlib.sha1(str(found.get("task_id")).encode()).hexdigest(), 16) % 2 == 0
            if found.get("failure_mode") not in ("unset", "agent_timeout") or is_even != development:
                continue
            times = list(_read_times(_read(process.stdin, process.stdout, cast)))
            if times:
                yield Trial(
                    system=name.split("/")[2],
                    task=str(found.get("task_id")),
                    has_timed_out=found["failure_mode"] == "agent_timeout",
                    half=times[max(1, len(times) // 2) - 1],
                    end=times[-1],
                    is_recorded=len(times) > SHORT,
                )


def _git(repo: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(repo), *arguments], capture_output=True, check=True)
    return done.stdout.decode("utf-8", "replace")


def _read(questions: IO[bytes], answers: IO[bytes], name: str) -> str:
    """Return a file of the snapshot, "" for one that it lacks."""
    questions.write(f"HEAD:{name}\n".encode())
    questions.flush()
    head = answers.readline().split()
    if len(head) < 3 or not head[2].isdigit():
        return ""
    return answers.read(int(head[2]) + 1)[:-1].decode("utf-8", "replace")


def _read_times(cast: str) -> Iterator[float]:
    """Yield the seconds of each event of an asciicast; the first line is its head."""
    for line in cast.split("\n")[1:]:
        try:
            event: Any = json.loads(line)
        except ValueError:  # cut off
            continue
        if isinstance(event, list) and event and isinstance(event[0], int | float):
            yield float(event[0])


def estimate_limit(trial: Trial, trials: Sequence[Trial]) -> float | None:
    """Return the seconds that a trial's task allows, by the time-outs of other systems; None if there are none."""
    ends = [
        each.end
        for each in trials
        if each.has_timed_out and each.task == trial.task and each.system != trial.system
    ]
    return statistics.median(ends) if ends else None


def measure_area(rows: list[tuple[bool, float]]) -> float:
    """Return the area under the ROC curve: how often a trial that times out has the larger value."""
    yes, no = [value for is_hit, value in rows if is_hit], [value for is_hit, value in rows if not is_hit]
    won = sum((one > other) + 0.5 * (one == other) for one in yes for other in no)
    return won / (len(yes) * len(no)) if yes and no else 0.5


def main() -> None:
    """Print the area for each system, and for all whose work was recorded."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--measure", choices=("development", "held-out"), default="development")
    options = parser.parse_args()
    repo = options.folder / REPOSITORY / "repo"
    if not repo.is_dir():
        raise SystemExit(f"missing: {repo}")
    trials = list(read_trials(repo, development=options.measure == "development"))
    limits = [estimate_limit(each, trials) for each in trials]
    rows = list(zip(trials, limits, strict=True))
    for system in sorted({each.system for each in trials}):
        print_areas(system, [row for row in rows if row[0].system == system])
    print_areas("all", rows)
    print_areas("all with a recorded start of work", [row for row in rows if row[0].is_recorded])
    print_areas("all of tasks whose limit is known", [row for row in rows if row[1] is not None])


def print_areas(name: str, rows: Sequence[tuple[Trial, float | None]]) -> None:
    """Print how many trials there are, how many timed out, and the areas of both rules."""
    by_half = measure_area([(each.has_timed_out, each.half) for each, _ in rows])
    at_work = measure_area(
        [(each.has_timed_out, float(each.end >= (limit or LIMIT) / 2)) for each, limit in rows]
    )
    print(
        f"{name}: {len(rows)} trials, {sum(each.has_timed_out for each, _ in rows)} time out,"
        f" {sum(each.is_recorded for each, _ in rows)} recorded, AUC {by_half:.3f} by the first half of the log,"
        f" {at_work:.3f} at half of the time"
    )


if __name__ == "__main__":
    main()
