"""Untrusted text cannot steer a terminal, nor hide from its reader."""

from __future__ import annotations

import json
import unicodedata

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from sandbox.sanitize import LONGEST_LINE, quote_name, sanitize_for_approval, sanitize_json, sanitize_text

WOMAN_WITH_LAPTOP = "\U0001f469\u200d\U0001f4bb"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain text\twith tab\nand line", "plain text\twith tab\nand line"),
        ("\x1b[31mred", "\\x1b[31mred"),
        ("\x9b31m", "\\x9b31m"),
        ("\x1b]52;c;aGk=\x07", "\\x1b]52;c;aGk=\\x07"),
        ("\x90dcs\x9c \x9dosc \x9epm \x9fapc \x98sos", "\\x90dcs\\x9c \\x9dosc \\x9epm \\x9fapc \\x98sos"),
        ("over\rwritten\b\x07\x0b\x0c", "over\\x0dwritten\\x08\\x07\\x0b\\x0c"),
        ("windows\r\nline", "windows\nline"),
        ("if access\u202e(level)", "if access<U+202E>(level)"),
        ("\u2066a\u2069 \u061c \u200e\u200f", "<U+2066>a<U+2069> <U+061C> <U+200E><U+200F>"),
        ("zero\u200bwidth \ufeffbom \U000e0041tag", "zero<U+200B>width <U+FEFF>bom <U+E0041>tag"),
        ("\u2028 \u2029 \ufff9 soft\xadhyphen \u3164", "<U+2028> <U+2029> <U+FFF9> soft\\xadhyphen <U+3164>"),
        ("braille\u2800blank private\ue000use \uffff", "braille<U+2800>blank private<U+E000>use <U+FFFF>"),
        ("smuggled\ufe00\U000e0101", "smuggled<U+FE00><U+E0101>"),
        ("lone \udc80 surrogate", "lone <U+DC80> surrogate"),
        (
            f"café naïve 漢字 😀 {WOMAN_WITH_LAPTOP} ❤\ufe0f 1\ufe0f\u20e3",
            f"café naïve 漢字 😀 {WOMAN_WITH_LAPTOP} ❤\ufe0f 1\ufe0f\u20e3",
        ),
        ("hidden\u200djoiner a\ufe0f", "hidden<U+200D>joiner a<U+FE0F>"),
        ("e\u0301", "e\u0301"),
        ("e" + "\u0301" * 6, "e" + "\u0301" * 4 + "<U+0301><U+0301>"),
    ],
)
def test_what_could_steer_or_deceive_is_spelled_out(text: str, shown: str) -> None:
    assert sanitize_text(text) == shown.replace("\\xad", "<U+00AD>")


@pytest.mark.slow
@given(st.text())
@example("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\")
def test_no_hidden_character_survives_and_nothing_is_lost(text: str) -> None:
    shown = sanitize_text(text)
    assert not [c for c in shown if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") and c not in "\t\n"]
    shown.encode()
    assert sanitize_text(shown) == shown
    assert len(shown) >= len(text.replace("\r\n", "\n"))


def test_an_overlong_line_is_clipped_and_says_so() -> None:
    shown = sanitize_text("first\n" + "x" * 1_000_000 + "\nlast")
    assert shown.startswith("first\nxxx")
    assert shown.endswith(f"[… {1_000_000 - LONGEST_LINE:,} more characters]\nlast")
    assert len(shown) < LONGEST_LINE + 100
    assert (
        sanitize_text("x" * 1_000_000)
        == "x" * LONGEST_LINE + f"[… {1_000_000 - LONGEST_LINE:,} more characters]"
    )


@given(st.text())
def test_what_is_to_be_agreed_to_is_shown_whole_and_unambiguous(text: str) -> None:
    shown = sanitize_for_approval(text)
    hidden = [
        c for c in shown if (c.isspace() and c != " ") or unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp")
    ]
    assert [c for c in hidden if c != "\n"] == []


def test_what_is_to_be_agreed_to_is_never_cut() -> None:
    command = "echo " + "x" * 50_000 + "; rm -rf ~"
    assert sanitize_for_approval(command) == command
    assert sanitize_for_approval("rm -rf a\u00a0b\t\r\n") == "rm -rf a<U+00A0>b\\t\\x0d\n"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("src/cart.py", "src/cart.py"),
        ("with space.py", "with space.py"),
        ("naïve.py", "naïve.py"),
        ("a\nnote: allowed", '"a\\nnote: allowed"'),
        ("a\x1b[2J", '"a\\x1b[2J"'),
        (" edge ", '" edge "'),
        ('say "hi"\n', '"say \\"hi\\"\\n"'),
    ],
)
def test_a_name_stays_on_one_line(text: str, shown: str) -> None:
    assert quote_name(text) == shown


@pytest.mark.slow
@given(st.text())
@example("\x7f\x9b\u202e\U000e0041")
def test_json_keeps_its_value_and_shows_no_control_character(text: str) -> None:
    line = sanitize_json(json.dumps(text, ensure_ascii=False))
    assert json.loads(line) == text
    assert not [c for c in line if unicodedata.category(c) == "Cc" or c in "\u202e\u2066\u200b\U000e0041"]
