"""Result of a reproduction, as it is shown, kept in a session and compared after a fix."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from enum import StrEnum
from typing import Any

from packages.offline.reproduction.classification import Failure, Rejection
from packages.offline.reproduction.report.report_fields import Report
from sandbox.lazy_dataclass import dataclass


class State(StrEnum):
    """States of the machine; the last two end it."""

    EXTRACT = "extract"
    LOCATE = "locate"
    WRITE = "write"
    RUN = "run"
    CLASSIFY = "classify"
    MINIMISE = "minimise"
    CONFIRM = "confirm"
    REPRODUCED = "reproduced"
    NOT_REPRODUCED = "not-reproduced"


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """A step of the machine. detail: what decided it"""

    state: State
    detail: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reproduction:
    """Outcome of the machine.

    script: the file that fails, "" if there is none; failure: why it fails
    places: functions of the project that it runs among the suspected ones, "path:line name"
    rejections: of the drafts, in their order; trail: the states that were passed
    origin: "report" or "model"; runs: processes started; seconds: of wall time
    """

    outcome: State
    report: Report
    script: str = ""
    failure: Failure | None = None
    places: Sequence[str] = ()
    suspects: Sequence[str] = ()
    rejections: Sequence[Rejection] = ()
    trail: Sequence[Transition] = ()
    origin: str = "report"
    python: str = ""
    runs: int = 0
    seconds: float = 0.0
    reason: str = ""
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def is_reproduced(self) -> bool:
        return self.outcome is State.REPRODUCED

    def as_data(self) -> dict[str, Any]:
        """Return the result as JSON data."""
        failure = self.failure
        return {
            "outcome": str(self.outcome),
            "reason": self.reason,
            "script": self.script,
            "failure": {"kind": failure.kind, "detail": failure.detail} if failure else None,
            "places": list(self.places),
            "suspects": list(self.suspects),
            "rejected": [{"reason": each.reason, "detail": each.detail} for each in self.rejections],
            "states": [{"state": str(each.state), "detail": each.detail} for each in self.trail],
            "origin": self.origin,
            "runs": self.runs,
            "seconds": round(self.seconds, 1),
            "report": self.report.as_data(),
        }

    def format_text(self) -> str:
        """Return the result for a person."""
        lines = [f"{self.outcome}: {self.reason}"]
        if self.places:
            lines.append(f"runs through: {', '.join(self.places[:3])}")
        if self.script:
            lines += ["", self.script.rstrip(), ""]
        if not self.is_reproduced:
            for each in self.rejections[:6]:
                lines.append(f"  tried: {each.reason}{f' ({each.detail})' if each.detail else ''}")
            if self.suspects:
                lines.append(f"suspected: {', '.join(self.suspects[:3])}")
        lines.append(f"{self.runs} runs, {self.seconds:.1f} s")
        return "\n".join(lines)
