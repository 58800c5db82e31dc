"""Recorder of gateway activity as events of the session's log."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Literal

from agent.events import ActionEvent, DecisionEvent, ObservationEvent, PlanEvent, SnapshotEvent, Steer
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
        if observation.pictures:
            self._record_pictures(action, observation.pictures)
        items: list[tuple[str, str]] = [(item.text, item.status) for item in self.workspace.plan]
        if items != self._plan:
            self._plan = items
            self.session.append(PlanEvent(items=items))

    def _record_pictures(self, action: Action, pictures: Sequence[bytes]) -> None:
        """Keep the pictures of a result, and add them behind the batch: no provider takes them in a result."""
        from agent.session.images import keep_pictures

        names = keep_pictures(pictures, self.session.folder)
        left = len(pictures) - len(names)
        text = f"[pictures of the result of {action.tool}: {len(names)}" + (
            f"; {left} not usable]" if left else "]"
        )
        self.session.append(Steer(text=text, by="harness", images=names))

    def record_snapshot(self, tree: str, when: Literal["before", "after"]) -> None:
        self.session.append(SnapshotEvent(tree=tree, when=when))
