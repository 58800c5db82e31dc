"""Recorder of gateway activity as events of the session's log."""

from __future__ import annotations

from dataclasses import field
from typing import Literal

from agent.events import ActionEvent, DecisionEvent, ObservationEvent, PlanEvent, SnapshotEvent
from agent.session.log import Session
from sandbox.lazy_dataclass import dataclass
from sandbox.policy.decision import Decision
from sandbox.policy.effects import Effect
from tools.core.action import Action, Observation
from tools.core.workspace import Workspace


@dataclass(slots=True, kw_only=True)
class LogRecorder:
    """Recorder of the gateway's activity in the session log."""

    session: Session
    workspace: Workspace
    _plan: list[tuple[str, str]] = field(default_factory=list)

    def record_action(self, action: Action, effect: Effect) -> None:
        self.session.append(
            ActionEvent(
                call=action.id,
                tool=action.tool,
                effect=effect.kind,
                paths=list(effect.paths),
                followed=bool(effect.argv),
                within=action.within or None,
                arguments=dict(action.arguments) if action.within else None,
            )
        )

    def record_decision(self, action: Action, decision: Decision, by: str) -> None:
        self.session.append(
            DecisionEvent(
                call=action.id,
                verdict=decision.verdict,
                reason=decision.reason,
                by="person" if by == "person" else "policy",
            )
        )

    def record_observation(self, action: Action, observation: Observation, seconds: float) -> None:
        self.session.append(
            ObservationEvent(
                call=action.id,
                tool=action.tool,
                text=observation.text,
                data=dict(observation.data),
                ref=observation.ref,
                failed=observation.failed,
                seconds=round(seconds, 4),
            )
        )
        items: list[tuple[str, str]] = [(item.text, item.status) for item in self.workspace.plan]
        if items != self._plan:
            self._plan = items
            self.session.append(PlanEvent(items=items))

    def record_snapshot(self, tree: str, when: Literal["before", "after"]) -> None:
        self.session.append(SnapshotEvent(tree=tree, when=when))
