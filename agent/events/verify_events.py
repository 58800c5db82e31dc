"""Events of the checks that a user can switch on: requirements, rubric, check of the specification."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from agent.events.event_base import Event


@dataclass(kw_only=True)
class RequirementsEvent(Event):
    """The requirements of a turn: as they are known before its work, or with their results at its end.

    items: each with id, text, kind, check, parent and source; at the end also state ("met", "not met",
    "not checked"), evidence ("executed", "static", "opinion" or "") and detail
    """

    kind: Literal["requirements"] = "requirements"
    stage: Literal["known", "checked"] = "known"
    items: list[dict[str, Any]] = field(default_factory=list)
