"""Text that arrives in small pieces."""

from __future__ import annotations

MOST = 4096
"""Pieces that are kept apart: joining them all costs little as seldom as this."""


class TextPieces(list[str]):
    """List of strings for `join`, which joins itself now and then: each short string takes 50 bytes beside its text."""

    def append(self, piece: str) -> None:
        """Add a piece."""
        super().append(piece)
        if len(self) >= MOST:
            self[:] = ["".join(self)]
