"""Several programs with a fault each as one task: a repository whose tests fail in as many files."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.search.program_states import Hunk, Moves, World


@dataclass(frozen=True, slots=True)
class JoinedPrograms:
    """Programs that are mended together; their changes and tests are numbered one program after the other."""

    parts: Sequence[World]

    @property
    def name(self) -> str:
        """Names of the programs."""
        return " ".join(each.name for each in self.parts)

    @property
    def hunks(self) -> Sequence[Hunk]:
        """Changes that lead to the right programs."""
        return [hunk for each in self.parts for hunk in each.hunks]

    @property
    def wrong(self) -> Sequence[Hunk]:
        """Changes that an author errs by."""
        return [hunk for each in self.parts for hunk in each.wrong]

    def add_move(self, moves: Moves, move: tuple[str, int]) -> Moves:
        """Return a state with one more change, which replaces those of the same lines of its program."""
        split = self._split(moves)
        ((place, own),) = [
            (place, each) for place, part in enumerate(self._split(frozenset({move}))) for each in part
        ]
        split[place] = self.parts[place].add_move(split[place], own)
        return self._join(split)

    async def passes(self, moves: Moves) -> bool:
        """Return whether all visible tests of all programs pass."""
        return not (await self.build_report(moves))["failures"]

    async def is_right(self, moves: Moves) -> bool:
        """Return whether the hidden tests pass, too."""
        pairs = zip(self.parts, self._split(moves), strict=True)
        return all([await part.is_right(own) for part, own in pairs])

    async def build_report(self, moves: Moves) -> dict[str, Any]:
        """Return one report of the visible tests of all programs, each in a file of its own."""
        failures, passed = [], 0
        for place, (part, own) in enumerate(zip(self.parts, self._split(moves), strict=True)):
            report = await part.build_report(own)
            passed += report["passed"]
            failures += [
                {**each, "id": f"{place}/{each['id']}", "file": f"{place}/{each['file']}"}
                for each in report["failures"]
            ]
        return {"outcome": "failed" if failures else "passed", "passed": passed, "failures": failures}

    def _split(self, moves: Moves) -> list[Moves]:
        found: list[Moves] = []
        starts = {"right": 0, "wrong": 0}
        for part in self.parts:
            sizes = {"right": len(part.hunks), "wrong": len(part.wrong)}
            own = [
                (kind, number - starts[kind])
                for kind, number in moves
                if 0 <= number - starts[kind] < sizes[kind]
            ]
            found.append(frozenset(own))
            starts = {kind: starts[kind] + sizes[kind] for kind in starts}
        return found

    def _join(self, split: Sequence[Moves]) -> Moves:
        joined: list[tuple[str, int]] = []
        starts = {"right": 0, "wrong": 0}
        for part, own in zip(self.parts, split, strict=True):
            joined += [(kind, starts[kind] + number) for kind, number in own]
            starts = {"right": starts["right"] + len(part.hunks), "wrong": starts["wrong"] + len(part.wrong)}
        return frozenset(joined)
