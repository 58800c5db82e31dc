"""What came of a test run: results that every runner's parser fills in, and their text for the model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from tools.core.text import clip, format_count, join_names

Outcome = Literal["passed", "failed", "no-tests", "no-runner", "broken", "timeout"]
Kind = Literal["passed", "failed", "errors", "skipped", "xfailed"]

MAX_FAILURES = 200
"""Failures kept; a suite that fails as a whole says nothing new after these."""

MAX_DETAILED = 30
"""Of them with details: a report is logged with every run, and stays some 50 KB at most."""

MAX_NAMED = 500
"""Tests that passed, and tests that were not run, which are named; of more only the number is known."""

MAX_DETAIL = 1_600
"""Characters of one failure's detail: a few frames with their source lines."""

SHOWN_IN_FULL = 8
"""Failures shown with detail: more than a model works on at once."""

SHOWN_BY_NAME = 40
"""Further failures listed by id, enough to see which part of the suite they come from."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TestFailure:
    """One test that failed or could not run.

    id: what run_tests takes to run it again
    file, line: where it failed, the innermost place in the project; "" and 0 when unknown
    message: the assertion or exception, first lines
    detail: the few traceback lines that lie in the project
    """

    __test__ = False

    id: str
    file: str = ""
    line: int = 0
    message: str = ""
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Findings:
    """What a parser read out of a report or an output.

    xfailed, xpassed: tests that were expected to fail, and did or did not; deselected: those that were left out
    passed_tests, skipped_tests: ids of those that passed, and of those that were skipped or xfailed, where known
    counted: the numbers are known; if not, only the exit status speaks
    broken: why the tests could not be run or collected, "" if they could
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
    counted: bool = True
    broken: str = ""

    def __add__(self, other: Findings) -> Findings:
        return Findings(
            passed=self.passed + other.passed,
            failed=self.failed + other.failed,
            errors=self.errors + other.errors,
            skipped=self.skipped + other.skipped,
            xfailed=self.xfailed + other.xfailed,
            xpassed=self.xpassed + other.xpassed,
            deselected=self.deselected + other.deselected,
            passed_tests=self.passed_tests + other.passed_tests,
            skipped_tests=self.skipped_tests + other.skipped_tests,
            failures=limit_failures(self.failures + other.failures),
            counted=self.counted or other.counted,
            broken=self.broken or other.broken,
        )


def tally_findings(
    kinds: Iterable[Kind], failures: Sequence[TestFailure] = (), broken: str = "", names: Sequence[str] = ()
) -> Findings:
    """Findings from one verdict for each test. names: the tests' ids, in the order of their verdicts"""
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
    """As many as are kept, the later ones without their details."""
    kept = failures[:MAX_FAILURES]
    return (*kept[:MAX_DETAILED], *(replace(each, detail="") for each in kept[MAX_DETAILED:]))


def limit_names(names: Sequence[str]) -> tuple[str, ...]:
    """The names, or none if they are too many to be logged with every run."""
    return tuple(names) if len(names) <= MAX_NAMED else ()


NOTHING = Findings(counted=False)
"""What a parser says of an output in which it found no test results."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TestReport:
    """One run of a project's tests.

    runner: "pytest", "unittest", "jest", "go", …; "" when none was found
    command: what was run, as a person would type it
    collected: tests that the run knew of, the skipped ones included, the deselected ones not
    xfailed, xpassed: tests that were expected to fail, and did or did not; none of them counts as passed
    deselected: tests that were collected and left out, where the runner says so
    passed_tests, skipped_tests: ids of tests that passed, and of those that were skipped or xfailed; () where these are
        not known or too many
    counted: False when the runner gives no numbers, so that only its exit status speaks
    targets: the ids or paths that the run was limited to; () for the whole suite
    note: one or two sentences for what the numbers do not say (why nothing ran, what is broken)
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
        """The report as plain JSON-able values."""
        data = asdict(self)
        data["failures"] = [asdict(each) for each in self.failures]
        data.update({key: list(getattr(self, key)) for key in ("targets", "passed_tests", "skipped_tests")})
        return data

    def format_text(self) -> str:
        """The report for the model: verdict first, then what to look at, then where the rest is."""
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
    "broken": "BROKEN: tests could not be loaded",
    "timeout": "TIMED OUT",
}


def make_failure(
    id: str, *, file: str = "", line: int = 0, message: str = "", detail: str = ""
) -> TestFailure:
    """A failure whose texts are bounded."""
    return TestFailure(
        id=id,
        file=file,
        line=line,
        message=_limit_text(message.strip(), 600),
        detail=_limit_text(detail, MAX_DETAIL),
    )


def describe_unloadable(names: Sequence[str]) -> str:
    """Says of test files that they are broken, "" for none."""
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
    """The end of a traceback tells more than its beginning, so most of what is kept is the end."""
    if len(text) <= limit:
        return text
    return f"{text[: limit // 4]}\n[…]\n{text[-(limit - limit // 4) :]}"
