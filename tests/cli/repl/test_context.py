"""/compact, /context and /state on a real terminal: what fills the window, shortened and taken back."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.cli import call
from tests.support.talking import ask, make_shop, ready, talk


@pytest.mark.slow
def test_the_past_is_shortened_looked_at_and_taken_back(tmp_path: Path) -> None:
    shop = make_shop(tmp_path / "shop")
    turns = [
        {"text": "I look first.", "calls": [call("read", path="cart.py"), call("list")]},
        {"calls": [call("memory", note="the walrus matters")]},
        {"text": "It is a shop."},
    ]
    with talk(shop, turns, "--no-commit", columns=100, rows=40) as terminal:

        def said(line: str, *answers: str) -> None:
            terminal.wait(lambda: ready(terminal))
            ask(terminal, line, answers[0])
            for answer in answers:
                assert answer in terminal.text

        said("/compact", "no past to shorten")
        said("what is this?", "It is a shop.")
        said("/state", "the walrus matters")
        said("/context", "system prompt and tools", "your messages", "outputs of read")
        said("/compact the shop", "context: summary", "/context diff e")
        said("/context", "records of the past", "asked for: the shop")
        said("/context diff", "summary of e", "-")
        said("/context undo", "is taken back")
        said("/context undo", "nothing was shortened")
        said("/context nonsense", "is not known")
        terminal.wait(lambda: ready(terminal))
        terminal.type("/quit\r")
        assert terminal.wait_for_end() == 0
