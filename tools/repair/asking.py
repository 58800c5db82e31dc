"""What the workers are asked: candidates screened in lots, tried one by one, looked at closely, and the whole suite."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tools.repair.candidates import Candidate
from tools.repair.failures import likeness
from tools.repair.localization import covering, own_lines
from tools.repair.server import Message, Requests
from tools.repair.spectrum import Spectrum, Test
from tools.repair.templates import Source

# The whole suite is the last word: no test may fail there for want of a little time.
WHOLE_FACTOR, WHOLE_FLOOR = 3.0, 5.0
# CPU seconds for a test of which nothing is known.
WHOLE_CEILING = 120.0
# CPU seconds that a test may take at least when a base is looked at: with its lines noted it is slower.
PROBE_SECONDS = 0.3
# The same when inputs are compared beside it, which has a limit of its own below that.
INPUT_SECONDS = 5.0
# Tests that say what a base is worth: failing ones, and passing ones that run the same.
MOST_PROBED = 12, 12
# Passing tests that a candidate is screened by when the failing one passes.
MOST_NEAR = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """How long a candidate may take: turns of loops, times the tests' limits, and CPU seconds a test at most.

    number: 0 for the first time that candidates are tried, more for those that were too slow
    """

    number: int
    fuel: int
    factor: float
    ceiling: float

    @property
    def slow(self) -> bool:
        """A candidate may take so long that no more of them are begun than can be at work."""
        return self.factor > 1.0


@dataclass(slots=True, kw_only=True)
class Asking:
    """Sends requests about candidates to the workers and keeps what is `open`: request → its candidates.

    name: tells the replies to this search from late ones to another
    cold_start: wall seconds that a new session may take to come to its first test
    words: how failing tests end without a candidate, as far as screenings told
    hooked: tests that end otherwise when the framework's hooks are left out
    """

    name: str
    root: Path
    workers: Mapping[str, Requests]
    spectrum: Spectrum
    sources: Mapping[str, Source]
    wanted: Sequence[Test]
    cold_start: float
    open: dict[str, list[Candidate]] = field(default_factory=dict)
    words: dict[int, str] = field(default_factory=dict)
    hooked: set[int] = field(default_factory=set)
    asked: int = 0
    _near: dict[tuple[str, range], list[int]] = field(default_factory=dict)
    _alike: dict[int, float] = field(default_factory=dict)

    async def brief(self) -> None:
        """Tell the workers what all requests are about."""
        message: Message = {
            "texts": {str(self.root / path): source.text for path, source in self.sources.items()},
            "ids": [test.id for test in self.spectrum.tests],
            "limits": [test.limit for test in self.spectrum.tests],
        }
        for worker in self.workers.values():
            await worker.send(message)

    async def screen(
        self, batch: list[Candidate], judges: Sequence[Sequence[Test]], effort: Effort, *, alone: bool = False
    ) -> None:
        """Each candidate by one of its tests, in one child; what is `alone` in it is not compared with the original.

        judges: of each candidate, the failing test that it is judged by, and those of which one will do as well
        """
        tests = [each[0] for each in judges]
        await self._ask("warm", batch, {
            "screen": [test.index for test in tests],
            "endless": sorted({test.index for test in tests if test.endless}),
            "wordless": sorted({test.index for test in tests if not test.worded}),
            "others": [[test.index for test in each[1:] if not test.endless] for each in judges],
            "near": [self.quick_near(candidate) for candidate in batch],
            "candidates": [self.edits(candidate) for candidate in batch],
            "alone": alone,
            "before": sorted(self.words.items()) if alone else [],
            "settled": sorted(self.words),
            "hooked": sorted(self.hooked),
            "fuel": effort.fuel,
            "seconds": min(effort.ceiling, max(test.limit for test in tests) * effort.factor),
        })  # fmt: skip

    async def probe(self, candidate: Candidate) -> None:
        """How tests go with a candidate, and what they run."""
        failing, passing = MOST_PROBED
        near = self.passing_near(candidate)[:passing]
        tests = [*(test.index for test in self.wanted[:failing]), *near]
        await self._ask("warm", [candidate], {
            "probe": tests,
            "edits": self.edits(candidate),
            "seconds": max(PROBE_SECONDS, *(self.spectrum.tests[index].limit for index in tests)),
        })  # fmt: skip

    async def lines(self, candidate: Candidate | None, tests: Sequence[int], *, inputs: bool = False) -> str:
        """What tests run with a candidate, or as the program is; the request's name.

        inputs: instead, for how many of the inputs that tests give to what is changed it does otherwise than before
        """
        least = INPUT_SECONDS if inputs else PROBE_SECONDS
        return await self._ask("warm", [candidate] if candidate else [], {
            "probe": list(tests),
            "edits": self.edits(candidate) if candidate else [],
            "inputs": inputs,
            "seconds": max(least, *(self.spectrum.tests[index].limit for index in tests)),
        })  # fmt: skip

    async def trial(self, candidate: Candidate, effort: Effort, mode: str) -> None:
        """From fresh state: the failing tests, then the passing ones that run the statement.

        A cold trial collects the failing tests' files alone, so those of other files are left to the whole suite.
        """
        near, files = self.passing_near(candidate), sorted({test.collected_from for test in self.wanted})
        if mode == "cold":
            near = [index for index in near if self.spectrum.tests[index].collected_from in files]
        await self._ask(mode, [candidate], {
            "edits": self.edits(candidate),
            "files": files if all(files) else [],
            "stages": [
                {
                    "tests": [test.index for test in self.wanted],
                    "stop": "unless-some" if candidate.base is None else "never",
                },
                {"tests": near, "stop": "first"},
            ],
            "factor": effort.factor,
            "ceiling": max(effort.ceiling, 1.5),
            "start": self.cold_start,
        })  # fmt: skip

    async def whole(
        self,
        about: Candidate,
        edits: list[list[object]],
        stage: Message,
        effort: Effort,
        files: Sequence[str] = (),
        ceiling: float = WHOLE_CEILING,
    ) -> str:
        """A session of some files, or of everything; the request's name.

        ceiling: CPU seconds that a test may take at most
        """
        return await self._ask("cold", [about], {
            "edits": edits,
            "files": list(files),
            "stages": [stage],
            "factor": max(effort.factor, WHOLE_FACTOR),
            "floor": WHOLE_FLOOR,
            "ceiling": ceiling,
            "start": self.cold_start,
        })  # fmt: skip

    async def _ask(self, mode: str, about: list[Candidate], message: Message) -> str:
        self.asked += 1
        name = f"{self.name}.{self.asked}"
        self.open[name] = about
        await self.workers[mode].send({"id": name, **message})
        return name

    def edits(self, candidate: Candidate) -> list[list[object]]:
        """(absolute path, start, end, text) of each."""
        return [[str(self.root / each.path), each.start, each.end, each.text] for each in candidate.edits]

    def passing_near(self, candidate: Candidate) -> list[int]:
        """Passing tests that run what is changed, in their order."""
        found: set[int] = set()
        for path, lines in self._changed_lines(candidate):
            if (path, lines) not in self._near:
                passing = self.spectrum.standing("passed")
                self._near[path, lines] = [t.index for t in covering(passing, path, lines)]
            found.update(self._near[path, lines])
        return sorted(found)

    def quick_near(self, candidate: Candidate, most: int = MOST_NEAR, slowest: int = 0) -> list[int]:
        """The quickest passing tests that run what is changed, none slower than in step `slowest`."""
        near = [self.spectrum.tests[index] for index in self.passing_near(candidate)]
        return [
            t.index for t in sorted(near, key=lambda t: (t.slowness, t.index))[:most] if t.slowness <= slowest
        ]

    def alike_near(self, candidate: Candidate, most: int, slowest: int) -> list[int]:
        """Quick passing tests that run what is changed, those first that run most of what a failing one runs."""
        near = (self.spectrum.tests[index] for index in self.passing_near(candidate))
        quick = [test for test in near if test.slowness <= slowest]
        return [
            test.index
            for test in sorted(quick, key=lambda t: (-self._likeness_to_failing(t), t.index))[:most]
        ]

    def changes_imports(self, candidate: Candidate) -> bool:
        """Whether what is changed ran while modules were imported, so that other tests may be collected."""
        imported = self.spectrum.imported
        return any(
            not imported.get(path, frozenset()).isdisjoint(lines)
            for path, lines in self._changed_lines(candidate)
        )

    def _likeness_to_failing(self, test: Test) -> float:
        if test.index not in self._alike:
            self._alike[test.index] = likeness(self.wanted[0], test) if self.wanted else 0.0
        return self._alike[test.index]

    def _changed_lines(self, candidate: Candidate) -> Iterator[tuple[str, range]]:
        """The lines of the statements that are changed, counted in the text before any change."""
        first = candidate.parts[0]
        yield first.path, own_lines(first.suspect.statement)
        if candidate.base is not None:
            for edit in candidate.edits:
                text = self.sources[edit.path].text
                line = text.count("\n", 0, edit.start) + 1
                yield edit.path, range(line, line + text.count("\n", edit.start, edit.end) + 1)
