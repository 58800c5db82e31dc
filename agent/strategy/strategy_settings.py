"""Settings of the strategy of a turn."""

from __future__ import annotations

from dataclasses import field

from sandbox.lazy_dataclass import dataclass
from sandbox.settings_validation import FORBID_UNKNOWN

TAKEN = "taken-attempt"
"""Name of the work of a turn in which a person takes another attempt; it is no strategy."""


CHOSEN_STRATEGY = "strategy-auto"
"""Name of the signal that keeps the strategy that `auto` chose, with its reason: "tree: …"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StrategySettings:
    """How turns are made, and what differs between their attempts.

    name: "single", the loop alone, or another of `agent.strategy.strategy_table`
    budget: of a turn with all that it starts, see `agent.budget.budget_text`; "" for the limits alone
    attempts: how many; models, temperatures, hints: those of the first, second … attempt, then from the first again
    judge: `tree` and `evolve` ask the model of the role `judge` about each failed attempt
    ray: address of a Ray cluster that makes the attempts, "" for this machine; ray_env: variables that they have there
    """

    __pydantic_config__ = FORBID_UNKNOWN

    name: str = "single"
    attempts: int = 3
    budget: str = ""
    models: list[str] = field(default_factory=list)
    temperatures: list[float] = field(default_factory=list)
    hints: list[str] = field(default_factory=list)
    judge: bool = False
    ray: str = ""
    ray_env: list[str] = field(default_factory=list)
