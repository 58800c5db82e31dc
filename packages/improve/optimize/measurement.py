"""Runs of the metric, of the original and of a candidate in turns, each in a sandbox that can write nothing.

Both are copies of the project in which only the target differs. A command may write to nothing but its own /tmp, which
ends with it: so a candidate changes neither the metric, nor the other copy, nor a later run of its own.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import field
from pathlib import Path
from statistics import median
from typing import Literal

from packages.evaluation.statistics.sequential import compute_sign_evidence
from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from sandbox.process.command import Command, Completed
from tools.core.workspace import Workspace
from tools.shell.environment import python_environment

Goal = Literal["min", "max"]

NUMBER = compile_lazily(r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")

LONGEST_RUN = 300.0
"""Seconds of one run of the metric."""

CLEAR = 1.5
"""Gain, or loss, of a first pair that needs no second one: what is claimed is confirmed by fresh pairs anyway."""

SLOWEST, LEAST_SECONDS = 10, 20.0
"""A run of a candidate may take so many times as long as the original's, and so many seconds in any case."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One run of the metric. value: None where it failed, for the reason; told: its output without the numbers"""

    value: float | None
    told: str = ""
    reason: str = ""


@dataclass(slots=True, kw_only=True)
class PairedRuns:
    """Values of the original and of a candidate, one pair after the other. reason: why the candidate was given up"""

    goal: Goal
    pairs: list[tuple[float, float]] = field(default_factory=list)
    reason: str = ""

    @property
    def won(self) -> int:
        """Number of pairs that the candidate wins."""
        return sum(self._is_better(old, new) for old, new in self.pairs)

    @property
    def lost(self) -> int:
        """Number of pairs that the original wins."""
        return sum(self._is_better(new, old) for old, new in self.pairs)

    @property
    def evidence(self) -> float:
        """Evidence that the candidate is better (`compute_sign_evidence`)."""
        return compute_sign_evidence(self.won, self.lost)

    @property
    def gain(self) -> float:
        """By how many times the candidate is better in the median pair; 1 without pairs."""
        return median([self.compute_gain(old, new) for old, new in self.pairs if old and new] or [1.0])

    def compute_gain(self, old: float, new: float) -> float:
        """Return by how many times the second value, of the candidate, is better than the first; 1 for a zero."""
        if not (old and new):
            return 1.0
        return old / new if self.goal == "min" else new / old

    def _is_better(self, one: float, other: float) -> bool:
        """Return whether the second value is better than the first."""
        return other < one if self.goal == "min" else other > one


@dataclass(slots=True, kw_only=True)
class Measurement:
    """The metric in two copies of a project.

    original: the project; base, trial: its copies; path: of the target, relative
    is_printed: the metric prints its value; else it is the wall time of the command
    """

    original: Workspace
    base: Workspace
    trial: Workspace
    path: str
    command: str
    goal: Goal
    is_printed: bool = True
    told: str = ""
    runs: int = 0
    _known: list[float] = field(default_factory=list)
    _longest: float = LONGEST_RUN

    def write_candidate(self, text: str) -> None:
        """Write the target's text in the copy for candidates."""
        (self.trial.root / self.path).write_bytes(text.encode())

    async def start(self) -> Sample:
        """Run the metric on the original, and decide where its value is. Raises UserError if it fails."""
        for at in (self.base, self.trial):  # folders of installed packages are links in a copy
            if at.root.resolve() not in (at.root / self.path).resolve().parents:
                raise UserError(
                    Fault.USAGE, f"{self.path} is not copied with the project, so it is not changed"
                )
        sample = await self._run(self.base)
        if sample.value is None and not sample.reason:
            self.is_printed = False
            sample = await self._run(self.base)
        if sample.value is None:
            raise UserError(
                Fault.USAGE,
                f"the metric fails on the original: {sample.reason}",
                f"It ran in a copy of the project that it cannot write to: {self.command}",
            )
        self.told = sample.told
        self._known.append(sample.value)
        return sample

    async def add_pair(self, found: PairedRuns, *, is_look: bool = False) -> bool:
        """Run both once, the first of them in turns; return whether the candidate could be measured.

        is_look: a candidate that is clearly worse than the original's runs so far is not run beside another one
        """
        order: Sequence[Workspace] = (
            (self.base, self.trial) if len(found.pairs) % 2 else (self.trial, self.base)
        )
        values = {"base": median(self._known or [0.0])}
        for at in order:
            base, trial = values["base"], values.get("trial", 0.0)
            if is_look and found.compute_gain(base, trial) < 1 / CLEAR:
                break
            sample = await self._run(at)
            if sample.value is None or (at is self.trial and sample.told != self.told):
                found.reason = sample.reason or "the metric prints something else with it"
                return False
            values["trial" if at is self.trial else "base"] = sample.value
            if at is self.base:
                self._known.append(sample.value)
        found.pairs.append((values["base"], values["trial"]))
        return True

    async def run_probe(self, folder: Path) -> Sample:
        """Run the metric in the copy for candidates, where a probe may write its account into the folder."""
        return await self._run(self.trial, writable=(folder,))

    async def _run(self, at: Workspace, *, writable: tuple[Path, ...] = ()) -> Sample:
        places = dict.fromkeys((at.root / "src", at.root))  # an editable installation leads to the workspace
        variables = {
            **python_environment(),
            "PYTHONHASHSEED": "0",
            "PYTHONPATH": os.pathsep.join(map(str, places)),
        }
        completed = await at.sandbox.run(
            Command(
                argv=("bash", "-c", self.command),
                cwd=at.root,
                env=variables,
                timeout=self._longest if at is self.trial and not writable else LONGEST_RUN,
                stderr="separate",
                scope="read-only",
                readable=(at.root,),
                writable=writable,
                withheld=(self.original.root / self.path,),
            )
        )
        self.runs += 1
        if at is self.base:
            self._longest = min(LONGEST_RUN, max(LEAST_SECONDS, SLOWEST * completed.duration))
        return self._read(completed)

    def _read(self, completed: Completed) -> Sample:
        if completed.ended != "exited" or completed.returncode:
            last = completed.stderr.text().strip().rpartition("\n")[2][:200]
            return Sample(
                value=None, reason=f"{completed.ended}, exit {completed.returncode}: {last}".rstrip(": ")
            )
        output = completed.stdout.text()
        told = NUMBER.sub("#", output)
        if not self.is_printed:
            return Sample(value=completed.duration, told=told)
        numbers = NUMBER.findall(output.strip().rpartition("\n")[2])
        return Sample(value=float(numbers[-1]) if numbers else None, told=told)
