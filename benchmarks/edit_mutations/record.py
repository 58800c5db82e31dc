"""What is done of a run, kept in a file: a run that is interrupted goes on, and several can do parts of one."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from benchmarks.edit_mutations.catalogue import Form
from benchmarks.edit_mutations.judge import Outcome, Tally

Part = tuple[tuple[int, ...], Tally]
"""Numbers of hunks, and what their answers were."""


class Record:
    """A file of one line for each part that is done. Lines are added whole, so that several runs can share it.

    of: what the run is of (seed, commits, matchers, …). Raises ValueError if the file is of another one.
    """

    def __init__(self, path: Path | None, of: Mapping[str, Any]) -> None:
        self._path = path
        self._of = json.loads(json.dumps(of))
        self.parts: list[Part] = []
        if path is None or not path.exists():
            return
        for line in path.read_text().splitlines():
            said = json.loads(line)
            if said["of"] != self._of:
                raise ValueError(f"{path} is of another run: {said['of']}")
            self.parts.append((tuple(said["hunks"]), _tally(said)))

    @property
    def done(self) -> set[int]:
        """Numbers of the hunks that need not be asked again."""
        return {number for numbers, _ in self.parts for number in numbers}

    def add(self, numbers: Sequence[int], tally: Tally) -> None:
        """Keep a part that is done."""
        self.parts.append((tuple(numbers), tally))
        if self._path is None:
            return
        line = json.dumps({"of": self._of, "hunks": list(numbers), **_data(tally)}) + "\n"
        handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        with os.fdopen(handle, "wb") as file:
            file.write(line.encode())

    def total(self) -> tuple[Tally, int]:
        """The counts of all parts, and of how many hunks; one that two runs did counts once."""
        tally, seen = Tally(), set[int]()
        for numbers, part in self.parts:
            if seen.isdisjoint(numbers):
                tally.merge(part)
                seen |= set(numbers)
        return tally, len(seen)


def _data(tally: Tally) -> dict[str, Any]:
    return {
        "counts": [[*key, counter] for key, counter in tally.counts.items()],
        "traps": [[*key, counter] for key, counter in tally.traps.items()],
        "seconds": [[*key, seconds] for key, seconds in tally.seconds.items()],
    }


def _tally(said: Mapping[str, Any]) -> Tally:
    tally = Tally()
    for table, rows in ((tally.counts, said["counts"]), (tally.traps, said["traps"])):
        for form, name, matcher, counter in rows:
            table[cast("Form", form), name, matcher] = Counter(
                {cast("Outcome", outcome): number for outcome, number in counter.items()}
            )
    for form, matcher, seconds in said["seconds"]:
        tally.seconds[cast("Form", form), matcher] = list(seconds)
    return tally
