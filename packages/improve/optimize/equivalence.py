"""Whether a candidate's functions answer as the original's: differential runs on inputs near those that were seen."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import field
from pathlib import Path, PurePosixPath

from packages.search.programs.input_generation import InputPlan, collect_literals, generate_inputs
from packages.search.programs.program_runner import Program, ProgramRunner, Result, RunLimits
from sandbox.lazy_dataclass import dataclass

SCREENED, CONFIRMED = 300, 2_000
"""Inputs of a function for each candidate, and held-out ones for the one that is to be applied."""

LEAST_ANSWERED = 20
"""Inputs that the original has to answer for a comparison to say something."""

LIMITS = RunLimits(losses=20, seconds=120.0)


@dataclass(slots=True, kw_only=True)
class Equivalence:
    """Differential runs of the functions of one file.

    base, trial: roots of the copies; calls: arguments that were seen, by function; compared: inputs so far
    """

    runner: ProgramRunner
    base: Path
    trial: Path
    path: str
    source: str
    calls: dict[str, Sequence[str]]
    compared: int = 0
    _answers: dict[tuple[str, int], list[Result]] = field(default_factory=dict)

    def can_compare(self, function: str) -> bool:
        """Return whether calls of the function were seen that can be made again."""
        return bool(self.calls.get(function))

    async def find_difference(self, function: str, *, held_out: bool = False) -> str:
        """Return how the candidate in its copy differs from the original, "" for no difference.

        held_out: on other and more inputs than candidates are screened with
        """
        seed = 1 if held_out else 0
        given = list(self.calls[function])
        plan = InputPlan(
            given=given,
            literals=collect_literals([self.source]),
            most=CONFIRMED if held_out else SCREENED,
            seed=seed,
            keep_rows=True,
        )
        inputs = [*given, *generate_inputs(plan)]
        places = [self.trial] + [self.base] * ((function, seed) not in self._answers)
        after, *first = await asyncio.gather(*(self._run(each, function, inputs) for each in places))
        for each in first:
            self._answers[function, seed] = each
        before = self._answers[function, seed]
        answered = 0
        for call, old, new in zip(inputs, before, after, strict=True):
            if old[0] == "value":
                answered += 1
                is_same = new == old
            elif old[0] == "raised":
                is_same = new[:2] == old[:2]
            elif old[0] == "failed":  # not meant for the function: it may fail in another way
                is_same = new[0] in ("failed", "raised")
            else:  # the original hung or was not run: nothing to compare
                continue
            if not is_same:
                return f"{function} answers otherwise for {call[:120]}"
        self.compared += answered
        if answered < min(LEAST_ANSWERED, len(inputs)):
            return (
                f"{function} answers {answered} of {len(inputs)} inputs only: nothing is known of the others"
            )
        return ""

    async def _run(self, root: Path, function: str, inputs: Sequence[str]) -> list[Result]:
        run = await self.runner.run_program(build_program(root, self.path, function), inputs)
        return list(run.calls)


def build_program(root: Path, path: str, function: str) -> Program:
    """Return a function of a file of a copy as a program to run."""
    parts = list(PurePosixPath(path).with_suffix("").parts)
    if parts[0] == "src" and len(parts) > 1:
        root, parts = root / "src", parts[1:]
    if parts[-1] == "__init__":
        parts = parts[:-1]
    return Program(name=function, function=function, root=root, module=".".join(parts))
