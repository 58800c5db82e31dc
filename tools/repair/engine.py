"""The repair engine: trace the tests, rank the statements, search a patch, keep it in memory, go on."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass, field, replace

from sandbox.errors import UserError
from tools.repair.candidates import candidates
from tools.repair.choosing import Found, confidence
from tools.repair.localization import Suspect, rank
from tools.repair.result import Fix, Outcome, RepairResult
from tools.repair.search import Search
from tools.repair.server import Job, Message, Replies, Worker
from tools.repair.spectrum import Spectrum, Test, load, matching
from tools.repair.templates import Hints, Source
from tools.testing.project import Project, TestsNotRunnable
from tools.testing.python import interpreter
from tools.workspace import Workspace

# Of what is left of the budget, the baseline may take this share: without candidates tried it is of no use.
TRACE_SHARE = 0.5
# Failing tests that share this much of what they cover are taken for symptoms of one fault.
SAME_FAULT = 0.5
# More failing tests than this say nothing more about one fault.
MOST_WANTED = 40
# Statements that candidates are made for; the fault is among them or coverage did not help.
MOST_SUSPECTS = 200
# Searches that find nothing leave time for the other faults: each gets this share of what is left.
SEARCH_SHARE = 0.6

# A new session imports and collects before its first test, as the first one did, and two may run at a time:
# seconds at least, and times what it took then.
COLD_START, SLOWER_START = 20.0, 4.0

# Other changes that are kept to be shown beside a fix.
MOST_ALTERNATIVES = 9

FIXED = "every failing test passes with these changes"

Progress = Callable[[str], None]


async def repair(
    at: Workspace,
    *,
    targets: Sequence[str] = (),
    budget: float = 60.0,
    on_progress: Progress = lambda line: None,
) -> RepairResult:
    """Look for patches that make failing tests pass and break no passing one. Nothing is written to disk.

    targets: tests to repair (files or node ids); all that fail when empty
    budget: seconds of wall time
    """
    started = time.monotonic()
    state = _State(at=at, targets=targets, deadline=started + budget, on_progress=on_progress)
    result = await state.run()
    return replace(result, seconds=time.monotonic() - started, tried=state.tried, cpu=state.cpu)


@dataclass(slots=True, kw_only=True)
class Baseline:
    """How the tests stand, with the workers that found it out still at hand.

    problem: why there is no spectrum
    collecting: wall seconds from the worker's start to the collected tests
    """

    spectrum: Spectrum
    errors: Sequence[Message] = ()
    problem: str = ""
    collecting: float = 0.0


async def baseline(
    at: Workspace, stack: AsyncExitStack, job: Job, replies: Replies, unsteady: frozenset[str] = frozenset()
) -> tuple[Baseline, dict[str, Worker]]:
    """Start both workers and wait for the trace."""
    warm = await stack.enter_async_context(Worker(at, job, "warm", replies))
    cold = await stack.enter_async_context(Worker(at, job, "cold", replies))
    workers = {"warm": warm, "cold": cold}
    nothing = Spectrum(tests=(), imported={}, complete=False)
    begun = time.monotonic()
    collected = await replies.expect("collected", job.seconds)
    if collected is None or collected["kind"] != "collected":
        problem = (collected or {}).get("message") or warm.output or "collecting the tests took too long"
        return Baseline(spectrum=nothing, problem=problem), workers
    collecting = time.monotonic() - begun
    traced = await replies.expect("traced", job.seconds - collecting)
    if traced is None or traced["kind"] != "traced":
        problem = warm.output or "tracing the tests took too long"
        return Baseline(spectrum=nothing, errors=collected["errors"], problem=problem), workers
    try:
        spectrum = load(warm.records, collected["ids"], collected["files"], traced["imported"], unsteady)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        problem = f"what was noted of the tests cannot be read ({type(error).__name__})"
        return Baseline(spectrum=nothing, problem=problem), workers
    return Baseline(spectrum=spectrum, errors=collected["errors"], collecting=collecting), workers


async def trace(at: Workspace, targets: Sequence[str], seconds: float) -> tuple[RepairResult, Spectrum]:
    """Only the ranking: what fails, and which statements are suspicious."""
    state = _State(at=at, targets=targets, deadline=time.monotonic() + seconds, on_progress=lambda line: None)
    async with AsyncExitStack() as stack:
        try:
            job = await state.job()
        except (TestsNotRunnable, UserError) as error:  # no Python that can run the tests
            nothing = Spectrum(tests=(), imported={}, complete=False)
            return state._end(Outcome.CANNOT_RUN, str(error)), nothing
        base, _ = await baseline(at, stack, job, Replies())
        return state.verdict(base) or state.report(base), base.spectrum


@dataclass(slots=True, kw_only=True)
class _State:
    """One repair under way: what is fixed so far (as whole texts), what was given up."""

    at: Workspace
    targets: Sequence[str]
    deadline: float
    on_progress: Progress
    overlay: dict[str, str] = field(default_factory=dict)
    fixes: list[Fix] = field(default_factory=list)
    alternatives: list[tuple[Fix, ...]] = field(default_factory=list)
    failing: tuple[str, ...] = ()
    first: RepairResult | None = None
    given_up: set[str] = field(default_factory=set)
    unsteady: frozenset[str] = frozenset()
    tried: int = 0
    cpu: float = 0.0
    python: tuple[str, tuple[str, ...]] | None = None

    async def run(self) -> RepairResult:
        while True:
            async with AsyncExitStack() as stack:
                try:
                    job = await self.job()
                except (TestsNotRunnable, UserError) as error:  # no Python that can run the tests
                    return self._end(Outcome.CANNOT_RUN, str(error))
                replies = Replies()
                base, workers = await baseline(self.at, stack, job, replies, self.unsteady)
                self.unsteady |= {test.id for test in base.spectrum.standing("unsteady")}
                ended = self.verdict(base)
                if ended is not None:
                    return ended
                found = await self._round(base, workers, replies)
                self.cpu += replies.cpu
                if not found:
                    return self.report(base)
                if self._all_helped():
                    return self._end(Outcome.FIXED, self._with_errors(FIXED, base), spectrum=base.spectrum)

    async def job(self) -> Job:
        if self.python is None:
            found = await interpreter(self.at, Project(self.at), pytest=False)
            self.python = found.path, (str(self.at.root / "src"),) if found.missing else ()
        left = max(1.0, self.deadline - time.monotonic())
        return Job(
            python=self.python[0],
            python_path=self.python[1],
            overlay=self.overlay,
            arguments=(),
            certain=bool(self.targets),
            check=not self.fixes,
            trace_seconds=left * TRACE_SHARE,
            seconds=left + 5.0,
        )

    def verdict(self, base: Baseline) -> RepairResult | None:
        """The result when there is nothing to search for."""
        spectrum = base.spectrum
        if base.problem and not spectrum.tests:
            return self._not_collected(base.problem, base.errors)
        if not spectrum.tests:
            return self._no_tests(base.errors)
        if not matching(spectrum.tests, self.targets):
            return self._end(
                Outcome.NO_TESTS, f"no test is called {_listed(self.targets)}", spectrum=spectrum
            )
        failing = matching(spectrum.standing("failed"), self.targets)
        if not self.failing:
            self.failing = tuple(test.id for test in failing)
        cut_off = [test for test in failing if test.wants_network]
        if failing and len(cut_off) == len(failing) and not self.fixes:
            names = ", ".join(test.id for test in failing[:5])
            return self._end(
                Outcome.NEEDS_NETWORK,
                f"what fails wants the network, which tests do not get here: {names}",
                spectrum=spectrum,
                failing=failing,
            )
        self.given_up |= {test.id for test in cut_off}
        if failing:
            return None
        if self.fixes:
            return self.report(base)
        if base.errors:
            return self._not_collected("", base.errors)
        unsteady = matching(spectrum.standing("unsteady"), self.targets)
        if unsteady:
            names = ", ".join(test.id for test in unsteady[:5])
            reason = f"no test fails steadily; these do not come out the same each time or alone: {names}"
            return self._end(Outcome.UNSTEADY, reason, spectrum=spectrum)
        if not spectrum.complete:
            return self._end(Outcome.NOT_FOUND, "no failing test was met", spectrum=spectrum)
        return self._end(Outcome.ALL_PASS, "all tests pass", spectrum=spectrum)

    async def _round(self, base: Baseline, workers: Mapping[str, Worker], replies: Replies) -> bool:
        """Look for one more fix. False when there is none for any failing test that is left."""
        spectrum = base.spectrum
        every = list(groups(self._wanted(spectrum)))
        for place, wanted in enumerate(every):
            left = self.deadline - time.monotonic()
            if left <= 0:
                return False
            sources = self.sources(spectrum, wanted)
            suspects = rank(sources, wanted, spectrum)[:MOST_SUSPECTS]
            self.on_progress(f"searching: {len(wanted)} failing tests, {len(suspects)} suspicious statements")
            search = Search(
                name=f"{len(self.fixes)}.{place}",
                root=self.at.root.resolve(),
                workers=workers,
                replies=replies,
                spectrum=spectrum,
                sources=sources,
                wanted=wanted,
                deadline=time.monotonic() + left * (SEARCH_SHARE if place + 1 < len(every) else 1.0),
                cold_start=max(COLD_START, base.collecting * SLOWER_START),
                on_progress=self.on_progress,
            )
            found = await search.run(candidates(suspects, sources, hints(wanted)))
            if found is None:
                self.on_progress("searching: two changes at once")
                found = await search.run_pairs()
            self.tried += search.tried
            if found is not None:
                rivals = sum(len(each.helped) == len(found.helped) for each in search.others)
                before = {path: source.text for path, source in sources.items()}
                self.alternatives += [
                    tuple(described(each, dict(before), rivals, spectrum))
                    for each in search.others[:MOST_ALTERNATIVES]
                ]
                texts = dict(before)
                fixes = described(found, texts, rivals, spectrum)
                self.fixes += fixes
                self.overlay.update({fix.path: texts[fix.path] for fix in fixes})
                return True
            self.given_up.update(test.id for test in wanted)
        return False

    def _all_helped(self) -> bool:
        """Every test that failed at first was seen to pass with the whole suite around it."""
        return set(self.failing) <= {name for fix in self.fixes for name in fix.tests}

    def _wanted(self, spectrum: Spectrum) -> list[Test]:
        failing = matching(spectrum.standing("failed"), self.targets)
        return [test for test in failing if test.id not in self.given_up]

    def sources(self, spectrum: Spectrum, wanted: Sequence[Test]) -> dict[str, Source]:
        """The files that the failing tests ran, as they are now with what is fixed already.

        Those that cannot be read, or not by our own Python (the project's may be newer), are left out.
        """
        covered = {path for test in wanted for path in test.lines}
        found: dict[str, Source] = {}
        for path in spectrum.sources():
            if path in covered:
                with suppress(OSError, ValueError, SyntaxError, RecursionError):
                    found[path] = Source(path, self.overlay.get(path) or self.at.files.read_text(path).text)
        return found

    def report(self, base: Baseline) -> RepairResult:
        """What was found, when the search is over."""
        spectrum = base.spectrum
        failing = matching(spectrum.standing("failed"), self.targets)
        sources = self.sources(spectrum, failing)
        suspects = rank(sources, failing, spectrum) if failing else []
        if not failing:
            outcome, reason = Outcome.FIXED, self._with_errors(FIXED, base)
        elif self.fixes:
            outcome, reason = (
                Outcome.PARTLY_FIXED,
                f"{len(failing)} tests still fail, and no change was found for them",
            )
        elif not suspects:
            outcome = Outcome.NOT_COVERED
            reason = "the failing tests run no source line of the workspace in their own process"
        else:
            outcome, reason = (
                Outcome.NOT_FOUND,
                "no change that was tried makes a failing test pass and breaks none",
            )
            if time.monotonic() >= self.deadline:
                reason += "; the time is spent"
        return self._end(outcome, reason, spectrum=spectrum, failing=failing, suspects=suspects)

    def _with_errors(self, reason: str, base: Baseline) -> str:
        """Test files that could not be imported were not looked at, whatever the others say."""
        if not base.errors:
            return reason
        return f"{reason}; not looked at, since they cannot be imported: {_listed([e['where'] for e in base.errors])}"

    def _not_collected(self, problem: str, errors: Sequence[Message]) -> RepairResult:
        details = "\n".join(each["message"] for each in errors) or problem
        if "SyntaxError" in details or "IndentationError" in details:
            return self._end(
                Outcome.SYNTAX_ERROR, f"a file does not parse, so the tests cannot run:\n{_tail(details)}"
            )
        if errors:
            return self._end(Outcome.IMPORT_ERROR, f"the tests cannot be imported:\n{_tail(details)}")
        return self._end(Outcome.CANNOT_RUN, f"the tests cannot be run:\n{_tail(details)}")

    def _no_tests(self, errors: Sequence[Message]) -> RepairResult:
        if errors:
            return self._not_collected("", errors)
        return self._end(Outcome.NO_TESTS, "no tests were found, so there is nothing to measure a change by")

    def _end(
        self,
        outcome: Outcome,
        reason: str,
        *,
        spectrum: Spectrum | None = None,
        failing: Sequence[Test] = (),
        suspects: Sequence[Suspect] = (),
    ) -> RepairResult:
        tests = spectrum.tests if spectrum else ()
        if spectrum and not spectrum.complete:
            unknown = len(spectrum.standing("unknown"))
            reason += f"; there was no time for {unknown} of {len(tests)} tests, so nothing is known of them"
        now = {test.id for test in tests if test.standing == "failed"}
        helped = len(now & {name for fix in self.fixes for name in fix.tests})
        return RepairResult(
            outcome=outcome,
            reason=reason,
            fixes=tuple(self.fixes),
            alternatives=tuple(self.alternatives),
            failing=self.failing,
            left=tuple(test.id for test in failing),
            messages={test.id: test.reason for test in failing},
            suspects=suspects[:10],
            checked=sum(test.standing == "passed" for test in tests) + helped,
            unsteady=tuple(test.id for test in tests if test.standing == "unsteady"),
        )


def described(found: Found, texts: dict[str, str], rivals: int, spectrum: Spectrum) -> list[Fix]:
    """A patch as the edits that make it, each fit to be made after the one before; `texts` are brought up to date."""
    names = {test.index: test.id for test in spectrum.tests}
    fixes = []
    for part in found.candidate.parts:
        change, before = part.change, texts[part.path]
        after = before[: change.start] + change.text + before[change.end :]
        old, new = unique_pair(before, after)
        where = part.suspect.function or part.path
        fixes.append(
            Fix(
                path=part.path,
                line=before.count("\n", 0, change.start) + 1,
                function=part.suspect.function,
                old=old,
                new=new,
                template=part.template,
                why=f"{change.why} in {where}, line {part.suspect.line}",
                tests=tuple(names[index] for index in sorted(found.helped)),
                confidence=confidence(found, rivals),
            )
        )
        texts[part.path] = after
    return fixes


def groups(failing: Sequence[Test]) -> Iterator[list[Test]]:
    """Failing tests by likely fault: each begins with the test that runs least, and holds those that run alike."""
    rest = sorted(failing, key=lambda test: (test.endless, test.slowness, _size(test), test.index))
    while rest:
        first, covered = rest[0], _places(rest[0])
        alike = [test for test in rest if test is first or _likeness(covered, _places(test)) >= SAME_FAULT]
        # The one that runs least is judged first; after it the quick ones, so that a wrong patch is found out early.
        yield alike[:MOST_WANTED]
        rest = [test for test in rest if test not in alike]


def hints(failing: Sequence[Test]) -> Hints:
    """What the failures' own words say about names, attributes and exceptions."""
    texts = [f"{test.error}: {test.message}" for test in failing]
    names = {name for text in texts for name in re.findall(r"name '(\w+)' is not defined", text)}
    attributes = {name for text in texts for name in re.findall(r"has no attribute '(\w+)'", text)}
    errors = {name for text in texts for name in re.findall(r"\b([A-Z]\w*(?:Error|Exception))\b", text)}
    return Hints(
        missing_names=frozenset(names),
        missing_attributes=frozenset(attributes),
        errors=frozenset(errors - {"AssertionError"}),
    )


def unique_pair(before: str, after: str) -> tuple[str, str]:
    """Whole lines around the one change, old and new, with as much around them as makes each unique in its text.

    Unique both ways, so that the change can be taken back by the same means.
    """
    old, new = before.split("\n"), after.split("\n")
    shortest = min(len(old), len(new))
    head = next((i for i in range(shortest) if old[i] != new[i]), shortest)
    tail = next((i for i in range(shortest - head) if old[-1 - i] != new[-1 - i]), shortest - head)
    while True:
        one, other = old[head : len(old) - tail], new[head : len(new) - tail]
        pair = "\n".join(one), "\n".join(other)
        told = pair[0].strip() and pair[1].strip()
        if (told and before.count(pair[0]) == after.count(pair[1]) == 1) or not (head or tail):
            return pair
        head, tail = max(0, head - 1), max(0, tail - 1)


def _listed(names: Sequence[str]) -> str:
    return " or ".join(repr(name) for name in names[:3])


def _tail(text: str) -> str:
    return "\n".join(line for line in text.strip().splitlines()[-12:])


def _places(test: Test) -> frozenset[tuple[str, int]]:
    return frozenset(
        (path, line) for path, lines in test.lines.items() if path != test.file for line in lines
    )


def _size(test: Test) -> int:
    return sum(len(lines) for path, lines in test.lines.items() if path != test.file)


def _likeness(a: frozenset[tuple[str, int]], b: frozenset[tuple[str, int]]) -> float:
    return len(a & b) / len(a | b) if a | b else 1.0
