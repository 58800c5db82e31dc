"""Settings of the response to actions out of order."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

from sandbox.settings_validation import FORBID_UNKNOWN

Level = Literal["off", "remind", "enforce"]

Guidance = Literal["log", "guide", "enforce"]
"""log: phases are recorded only; guide: the model is informed of each; enforce: withheld effects are refused, too."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DisciplineSettings:
    """Response to misordered actions. `named`: rules with a level of their own; `phases`: see agent.monitor.phases."""

    __pydantic_config__ = FORBID_UNKNOWN

    rules: Level = "remind"
    named: dict[str, Level] = field(default_factory=dict)
    phases: Guidance = "log"

    def get_level(self, rule: str) -> Level:
        """Return the level of a rule."""
        return self.named.get(rule, self.rules)
