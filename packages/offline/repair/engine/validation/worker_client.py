"""Requests to the workers: screening in batches, single trials, probes, and the whole suite."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path

from packages.offline.repair.engine.candidates.candidate_generation import Candidate
from packages.offline.repair.engine.validation.worker_process import Message, RequestPipe
from packages.offline.repair.localize.coverage_spectrum import Spectrum, Test
from packages.offline.repair.localize.failure_analysis import measure_test_similarity
from packages.offline.repair.localize.statement_ranking import get_own_lines, select_covering_tests
from packages.offline.repair.templates import Source
from sandbox.lazy_dataclass import dataclass

# The whole suite decides: no test may fail there for lack of a little time.
WHOLE_FACTOR, WHOLE_FLOOR = 3.0, 5.0
# CPU seconds for a test without a known time.
WHOLE_CEILING = 120.0
# Minimum CPU seconds of a test when a base is probed: line coverage makes it slower.
PROBE_SECONDS = 0.3
# The same when inputs are compared too, which has a lower limit of its own.
INPUT_SECONDS = 5.0
# Tests that determine the weight of a base: failing ones, and passing ones that run the same lines.
MOST_PROBED = 12, 12
# Passing tests that screen a candidate when the failing one passes.
MOST_NEAR = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Effort:
    """Limits of a candidate: loop iterations, factor on the tests' limits, maximum CPU seconds of a test.

    number: 0 for the first trial of candidates, more for those that were too slow
    """

    number: int
    fuel: int
    factor: float
    ceiling: float

    @property
    def is_slow(self) -> bool:
        """Whether a candidate may take so long that only as many are started as can run in parallel."""
        return self.factor > 1.0


@dataclass(slots=True, kw_only=True)
class WorkerClient:
    """Sends requests about candidates to the workers and keeps the `open` ones: request → its candidates.

    name: distinguishes replies to this search from late ones to another
    cold_start: wall seconds that a new session may take until its first test
    words: messages of failing tests without a candidate, as far as screenings reported them
    hooked: tests with another outcome when the framework's hooks are left out
    """

    name: str
    root: Path
    workers: Mapping[str, RequestPipe]
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

    async def send_context(self) -> None:
        """Send the workers the context of all requests."""
        message: Message = {
            "texts": {str(self.root / path): source.text for path, source in self.sources.items()},
            "ids": [test.id for test in self.spectrum.tests],
            "limits": [test.limit for test in self.spectrum.tests],
        }
        for worker in self.workers.values():
            await worker.send(message)

    async def request_screening(
        self, batch: list[Candidate], judges: Sequence[Sequence[Test]], effort: Effort, *, alone: bool = False
    ) -> None:
        """Request the screening of each candidate by one of its tests, in one child.

        judges: for each candidate, the failing test that judges it, and those of which one must pass as well
        alone: the candidate is not compared with the original
        """
        tests = [each[0] for each in judges]
        await self._send_request("warm", batch, {
            "screen": [test.index for test in tests],
            "endless": sorted({test.index for test in tests if test.is_endless}),
            "wordless": sorted({test.index for test in tests if not test.has_stable_message}),
            "others": [[test.index for test in each[1:] if not test.is_endless] for each in judges],
            "near": [self.find_quick_tests(candidate) for candidate in batch],
            "candidates": [self.encode_edits(candidate) for candidate in batch],
            "alone": alone,
            "before": sorted(self.words.items()) if alone else [],
            "settled": sorted(self.words),
            "hooked": sorted(self.hooked),
            "fuel": effort.fuel,
            "seconds": min(effort.ceiling, max(test.limit for test in tests) * effort.factor),
        })  # fmt: skip

    async def request_probe(self, candidate: Candidate) -> None:
        """Request the tests' outcomes and coverage with a candidate."""
        failing, passing = MOST_PROBED
        near = self.find_passing_tests(candidate)[:passing]
        tests = [*(test.index for test in self.wanted[:failing]), *near]
        await self._send_request("warm", [candidate], {
            "probe": tests,
            "edits": self.encode_edits(candidate),
            "seconds": max(PROBE_SECONDS, *(self.spectrum.tests[index].limit for index in tests)),
        })  # fmt: skip

    async def request_lines(
        self, candidate: Candidate | None, tests: Sequence[int], *, inputs: bool = False
    ) -> str:
        """Request the lines that tests run with a candidate, or without one; return the request's name.

        inputs: instead, the number of the tests' inputs for which the changed function behaves differently
        """
        least = INPUT_SECONDS if inputs else PROBE_SECONDS
        return await self._send_request("warm", [candidate] if candidate else [], {
            "probe": list(tests),
            "edits": self.encode_edits(candidate) if candidate else [],
            "inputs": inputs,
            "seconds": max(least, *(self.spectrum.tests[index].limit for index in tests)),
        })  # fmt: skip

    async def request_trial(self, candidate: Candidate, effort: Effort, mode: str) -> None:
        """Request a trial from fresh state: the failing tests, then the passing ones that run the statement.

        A cold trial collects the failing tests' files alone, so those of other files are left to the whole
        suite.
        """
        near, files = (
            self.find_passing_tests(candidate),
            sorted({test.collection_file for test in self.wanted}),
        )
        if mode == "cold":
            near = [index for index in near if self.spectrum.tests[index].collection_file in files]
        await self._send_request(mode, [candidate], {
            "edits": self.encode_edits(candidate),
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

    async def request_suite_run(
        self,
        about: Candidate,
        edits: list[list[object]],
        stage: Message,
        effort: Effort,
        files: Sequence[str] = (),
        ceiling: float = WHOLE_CEILING,
    ) -> str:
        """Request a session of some files, or of everything; return the request's name.

        ceiling: maximum CPU seconds of a test
        """
        return await self._send_request("cold", [about], {
            "edits": edits,
            "files": list(files),
            "stages": [stage],
            "factor": max(effort.factor, WHOLE_FACTOR),
            "floor": WHOLE_FLOOR,
            "ceiling": ceiling,
            "start": self.cold_start,
        })  # fmt: skip

    async def _send_request(self, mode: str, about: list[Candidate], message: Message) -> str:
        self.asked += 1
        name = f"{self.name}.{self.asked}"
        self.open[name] = about
        await self.workers[mode].send({"id": name, **message})
        return name

    def encode_edits(self, candidate: Candidate) -> list[list[object]]:
        """Return (absolute path, start, end, text) of each edit."""
        return [[str(self.root / each.path), each.start, each.end, each.text] for each in candidate.edits]

    def find_passing_tests(self, candidate: Candidate) -> list[int]:
        """Return passing tests that run the changed place, in their order."""
        found: set[int] = set()
        for path, lines in self._iter_changed_lines(candidate):
            if (path, lines) not in self._near:
                passing = self.spectrum.select_tests("passed")
                self._near[path, lines] = [t.index for t in select_covering_tests(passing, path, lines)]
            found.update(self._near[path, lines])
        return sorted(found)

    def find_quick_tests(self, candidate: Candidate, most: int = MOST_NEAR, slowest: int = 0) -> list[int]:
        """Return the quickest passing tests that run the changed place, none slower than in step `slowest`."""
        near = [self.spectrum.tests[index] for index in self.find_passing_tests(candidate)]
        return [
            t.index for t in sorted(near, key=lambda t: (t.slowness, t.index))[:most] if t.slowness <= slowest
        ]

    def find_similar_tests(self, candidate: Candidate, most: int, slowest: int) -> list[int]:
        """Return quick passing tests that run the changed place, those with most lines of a failing one first."""
        near = (self.spectrum.tests[index] for index in self.find_passing_tests(candidate))
        quick = [test for test in near if test.slowness <= slowest]
        return [
            test.index
            for test in sorted(quick, key=lambda t: (-self._get_similarity_to_failing(t), t.index))[:most]
        ]

    def changes_import_time_code(self, candidate: Candidate) -> bool:
        """Return whether the changed code ran during imports, so that other tests may be collected."""
        imported = self.spectrum.imported
        return any(
            not imported.get(path, frozenset()).isdisjoint(lines)
            for path, lines in self._iter_changed_lines(candidate)
        )

    def _get_similarity_to_failing(self, test: Test) -> float:
        if test.index not in self._alike:
            self._alike[test.index] = measure_test_similarity(self.wanted[0], test) if self.wanted else 0.0
        return self._alike[test.index]

    def _iter_changed_lines(self, candidate: Candidate) -> Iterator[tuple[str, range]]:
        """Yield the lines of the changed statements, in the numbering before any change."""
        first = candidate.parts[0]
        yield first.path, get_own_lines(first.suspect.statement)
        if candidate.base is not None:
            for edit in candidate.edits:
                text = self.sources[edit.path].text
                line = text.count("\n", 0, edit.start) + 1
                yield edit.path, range(line, line + text.count("\n", edit.start, edit.end) + 1)
