"""What is known of the failing tests so far, and the result that it comes to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from tools.repair.baseline import Baseline
from tools.repair.clock import Clock
from tools.repair.failures import alone_against_all
from tools.repair.localization import Suspect
from tools.repair.result import Fix, Outcome, RepairResult
from tools.repair.server import Message
from tools.repair.spectrum import Spectrum, Test, matching

FIXED = "every failing test passes with these changes"


@dataclass(slots=True, kw_only=True)
class Findings:
    """What one repair found: fixes in the order in which they are made, tests that were given up.

    deadline: when to stop, by the clock
    failing: ids of the tests that failed before any fix
    written: ids of tests that pass once the fixes are written, or where they may write themselves
    unproven: errors of modules that can be imported with the first fixes, when no test passed for that alone
    checked: tests that passed when the whole suite was run with the last fix
    to_the_end: False when there was no time for the whole suite, but only for the files of the targets
    """

    targets: Sequence[str]
    deadline: float
    clock: Clock = field(default_factory=Clock)
    fixes: list[Fix] = field(default_factory=list)
    alternatives: list[tuple[Fix, ...]] = field(default_factory=list)
    failing: tuple[str, ...] = ()
    given_up: set[str] = field(default_factory=set)
    written: frozenset[str] = frozenset()
    unproven: Sequence[Message] = ()
    checked: int = 0
    to_the_end: bool = True

    def verdict(self, base: Baseline) -> RepairResult | None:
        """The result when there is nothing to search for."""
        spectrum = base.spectrum
        if base.problem and not spectrum.tests:
            helped = {name for fix in self.fixes for name in fix.tests}
            return self._cut_short(helped) if helped else self._not_collected(base.problem, base.errors)
        if not spectrum.tests:
            return self._no_tests(base.errors)
        if not matching(spectrum.tests, self.targets):
            if base.errors:
                return self._not_collected("", base.errors)
            return self.end(Outcome.NO_TESTS, f"no test is called {_listed(self.targets)}", spectrum=spectrum)
        failing = self.now_failing(spectrum)
        if not self.failing:
            self.failing = tuple(test.id for test in failing)
        cut_off = [test for test in failing if test.wants_network or test.wants_to_write]
        if failing and len(cut_off) == len(failing) and not self.fixes:
            return self._cut_off(failing, spectrum)
        self.given_up |= {test.id for test in cut_off}
        if failing:
            return None
        if self.fixes:
            return self.report(base, ())
        if base.errors:
            return self._not_collected("", base.errors)
        unsteady = matching(spectrum.standing("unsteady"), self.targets)
        if unsteady:
            names = ", ".join(test.id for test in unsteady[:5])
            reason = f"no test fails steadily; these do not come out the same each time or alone: {names}"
            return self.end(Outcome.UNSTEADY, reason, spectrum=spectrum)
        if not spectrum.complete:
            return self.end(Outcome.NOT_FOUND, "no failing test was met", spectrum=spectrum)
        return self.end(Outcome.ALL_PASS, "all tests pass", spectrum=spectrum)

    def _cut_short(self, helped: set[str]) -> RepairResult:
        """What was found, when the tests could not be looked at once more."""
        left = tuple(name for name in self.failing if name not in helped)
        reason = f"{len(left)} tests failed beside those, and there was no time to look at them again"
        return replace(self.end(Outcome.PARTLY_FIXED, reason), left=left)

    def _cut_off(self, failing: Sequence[Test], spectrum: Spectrum) -> RepairResult:
        """What fails lacks what tests do not get here."""
        names = ", ".join(test.id for test in failing[:5])
        if any(test.wants_network for test in failing):
            outcome, reason = Outcome.NEEDS_NETWORK, "wants the network, which tests do not get here"
        else:
            outcome, reason = Outcome.CANNOT_RUN, "writes to the project's own files, which no search lets it"
        return self.end(outcome, f"what fails {reason}: {names}", spectrum=spectrum, failing=failing)

    def now_failing(self, spectrum: Spectrum) -> list[Test]:
        return [test for test in self.failing_here(spectrum) if test.id not in self.written]

    def failing_here(self, spectrum: Spectrum) -> list[Test]:
        """Those that pass where they may write as well."""
        return matching(spectrum.standing("failed"), self.targets)

    def all_helped(self) -> bool:
        """Every test that failed at first was seen to pass with the whole suite around it."""
        return set(self.failing) <= self.written | {name for fix in self.fixes for name in fix.tests}

    def fixed(self, base: Baseline) -> RepairResult:
        reason = self._with_errors(FIXED, base)
        return self.end(Outcome.FIXED, reason, spectrum=base.spectrum)

    def report(self, base: Baseline, suspects: Sequence[Suspect]) -> RepairResult:
        """What was found, when the search is over; `suspects` are those of the tests that still fail."""
        failing = self.now_failing(base.spectrum)
        if failing and self.unproven and not any(fix.tests for fix in self.fixes):
            self.fixes.clear()  # that something can be imported with it says too little for a change
            return self._not_collected("", self.unproven)
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
            if self.clock.now() >= self.deadline:
                reason += "; the time is spent"
            elif in_doubt := alone_against_all(failing, base.spectrum):
                outcome = Outcome.TEST_IN_DOUBT
                reason += (
                    f". {_listed([test.id for test in in_doubt])} may be wrong: tests that pass run every statement "
                    f"that it runs ({in_doubt[0].reason})"
                )
        return self.end(outcome, reason, spectrum=base.spectrum, failing=failing, suspects=suspects)

    def _with_errors(self, reason: str, base: Baseline) -> str:
        """Test files that could not be imported were not looked at, whatever the others say."""
        if not base.errors:
            return reason
        return f"{reason}; not looked at, since they cannot be imported: {_listed([e['where'] for e in base.errors])}"

    def _not_collected(self, problem: str, errors: Sequence[Message]) -> RepairResult:
        details = "\n".join(each["message"] for each in errors) or problem
        if "SyntaxError" in details or "IndentationError" in details:
            return self.end(
                Outcome.SYNTAX_ERROR, f"a file does not parse, so the tests cannot run:\n{_tail(details)}"
            )
        if errors:
            return self.end(Outcome.IMPORT_ERROR, f"the tests cannot be imported:\n{_tail(details)}")
        return self.end(Outcome.CANNOT_RUN, f"the tests cannot be run:\n{_tail(details)}")

    def _no_tests(self, errors: Sequence[Message]) -> RepairResult:
        if errors:
            return self._not_collected("", errors)
        return self.end(Outcome.NO_TESTS, "no tests were found, so there is nothing to measure a change by")

    def end(
        self,
        outcome: Outcome,
        reason: str,
        *,
        spectrum: Spectrum | None = None,
        failing: Sequence[Test] = (),
        suspects: Sequence[Suspect] = (),
    ) -> RepairResult:
        tests = spectrum.tests if spectrum else ()
        if self.fixes and not self.to_the_end:
            reason += (
                "; the rest of the suite was not run to its end, so only the named tests' files were checked"
            )
        if spectrum and not spectrum.complete:
            unknown = len(spectrum.standing("unknown"))
            reason += f"; there was no time for {unknown} of {len(tests)} tests, so nothing is known of them"
        return RepairResult(
            outcome=outcome,
            reason=reason,
            fixes=tuple(self.fixes),
            alternatives=tuple(self.alternatives),
            failing=self.failing,
            left=tuple(test.id for test in failing),
            messages={test.id: test.reason for test in failing},
            suspects=suspects[:10],
            why=spectrum.why if spectrum else ("", ()),
            checked=self.checked or sum(test.standing == "passed" for test in tests),
            unsteady=tuple(test.id for test in tests if test.standing == "unsteady"),
        )


def _listed(names: Sequence[str]) -> str:
    return " or ".join(repr(name) for name in names[:3])


def _tail(text: str) -> str:
    return "\n".join(line for line in text.strip().splitlines()[-12:])
