"""Settings of the response to actions out of order."""

from __future__ import annotations

from dataclasses import field
from typing import Literal

from sandbox.lazy_dataclass import dataclass
from sandbox.settings_validation import FORBID_UNKNOWN

Level = Literal["off", "remind", "enforce"]

Chains = Literal["off", "notice", "ask"]
"""notice: the person is told of a chain of actions; ask: it waits for their answer, and is refused without one."""

Guidance = Literal["log", "guide", "enforce"]
"""log: phases are recorded only; guide: the model is informed of each; enforce: withheld effects are refused, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DisciplineSettings:
    """Response to misordered actions, and to chains of them.

    named: rules with a level of their own; phases: see agent.monitor.phases; chains: see agent.monitor.intent
    """

    __pydantic_config__ = FORBID_UNKNOWN

    rules: Level = "remind"
    named: dict[str, Level] = field(default_factory=dict)
    phases: Guidance = "log"
    chains: Chains = "ask"

    def get_level(self, rule: str) -> Level:
        """Return the level of a rule."""
        return self.named.get(rule, self.rules)
