"""Store of results: one file for each trial under its content address, the runs that name them, and what was spent."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from packages.evaluation.runs.run_lock import hold_lock
from packages.evaluation.runs.trial_result import LARGEST, TrialResult, decode_result
from sandbox.errors import Fault, UserError, translate_write_errors
from sandbox.fs.private_files import create_private_folder, write_private_file
from sandbox.fs.regular_file import SOURCE, read_regular_file
from sandbox.lazy_dataclass import dataclass
from sandbox.parsed_data import parse_json


@dataclass(frozen=True, slots=True, kw_only=True)
class RunVariant:
    """A variant as a run names it."""

    label: str
    model: str
    strategy: str = "single"


@dataclass(frozen=True, slots=True, kw_only=True)
class RunTask:
    """A task as a run names it."""

    name: str
    digest: str
    language: str = ""
    tags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRecord:
    """A run: which trials of which tasks and variants.

    id: digest of its trials, so that the same command continues the same run; created: ISO 8601, UTC
    keys: address of each trial by variant, task and number, in the order of `variants`, `tasks` and numbers
    """

    id: str
    suite: str
    version: str
    created: str
    trials: int
    seed: int
    variants: tuple[RunVariant, ...]
    tasks: tuple[RunTask, ...]
    keys: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Spending:
    """What a run has spent so far. lost: part of it by trials of which no result is kept"""

    cost: float = 0.0
    tokens: int = 0
    lost_cost: float = 0.0
    lost_tokens: int = 0


class ResultStore:
    """Results, runs and logs below one folder. Several processes may use it at once."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def sessions(self) -> Path:
        """Folder of the trials' logs."""
        return self.folder / "sessions"

    def has_result(self, key: str) -> bool:
        """Whether a result is kept under this address."""
        return self._locate(key).exists()

    def save_result(self, result: TrialResult) -> bool:
        """Keep a result, completely or not at all; False if there is one already, which is kept."""
        place = self._locate(result.key)
        with translate_write_errors(str(place)):
            create_private_folder(place.parent)
            temporary = place.with_name(f".{place.name}.{os.getpid()}")
            content = json.dumps(result.encode(), ensure_ascii=False, separators=(",", ":"))
            write_private_file(temporary, content.encode("utf-8", "surrogatepass"))
            try:
                os.link(temporary, place)
            except FileExistsError:
                return False
            finally:
                temporary.unlink()
        return True

    def read_result(self, key: str) -> TrialResult | None:
        """Return a result, None if there is none, or a damaged one, which is then run again."""
        content = read_regular_file(self._locate(key), LARGEST)
        if content is None:
            return None
        try:
            result = decode_result(json.loads(content))
        except (ValueError, RecursionError):
            with suppress(OSError):
                self._locate(key).unlink()
            return None
        return result

    def save_run(self, run: RunRecord) -> None:
        """Keep which trials a run has; the newest run is the one saved last."""
        place = self.folder / "runs" / f"{run.id}.json"
        with translate_write_errors(str(place)):
            create_private_folder(place.parent)
            temporary = place.with_suffix(f".{os.getpid()}")
            write_private_file(temporary, json.dumps(asdict(run), indent=1).encode())
            temporary.replace(place)

    def list_runs(self) -> list[RunRecord]:
        """Return the runs, newest first."""
        places = list((self.folder / "runs").glob("*.json"))
        places.sort(key=lambda each: each.stat().st_mtime_ns, reverse=True)
        return [found for each in places if (found := self._read_run(each)) is not None]

    def read_results(self, run: RunRecord) -> list[TrialResult]:
        """Return the results of a run that are there, labelled as it labels them."""
        found: list[TrialResult] = []
        for variant, task, trial, key in iterate_trials(run):
            if (result := self.read_result(key)) is not None:
                found.append(_relabel(result, variant.label, task.name, trial))
        return found

    @contextmanager
    def hold_run(self, run: RunRecord) -> Iterator[None]:
        """Let no other process work on a run meanwhile. Raises UserError if one does."""
        with hold_lock(self.folder / "runs" / f"{run.id}.lock", run.id):
            yield

    def append_journal(self, run: RunRecord, entry: Mapping[str, Any]) -> None:
        """Append a line to a run's journal: starts, spending and ends of its trials."""
        line = json.dumps(entry, separators=(",", ":")).encode() + b"\n"
        place = self.folder / "runs" / f"{run.id}.journal"
        with translate_write_errors(str(place)):
            descriptor = os.open(place, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                os.write(descriptor, line)
            finally:
                os.close(descriptor)

    def read_spending(self, run: RunRecord) -> Spending:
        """Sum up the journal of a run, in which attempts that left no result are lost."""
        spent, kept = self._read_journal(run)
        lost = [sums for attempt, sums in spent.items() if attempt not in kept]
        return Spending(
            cost=sum(each[0] for each in spent.values()),
            tokens=int(sum(each[1] for each in spent.values())),
            lost_cost=sum(each[0] for each in lost),
            lost_tokens=int(sum(each[1] for each in lost)),
        )

    def read_lost_costs(self, run: RunRecord) -> dict[str, float]:
        """Return the dollars that were lost by variant, as a run labels it, those of its users left out."""
        spent, kept = self._read_journal(run)
        labels = {shorten_key(key): variant.label for variant, _, _, key in iterate_trials(run)}
        found = dict.fromkeys((each.label for each in run.variants), 0.0)
        for attempt, sums in spent.items():
            label = labels.get(attempt.partition(".")[0])
            if attempt not in kept and label is not None:
                found[label] += sums[0] - sums[2]
        return found

    def _read_journal(self, run: RunRecord) -> tuple[dict[str, list[float]], set[str]]:
        """Return dollars, tokens and dollars of its user by attempt, and the attempts whose spending is part of a kept
        result."""
        content = read_regular_file(self.folder / "runs" / f"{run.id}.journal", 1 << 30) or b""
        spent: dict[str, list[float]] = {}
        kept: set[str] = set()
        for line in content.splitlines():
            try:
                entry = parse_json(line)
                attempt = str(entry["attempt"])
                if entry["what"] == "spend":
                    sums = spent.setdefault(attempt, [0.0, 0.0, 0.0])
                    sums[0] += entry.get("cost") or 0.0
                    sums[1] += entry.get("tokens") or 0
                    sums[2] += (entry.get("cost") or 0.0) if entry.get("user") else 0.0
                elif entry["what"] == "kept":
                    kept.add(attempt)
            except (ValueError, KeyError, TypeError):  # the line that a kill cut off
                continue
        return spent, kept

    def _read_run(self, place: Path) -> RunRecord | None:
        content = read_regular_file(place, SOURCE)
        try:
            values = parse_json(content or b"")
            return RunRecord(
                **{
                    **values,
                    "variants": tuple(RunVariant(**each) for each in values["variants"]),
                    "tasks": tuple(
                        RunTask(**{**each, "tags": tuple(each["tags"])}) for each in values["tasks"]
                    ),
                    "keys": tuple(values["keys"]),
                }
            )
        except (ValueError, TypeError, KeyError):  # of another version, or damaged: not listed
            return None

    def _locate(self, key: str) -> Path:
        return self.folder / "results" / key[:2] / f"{key}.json"


def shorten_key(key: str) -> str:
    """Return the part of a trial's address by which folders and attempts are named."""
    return key[:16]


def iterate_trials(run: RunRecord) -> Iterator[tuple[RunVariant, RunTask, int, str]]:
    """Yield variant, task, number and address of each trial of a run."""
    keys = iter(run.keys)
    for variant in run.variants:
        for task in run.tasks:
            for trial in range(run.trials):
                yield variant, task, trial, next(keys)


def select_run(runs: Sequence[RunRecord], wanted: str) -> RunRecord:
    """Return the run with an id that begins so, "" for the newest. Raises UserError."""
    for run in runs:
        if run.id.startswith(wanted):
            return run
    if not runs:
        raise UserError(Fault.USAGE, "there is no run yet", "Make one: patchwright eval run SUITE")
    raise UserError(
        Fault.USAGE, f"no run {wanted!r}", f"Runs: {', '.join(each.id for each in runs[:8])} (eval list)."
    )


def _relabel(result: TrialResult, label: str, task: str, trial: int) -> TrialResult:
    from dataclasses import replace

    return replace(result, variant=label, task=task, trial=trial)
