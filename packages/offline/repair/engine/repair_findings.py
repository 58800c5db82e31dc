"""Findings of a repair so far, and the result built from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace

from packages.offline.repair.engine.validation.budget_clock import BudgetClock
from packages.offline.repair.engine.validation.suite_baseline import Baseline
from packages.offline.repair.engine.validation.worker_process import Message
from packages.offline.repair.localize.coverage_spectrum import Spectrum, Test, select_by_targets
from packages.offline.repair.localize.failure_analysis import find_doubtful_tests
from packages.offline.repair.localize.statement_ranking import Suspect
from packages.offline.repair.result import Fix, Outcome, RepairResult
from sandbox.lazy_dataclass import dataclass

FIXED = "every failing test passes with these changes"


@dataclass(slots=True, kw_only=True)
class Findings:
    """Fixes of one repair in the order of application, and tests that were given up.

    deadline: end of the search on the clock
    failing: ids of the tests that failed before any fix
    written: ids of tests that pass once the fixes are written, or where they may write themselves
    unproven: errors of modules that can be imported with the first fixes, when no test passed for that alone
    checked: tests that passed when the whole suite was run with the last fix
    to_the_end: False when there was time for the files of the targets only, not for the whole suite
    """

    targets: Sequence[str]
    deadline: float
    clock: BudgetClock = field(default_factory=BudgetClock)
    fixes: list[Fix] = field(default_factory=list)
    alternatives: list[tuple[Fix, ...]] = field(default_factory=list)
    failing: tuple[str, ...] = ()
    given_up: set[str] = field(default_factory=set)
    written: frozenset[str] = frozenset()
    unproven: Sequence[Message] = ()
    checked: int = 0
    to_the_end: bool = True

    def find_early_result(self, base: Baseline) -> RepairResult | None:
        """Return the result when there is nothing to search for."""
        spectrum = base.spectrum
        if base.problem and not spectrum.tests:
            helped = {name for fix in self.fixes for name in fix.tests}
            return (
                self._build_cut_short_result(helped)
                if helped
                else self._build_collection_failure(base.problem, base.errors)
            )
        if not spectrum.tests:
            return self._build_no_tests_result(base.errors)
        if not select_by_targets(spectrum.tests, self.targets):
            if base.errors:
                return self._build_collection_failure("", base.errors)
            return self.build_result(
                Outcome.NO_TESTS, f"no test is called {_join_names(self.targets)}", spectrum=spectrum
            )
        failing = self.list_failing_tests(spectrum)
        if not self.failing:
            self.failing = tuple(test.id for test in failing)
        cut_off = [test for test in failing if test.needs_network or test.needs_write_access]
        if failing and len(cut_off) == len(failing) and not self.fixes:
            return self._build_restricted_result(failing, spectrum)
        self.given_up |= {test.id for test in cut_off}
        if failing:
            return None
        if self.fixes:
            return self.build_report(base, ())
        if base.errors:
            return self._build_collection_failure("", base.errors)
        unsteady = select_by_targets(spectrum.select_tests("unsteady"), self.targets)
        if unsteady:
            names = ", ".join(test.id for test in unsteady[:5])
            reason = f"no test fails steadily; these do not come out the same each time or alone: {names}"
            return self.build_result(Outcome.UNSTEADY, reason, spectrum=spectrum)
        if not spectrum.complete:
            return self.build_result(Outcome.NOT_FOUND, "no failing test was met", spectrum=spectrum)
        return self.build_result(Outcome.ALL_PASS, "all tests pass", spectrum=spectrum)

    def _build_cut_short_result(self, helped: set[str]) -> RepairResult:
        """Return the findings when there was no time to run the tests once more."""
        left = tuple(name for name in self.failing if name not in helped)
        reason = f"{len(left)} tests failed beside those, and there was no time to look at them again"
        return replace(self.build_result(Outcome.PARTLY_FIXED, reason), left=left)

    def _build_restricted_result(self, failing: Sequence[Test], spectrum: Spectrum) -> RepairResult:
        """Return the result for failures caused by restrictions of the sandbox."""
        names = ", ".join(test.id for test in failing[:5])
        if any(test.needs_network for test in failing):
            outcome, reason = Outcome.NEEDS_NETWORK, "wants the network, which tests do not get here"
        else:
            outcome, reason = Outcome.CANNOT_RUN, "writes to the project's own files, which no search lets it"
        return self.build_result(outcome, f"what fails {reason}: {names}", spectrum=spectrum, failing=failing)

    def list_failing_tests(self, spectrum: Spectrum) -> list[Test]:
        return [test for test in self.list_failing_in_sandbox(spectrum) if test.id not in self.written]

    def list_failing_in_sandbox(self, spectrum: Spectrum) -> list[Test]:
        """Return the tests that pass outside the sandbox's restrictions too."""
        return select_by_targets(spectrum.select_tests("failed"), self.targets)

    def has_fixed_all(self) -> bool:
        """Return whether every initially failing test passed in a run of the whole suite."""
        return set(self.failing) <= self.written | {name for fix in self.fixes for name in fix.tests}

    def build_fixed_result(self, base: Baseline) -> RepairResult:
        reason = self._add_import_errors(FIXED, base)
        return self.build_result(Outcome.FIXED, reason, spectrum=base.spectrum)

    def build_report(self, base: Baseline, suspects: Sequence[Suspect]) -> RepairResult:
        """Return the findings at the end of the search; `suspects` are those of the tests that still fail."""
        failing = self.list_failing_tests(base.spectrum)
        if failing and self.unproven and not any(fix.tests for fix in self.fixes):
            self.fixes.clear()  # that a module can be imported with it is too weak evidence for a change
            return self._build_collection_failure("", self.unproven)
        if not failing:
            outcome, reason = Outcome.FIXED, self._add_import_errors(FIXED, base)
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
            elif in_doubt := find_doubtful_tests(failing, base.spectrum):
                outcome = Outcome.TEST_IN_DOUBT
                reason += (
                    f". {_join_names([test.id for test in in_doubt])} may be wrong:"
                    " tests that pass run every statement "
                    f"that it runs ({in_doubt[0].reason})"
                )
        return self.build_result(outcome, reason, spectrum=base.spectrum, failing=failing, suspects=suspects)

    def _add_import_errors(self, reason: str, base: Baseline) -> str:
        """Test files that could not be imported were not run, regardless of the others' outcome."""
        if not base.errors:
            return reason
        places = _join_names([each["where"] for each in base.errors])
        return f"{reason}; not looked at, since they cannot be imported: {places}"

    def _build_collection_failure(self, problem: str, errors: Sequence[Message]) -> RepairResult:
        details = "\n".join(each["message"] for each in errors) or problem
        if "SyntaxError" in details or "IndentationError" in details:
            return self.build_result(
                Outcome.SYNTAX_ERROR,
                f"a file does not parse, so the tests cannot run:\n{_take_last_lines(details)}",
            )
        if errors:
            return self.build_result(
                Outcome.IMPORT_ERROR, f"the tests cannot be imported:\n{_take_last_lines(details)}"
            )
        return self.build_result(Outcome.CANNOT_RUN, f"the tests cannot be run:\n{_take_last_lines(details)}")

    def _build_no_tests_result(self, errors: Sequence[Message]) -> RepairResult:
        if errors:
            return self._build_collection_failure("", errors)
        return self.build_result(
            Outcome.NO_TESTS, "no tests were found, so there is nothing to measure a change by"
        )

    def build_result(
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
            unknown = len(spectrum.select_tests("unknown"))
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


def _join_names(names: Sequence[str]) -> str:
    return " or ".join(repr(name) for name in names[:3])


def _take_last_lines(text: str) -> str:
    return "\n".join(line for line in text.strip().splitlines()[-12:])


@dataclass(frozen=True, slots=True, kw_only=True)
class HeldChanges:
    """Several changes at once that fixed some tests of one fault: kept only if the others are fixed as well.

    number: fixes before them
    tests: ids of all tests of the fault
    base, overlay: the state without them
    """

    number: int
    tests: frozenset[str]
    base: Baseline
    overlay: Mapping[str, str]
