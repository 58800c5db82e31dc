"""Untrusted text cannot steer a terminal, nor hide from its reader."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cli.render.inert import inert


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text\twith tab\nand line", "plain text\twith tab\nand line"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("\x9b31m", "\\x9b31m"),
        ("over\rwritten\b\x07", "over\\x0dwritten\\x08\\x07"),
        ("windows\r\nline", "windows\nline"),
        ("if access\u202e(level)", "if access\\u202e(level)"),
        ("zero\u200bwidth \ufeffbom \U000e0041tag", "zero\\u200bwidth \\ufeffbom \\U000e0041tag"),
        ("lone \udc80 surrogate", "lone \\udc80 surrogate"),
        ("café naïve 漢字 😀 👩\u200d💻 ❤\ufe0f", "café naïve 漢字 😀 👩\u200d💻 ❤\ufe0f"),
        ("hidden\u200djoiner", "hidden\\u200djoiner"),
    ],
)
def test_what_could_steer_or_deceive_is_spelled_out(text: str, shown: str) -> None:
    assert inert(text) == shown


@given(st.text())
@example("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\")
def test_no_control_character_survives_and_nothing_is_lost(text: str) -> None:
    shown = inert(text)
    assert not [c for c in shown if unicodedata.category(c) in ("Cc", "Cs") and c not in "\t\n"]
    shown.encode()
    assert inert(shown) == shown
    assert len(shown) >= len(text.replace("\r\n", "\n"))
