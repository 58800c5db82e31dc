"""Settings of the agents that a session may start."""

from __future__ import annotations

from dataclasses import field

from sandbox.lazy_dataclass import dataclass
from sandbox.settings_validation import FORBID_UNKNOWN


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamSettings:
    """How far a session may hand work over to agents.

    delegate: models are offered the tool `delegate` where it may pay
    models: name of the model of an agent, by the agent's name
    parallel: agents at work at the same time; most: agents started in one turn; max_steps: steps of one task
    """

    __pydantic_config__ = FORBID_UNKNOWN

    delegate: bool = True
    parallel: int = 16
    most: int = 64
    max_steps: int = 50
    models: dict[str, str] = field(default_factory=dict)
