"""Events of the checks that a user can switch on: requirements, rubric, check of the specification."""

from __future__ import annotations

from dataclasses import field
from typing import Any, Literal

from agent.events.event_base import Event
from sandbox.lazy_dataclass import dataclass


@dataclass(kw_only=True)
class RequirementsEvent(Event):
    """The requirements of a turn: as they are known before its work, or with their results at its end.

    items: each with id, text, kind, check, parent and source; at the end also state ("met", "not met",
    "not checked"), evidence ("executed", "static", "opinion" or "") and detail
    """

    kind: Literal["requirements"] = "requirements"
    stage: Literal["known", "checked"] = "known"
    items: list[dict[str, Any]] = field(default_factory=list)


@dataclass(kw_only=True)
class SpecCheckEvent(Event):
    """Findings about the task of a turn, before its work.

    findings: each with kind ("contradiction", "impossible", "loophole"), text, places, evidence ("static",
    "opinion") and diff, the proposed correction, "" if there is none
    """

    kind: Literal["spec-check"] = "spec-check"
    findings: list[dict[str, Any]] = field(default_factory=list)


@dataclass(kw_only=True)
class RubricEvent(Event):
    """The rubric of a turn: as it was written before the work, or scored after it.

    items: each with id, text and weight; scored ones also with score (0, 0.5, 1) and reason
    score: weighted mean, None before
    """

    kind: Literal["rubric"] = "rubric"
    stage: Literal["written", "scored"] = "written"
    items: list[dict[str, Any]] = field(default_factory=list)
    score: float | None = None
