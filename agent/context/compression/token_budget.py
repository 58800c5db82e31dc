"""Token budgets of the parts of a history, and the sizes at which it is compacted."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """Token limits of the history, independent of the window.

    Every further step pays for all of them again, and answers get worse with length, so a large window is no
    reason to fill it. Measured on real runs: see docs/context.md.

    recent: the newest steps up to this size stay verbatim; batch: tokens gathered beyond that before folding
    """

    recent: int = 3_000
    batch: int = 8_000


DEFAULT_SHARES = Shares()


@dataclass(frozen=True, slots=True, kw_only=True)
class Budget:
    """Shares of one window, in tokens. `fixed`: system prompt and tools."""

    window: int
    fixed: int = 0
    shares: Shares = DEFAULT_SHARES

    @property
    def hard_limit(self) -> int:
        """Upper limit of a request: the window without the room for the answer."""
        return self.window - min(max(self.window // 8, 1_000), 16_000)

    @property
    def history_tokens(self) -> int:
        """Tokens available for the history."""
        return max(self.hard_limit - self.fixed, 1_000)

    @property
    def recent_tokens(self) -> int:
        return min(self.shares.recent, self.history_tokens // 6)

    @property
    def batch_tokens(self) -> int:
        return min(self.shares.batch, self.history_tokens // 4)

    @property
    def past_tokens(self) -> int:
        """Size of the records of the past beyond which they are summarised."""
        return max(self.history_tokens // 4, 300)
