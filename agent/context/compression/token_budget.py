"""How much of a model's window each part of a history may fill, and when it is shortened."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Shares:
    """Tokens of the history, whatever the window. Every further step pays for all of them again, and answers get
    worse with length, so a large window is no reason to fill it. Measured on real runs: see docs/context.md.

    recent: the newest steps up to this size stay whole; batch: so much more is gathered before it is folded
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
        """What no request may pass: the window without what the answer needs."""
        return self.window - min(max(self.window // 8, 1_000), 16_000)

    @property
    def history_tokens(self) -> int:
        """For the history."""
        return max(self.hard_limit - self.fixed, 1_000)

    @property
    def recent_tokens(self) -> int:
        return min(self.shares.recent, self.history_tokens // 6)

    @property
    def batch_tokens(self) -> int:
        return min(self.shares.batch, self.history_tokens // 4)

    @property
    def past_tokens(self) -> int:
        """The records of the past may fill this before they are summed up."""
        return max(self.history_tokens // 4, 300)
