"""Text in small pieces does not take many times its size."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from agent.model.text_pieces import MOST, TextPieces


@given(st.lists(st.text(max_size=3), max_size=50))
def test_nothing_is_lost(pieces: list[str]) -> None:
    kept = TextPieces()
    for piece in pieces * 200:
        kept.append(piece)
    assert "".join(kept) == "".join(pieces) * 200
    assert len(kept) <= MOST
