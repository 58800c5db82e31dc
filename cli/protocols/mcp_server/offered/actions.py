"""Actions of a call, through the same gateway as a model's: judged, asked about, run in the sandbox, redacted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from agent.turn.runtime import Runtime
from tools.core.action import Action, Observation


async def run_action(runtime: Runtime, tool: str, arguments: Mapping[str, Any]) -> Observation:
    """Run one action and return its observation. Raises UserError if the disk is full."""
    action = Action(id=f"call-{runtime.session.id}", tool=tool, arguments=dict(arguments))
    [observation] = await runtime.loop.gateway.run([action])
    return observation
