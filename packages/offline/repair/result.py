"""Result of a repair: fixes, suspicious places, and the reason when there is nothing to show."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from enum import StrEnum
from typing import Any

from packages.offline.repair.localize.coverage_spectrum import SliceStep
from packages.offline.repair.localize.suspicious_place import SuspiciousPlace
from sandbox.lazy_dataclass import dataclass

# A fix with less confidence is doubtful: it may only fit the tests. `patchwright repair` shows it and does
# not write it, the offline model does not commit it.
LOW = 0.5


class Outcome(StrEnum):
    """Outcome of a repair."""

    FIXED = "fixed"
    PARTLY_FIXED = "partly-fixed"
    NOT_FOUND = "not-found"
    ALL_PASS = "all-pass"
    NO_TESTS = "no-tests"
    IMPORT_ERROR = "import-error"
    SYNTAX_ERROR = "syntax-error"
    UNSTEADY = "unsteady"
    NEEDS_NETWORK = "needs-network"
    NOT_COVERED = "not-covered"
    TEST_IN_DOUBT = "test-in-doubt"
    CANNOT_RUN = "cannot-run"


@dataclass(frozen=True, slots=True, kw_only=True)
class Fix:
    """One change that made tests pass.

    old, new: whole lines, `old` being unique in the file once the fixes before it are applied
    why: the error, as part of a sentence that names the place
    tests: the failing tests that pass with it
    confidence: from 0 to 1, the probability that it is right and does not only fit the tests
    doubt: why it may be wrong though the tests pass, "" where nothing is known
    own_work: names fresh work of a person that makes the tests fail: this change takes it back, or is a rival of
        the one that does. It is written only if the person says so after seeing it. "" for none
    """

    path: str
    line: int
    function: str
    old: str
    new: str
    template: str
    why: str
    tests: tuple[str, ...]
    confidence: float
    doubt: str = ""
    own_work: str = ""

    @property
    def is_sure(self) -> bool:
        """Whether it may be written unasked."""
        return self.confidence >= LOW and not self.own_work

    def as_data(self) -> dict[str, Any]:
        names = (
            "path",
            "line",
            "function",
            "old",
            "new",
            "template",
            "why",
            "confidence",
            "doubt",
            "own_work",
        )
        return {**{name: getattr(self, name) for name in names}, "tests": list(self.tests)}


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairResult:
    """Findings about the failing tests.

    reason: explanation of `outcome`, in words
    alternatives: other patches (each of one or more edits) that pass the same tests as one of the fixes, next
    best first; each in place of that fix, none run against the whole suite. Before them several changes at
    once that fixed some tests of a fault and not the rest, with those on top of them
    failing: ids of the tests that failed before; left: those without a fix
    suspects: the most suspicious statements for the remaining tests, or of the first failure
    cpu: CPU seconds that the workers used, without this process
    why: a failing test, and the statements behind the values at which it failed, last first; only of a
    ranking
    checked: tests that every fix was checked against; unsteady: those that were left out of it
    """

    outcome: Outcome
    reason: str
    fixes: tuple[Fix, ...] = ()
    alternatives: tuple[tuple[Fix, ...], ...] = ()
    failing: tuple[str, ...] = ()
    left: tuple[str, ...] = ()
    messages: Mapping[str, str]
    suspects: Sequence[SuspiciousPlace] = ()
    why: tuple[str, tuple[SliceStep, ...]] = ("", ())
    checked: int = 0
    unsteady: tuple[str, ...] = ()
    tried: int = 0
    seconds: float = 0.0
    cpu: float = 0.0

    def as_data(self) -> dict[str, Any]:
        """Return JSON-able data, for views and models inside this process."""
        return {
            "outcome": str(self.outcome),
            "reason": self.reason,
            "fixes": [fix.as_data() for fix in self.fixes],
            "alternatives": [[fix.as_data() for fix in each] for each in self.alternatives],
            "failing": list(self.failing),
            "left": list(self.left),
            "why": failure_trace_to_data(self),
            "suspects": [suspect_to_data(each) for each in self.suspects[:10]],
            "checked": self.checked,
            "unsteady": list(self.unsteady),
            "tried": self.tried,
            "seconds": round(self.seconds, 2),
        }


def failure_trace_to_data(result: RepairResult) -> dict[str, Any]:
    test, steps = result.why
    return {"test": test, "steps": [asdict(each) for each in steps]}


def format_failure_trace(result: RepairResult) -> list[str]:
    """Return the trace of a failure in lines, from the failing line back to the statements that made the values."""
    test, steps = result.why
    if not steps:
        return []
    lines = [f"why {test} fails, from the failure back:"]
    for step in steps:
        values = ", ".join(f"{name} = {value}" for name, value in step.values.items())
        lines.append(f"  {step.path}:{step.line}  {step.code[:100]}" + (f"   ({values})" if values else ""))
    return lines


def suspect_to_data(suspect: SuspiciousPlace) -> dict[str, Any]:
    names = ("path", "line", "end_line", "function", "code", "score", "failing", "passing")
    return {name: getattr(suspect, name) for name in names}
