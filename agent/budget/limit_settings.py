"""Settings of the limits of a turn."""

from __future__ import annotations

from sandbox.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitSettings:
    """Limits of a turn: calls of the model, seconds, dollars, tokens. None: no limit."""

    max_steps: int = 200
    max_time: float = 3600.0
    max_cost: float | None = None
    max_tokens: int | None = None
