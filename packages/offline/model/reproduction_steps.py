"""A bug that no test shows yet: its reproduction is a test of the project while the repair is searched."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from packages.offline.model.turn_steps import Step, get_report
from sandbox.lazy_dataclass import dataclass

NOTHING_FAILS = ("passed", "no-tests", "no-runner", "unverified")
"""Outcomes of a suite in which no test shows a bug."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ReproductionTest:
    """The test of a turn, as its steps show it.

    made: what the tool `reproduce` gave: script, path of its test, whether it is kept; None if nothing
    written: the step that wrote the test; runs: of the tests, from the first on in which what is to be mended fails
    """

    made: Mapping[str, Any] | None
    written: Step | None
    runs: Sequence[Step]
    is_removed: bool

    @classmethod
    def from_steps(cls, steps: Sequence[Step]) -> ReproductionTest:
        """Read the steps of a turn."""
        made = next((step.data["reproduction"] for step in steps if step.data.get("reproduction")), None)
        path = made["test"] if made is not None else None
        written = next(
            (s for s in steps if s.action.tool == "write" and s.action.arguments.get("path") == path), None
        )
        after = steps if written is None else steps[list(steps).index(written) + 1 :]
        return cls(
            made=made,
            written=written,
            runs=[step for step in after if step.action.tool == "run_tests"],
            is_removed=any(step.action.tool == "apply_patch" for step in after),
        )

    @property
    def has_to_go(self) -> bool:
        """Whether the test is in the project and is not to stay there."""
        is_there = self.written is not None and not self.written.result.failed and not self.is_removed
        return is_there and self.made is not None and not self.made.get("keep")

    @property
    def removal(self) -> str:
        """The patch that removes the test."""
        assert self.made is not None
        return f"*** Begin Patch\n*** Delete File: {self.made['test']}\n*** End Patch"

    @property
    def fails(self) -> bool:
        """Whether it fails among the project's tests."""
        return bool(self.runs) and get_report(self.runs[0]).get("outcome") == "failed"


def should_reproduce(prompt: str) -> bool:
    """Return whether a prompt holds code of a report."""
    from packages.offline.reproduction.report.extract import extract_report

    return extract_report(prompt).has_code


def has_reproduction_target(search: Step | None) -> bool:
    """Return whether the search of an earlier turn was for a reproduction, which is no test any more."""
    targets = search.action.arguments.get("targets", ()) if search is not None else ()
    return any("test_reproduction" in str(each) for each in targets)
