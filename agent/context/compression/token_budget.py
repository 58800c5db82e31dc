"""Token budgets of the parts of a history, and the sizes at which it is compacted."""

from __future__ import annotations

from agent.session_settings import DEFAULT_CONTEXT, ContextSettings
from sandbox.lazy_dataclass import dataclass

LEAST_WINDOW = 1_600
"""Tokens of the smallest window for which the room for the answer is its fourth part: in less no work fits."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Parts of one window, in tokens. `fixed`: system prompt and tools."""

    window: int
    fixed: int = 0
    settings: ContextSettings = DEFAULT_CONTEXT

    @property
    def hard_limit(self) -> int:
        """Upper limit of a request: the window without the room for the answer."""
        room = min(max(self.window // 8, 1_000), 16_000)
        return self.window - (min(room, self.window // 4) if self.window >= LEAST_WINDOW else room)

    @property
    def history_tokens(self) -> int:
        """Tokens available for the history."""
        return max(self.hard_limit - self.fixed, 1_000)

    @property
    def recent_tokens(self) -> int:
        return min(self.settings.recent, self.history_tokens // 6)

    @property
    def batch_tokens(self) -> int:
        return min(self.settings.batch, self.history_tokens // 4)

    @property
    def past_tokens(self) -> int:
        """Size of the records of the past beyond which they are summarised."""
        return max(self.history_tokens // 4, 300)
