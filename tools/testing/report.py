"""Report of a test run: results filled in by each runner's parser, and their text for the model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Any, Literal

from sandbox.lazy_dataclass import dataclass
from tools.core.text import clip, format_count, join_names

Outcome = Literal["passed", "failed", "no-tests", "no-runner", "broken", "timeout", "unverified"]
Kind = Literal["passed", "failed", "errors", "skipped", "xfailed"]

MAX_FAILURES = 200
"""Failures kept; if a whole suite fails, more add no information."""

MAX_DETAILED = 30
"""Failures with details: a report is logged with every run, and is at most some 50 KB."""

MAX_NAMED = 500
"""Passed and skipped tests that are named; for more, only the number is recorded."""

MAX_DETAIL = 1_600
"""Characters of one failure's detail: a few frames with their source lines."""

SHOWN_IN_FULL = 8
"""Failures shown with details: more than a model works on at once."""

SHOWN_BY_NAME = 40
"""Further failures listed by id, enough to see which part of the suite they come from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TestFailure:
    """One test that failed or could not run.

    id: target of run_tests to run it again
    file, line: innermost location of the failure in the project; "" and 0 when unknown
    message: the assertion or exception, first lines
    detail: the few traceback lines in the project
    """

    __test__ = False

    id: str
    file: str = ""
    line: int = 0
    message: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """Results that a parser extracted from a report or an output.

    xfailed, xpassed: tests that were expected to fail, and did or did not; deselected: tests that were left out
    passed_tests, skipped_tests: ids of tests that passed, and of those that were skipped or xfailed, where known
    repeated: results of tests that have another result too, such as one of a subtest or of a teardown
    counted: the numbers are known; if not, only the exit status counts
    broken: why the tests could not be run or collected, "" if they could
    lost: why tests that were to run did not, "" if all ran
    """

    passed: int = 0
    failed: int = 0
    errors: int = 0
    skipped: int = 0
    xfailed: int = 0
    xpassed: int = 0
    deselected: int = 0
    failures: tuple[TestFailure, ...] = ()
    passed_tests: tuple[str, ...] = ()
    skipped_tests: tuple[str, ...] = ()
    repeated: int = 0
    counted: bool = True
    broken: str = ""
    lost: str = ""

    @property
    def results(self) -> int:
        """Return the number of results, of which a test may have several."""
        return self.passed + self.failed + self.errors + self.skipped + self.xfailed + self.xpassed

    def __add__(self, other: Findings) -> Findings:
        sums = {name: getattr(self, name) + getattr(other, name) for name in _SUMMED}
        return Findings(
            **sums,
            failures=limit_failures(self.failures + other.failures),
            counted=self.counted or other.counted,
            broken=self.broken or other.broken,
            lost=self.lost or other.lost,
        )


_SUMMED = (
    *("passed", "failed", "errors", "skipped", "xfailed", "xpassed", "deselected"),
    *("passed_tests", "skipped_tests", "repeated"),
)
"""Fields of findings that are added."""


def tally_findings(
    kinds: Iterable[Kind], failures: Sequence[TestFailure] = (), broken: str = "", names: Sequence[str] = ()
) -> Findings:
    """Count verdicts, one per test, as findings. names: the tests' ids, in the order of their verdicts"""
    verdicts = list(kinds)
    counts: dict[Kind, int] = {"passed": 0, "failed": 0, "errors": 0, "skipped": 0, "xfailed": 0}
    for kind in verdicts:
        counts[kind] += 1
    named = list(zip(names, verdicts, strict=False))
    return Findings(
        passed=counts["passed"],
        failed=counts["failed"],
        errors=counts["errors"],
        skipped=counts["skipped"],
        xfailed=counts["xfailed"],
        passed_tests=tuple(name for name, kind in named if kind == "passed"),
        skipped_tests=tuple(name for name, kind in named if kind in ("skipped", "xfailed")),
        failures=limit_failures(failures),
        broken=broken,
    )


def limit_failures(failures: Sequence[TestFailure]) -> tuple[TestFailure, ...]:
    """Truncate failures to MAX_FAILURES, those after MAX_DETAILED without details."""
    kept = failures[:MAX_FAILURES]
    return (*kept[:MAX_DETAILED], *(replace(each, detail="") for each in kept[MAX_DETAILED:]))


def limit_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return the names, or none if they are too many to be logged with every run."""
    return tuple(names) if len(names) <= MAX_NAMED else ()


NOTHING = Findings(counted=False)
"""Findings of an output without test results."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TestReport:
    """One run of a project's tests.

    runner: "pytest", "unittest", "jest", "go", …; "" when none was found
    command: the command, as a user would type it
    collected: tests found by the run, including skipped ones, without deselected ones
    xfailed, xpassed: tests that were expected to fail, and did or did not; none of them counts as passed
    deselected: tests that were collected and left out, where the runner reports them
    passed_tests, skipped_tests: ids of tests that passed, and of those that were skipped or xfailed; () where these are
        not known or too many
    counted: False when the runner reports no numbers, so that only its exit status counts
    targets: the ids or paths that the run was limited to; () for the whole suite
    note: one or two sentences that complete the numbers (why nothing ran, which files are broken)
    output: end of the output when there is no structured result to show instead
    ref: artifact with the whole output
    """

    __test__ = False

    runner: str
    command: str
    outcome: Outcome
    collected: int = 0
    passed: int = 0
    failed: int = 0
    errors: int = 0
    skipped: int = 0
    xfailed: int = 0
    xpassed: int = 0
    deselected: int = 0
    duration: float = 0.0
    failures: tuple[TestFailure, ...] = ()
    passed_tests: tuple[str, ...] = ()
    skipped_tests: tuple[str, ...] = ()
    counted: bool = True
    targets: tuple[str, ...] = ()
    note: str = ""
    output: str = ""
    ref: str = ""

    def as_data(self) -> dict[str, Any]:
        """Return the report as plain JSON-able values."""
        data = asdict(self)
        data["failures"] = [asdict(each) for each in self.failures]
        data.update({key: list(getattr(self, key)) for key in ("targets", "passed_tests", "skipped_tests")})
        return data

    def format_text(self) -> str:
        """Format the report for the model: verdict, failures, reference to the rest."""
        if self.outcome == "no-runner":
            return f"{self.note}\n{self.output}"
        parts = [self._format_headline(), f"$ {clip(self.command, 400)}"]
        if self.note:
            parts.append(self.note)
        parts += [_format_failure(each) for each in self.failures[:SHOWN_IN_FULL]]
        parts += self._format_other_failures()
        if self.output:
            parts.append(self.output)
        if self.ref:
            parts.append(f'[whole output: recall(ref="{self.ref}")]')
        return "\n".join(parts)

    def _format_headline(self) -> str:
        verdict = _VERDICTS[self.outcome]
        numbers = [
            f"{number} {word}"
            for number, word in (
                (self.failed, "failed"),
                (self.errors, "error" if self.errors == 1 else "errors"),
                (self.passed, "passed"),
                (self.skipped, "skipped"),
                (self.xfailed, "xfailed"),
                (self.xpassed, "xpassed"),
                (self.deselected, "deselected"),
            )
            if number
        ]
        counts = f": {', '.join(numbers)}" if numbers else ""
        return f"{self.runner}: {verdict}{counts} in {self.duration:.1f} s"

    def _format_other_failures(self) -> list[str]:
        others = self.failures[SHOWN_IN_FULL:]
        if not others:
            return []
        named = [f"  {each.id}" for each in others[:SHOWN_BY_NAME]]
        total = max(self.failed + self.errors, len(self.failures)) - SHOWN_IN_FULL
        more = total - len(named)
        rest = [f"  … and {format_count(more, 'more')}"] if more > 0 else []
        return [f"{total} more failed:", *named, *rest]


_VERDICTS: Mapping[Outcome, str] = {
    "passed": "passed",
    "failed": "FAILED",
    "no-tests": "NO TESTS RAN (this is not a pass)",
    "broken": "BROKEN: not all tests were loaded and run",
    "unverified": "NOT VERIFIED (this is not a pass)",
    "timeout": "TIMED OUT",
}


RUNNERS_JOIN = " + "
"""Between the names of the runners of a report on several suites."""


def join_reports(reports: Sequence[TestReport], problems: Sequence[str] = ()) -> TestReport:
    """Join the reports of a project's suites: it passes if each suite was run, one has passed and none has not.

    problems: why other suites could not be run
    """
    ran = [each for each in reports if each.runner]
    if (len(reports) == 1 and not problems) or not ran:
        return reports[0]
    missed = [
        *problems,
        *(each.note.removeprefix("tests were not run: ") for each in reports if not each.runner),
    ]
    told = [f"not run: {problem}" for problem in missed]
    told += [
        f"{each.runner}: {_VERDICTS[each.outcome]}{f' ({each.note})' if each.note else ''}"
        for each in ran
        if each.outcome != "passed" or each.note
    ]
    worst = min(ran, key=lambda each: _WORST_FIRST.index(each.outcome))
    outcome = worst.outcome
    if outcome == "broken" and not worst.collected and ran[0].outcome == "passed":
        outcome = "unverified"  # as where only one of the suites is installed
    return replace(
        worst,
        runner=RUNNERS_JOIN.join(dict.fromkeys(each.runner for each in ran)),
        command=" && ".join(each.command for each in ran),
        outcome="unverified" if missed and outcome == "passed" else outcome,
        **{kind: sum(getattr(each, kind) for each in ran) for kind in _COUNTS},
        failures=limit_failures([failure for each in ran for failure in each.failures]),
        passed_tests=tuple(name for each in ran for name in each.passed_tests),
        skipped_tests=tuple(name for each in ran for name in each.skipped_tests),
        counted=all(each.counted for each in ran),
        note="; ".join(told),
        output="\n".join(each.output for each in ran if each.output),
    )


_COUNTS = (
    *("collected", "passed", "failed", "errors", "skipped", "xfailed", "xpassed", "deselected"),
    "duration",
)
_WORST_FIRST: Sequence[Outcome] = (
    "timeout",
    "failed",
    "broken",
    "unverified",
    "passed",
    "no-tests",
    "no-runner",
)


def make_failure(
    id: str, *, file: str = "", line: int = 0, message: str = "", detail: str = ""
) -> TestFailure:
    """Create a failure with truncated texts."""
    return TestFailure(
        id=id,
        file=file,
        line=line,
        message=_limit_text(message.strip(), 600),
        detail=_limit_text(detail, MAX_DETAIL),
    )


def describe_unloadable(names: Sequence[str]) -> str:
    """Return a note that test files cannot be loaded, "" for none."""
    return f"{len(names)} could not be loaded: {join_names(names, 5)}" if names else ""


def _format_failure(each: TestFailure) -> str:
    where = f"  ({each.file}:{each.line})" if each.file and each.line else ""
    lines = [f"FAILED {each.id}{where}"]
    body = each.detail or each.message
    if each.message and each.detail and each.message.splitlines()[0] not in each.detail:
        body = f"{each.message}\n{each.detail}"
    lines += [f"  {clip(line, 300)}" for line in body.splitlines() if line.strip()]
    return "\n".join(lines)


def _limit_text(text: str, limit: int) -> str:
    """Truncate a text, keeping mostly the end: the end of a traceback is more informative."""
    if len(text) <= limit:
        return text
    return f"{text[: limit // 4]}\n[…]\n{text[-(limit - limit // 4) :]}"
