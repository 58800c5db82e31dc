"""The terminal tells its background once; its reply is never taken for keys."""

from __future__ import annotations

import os
import pty
from collections.abc import Iterator
from itertools import product

import pytest

from cli.output.diff.diff_colours import choose_diff_colours
from cli.output.style import theme
from cli.tui.input.keyboard import Keyboard
from cli.tui.screen.background_query import QUESTION, BackgroundQuery


@pytest.fixture(autouse=True)
def unknown(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("COLORFGBG", raising=False)
    theme.choose_theme("terminal")
    yield
    theme.forget_background()
    theme.choose_theme("terminal")


def test_a_dark_and_a_light_background_are_told_apart() -> None:
    for reply, background in {
        "\x1b]11;rgb:1e1e/1e1e/2e2e\x1b\\": "dark",
        "\x1b]11;rgb:ff/ff/e0\x07": "light",
        "\x1b]11;rgba:0000/2b2b/3636/ffff\x1b\\": "dark",
    }.items():
        theme.forget_background()
        query = BackgroundQuery()
        assert query.ask() == QUESTION
        assert (before := choose_diff_colours()) is not None
        assert before.brings_text, "readable on either"
        assert query.take_reply(f"a{reply}b") == "ab"
        assert theme.get_background() == background
        assert (after := choose_diff_colours()) is not None
        assert not after.brings_text
        assert query.take_reply(reply) == reply, "it was asked only once"


@pytest.mark.parametrize("cut", range(6, 25))
def test_a_reply_in_pieces_is_not_typed(cut: int) -> None:
    reply, query = "\x1b]11;rgb:ffff/ffff/ffff\x1b\\", BackgroundQuery()
    query.ask()
    assert query.take_reply("a" + reply[:cut]) + query.take_reply(reply[cut:] + "b") == "ab"
    assert theme.get_background() == "light"


def test_keys_are_keys_while_no_reply_comes() -> None:
    query = BackgroundQuery()
    query.ask()
    for keys in ("\x1b", "\x1b]", "]11;", "\x1b[A", "text\x1b\x1b"):
        assert query.take_reply(keys) == keys


def test_nothing_is_asked_that_is_known_or_would_not_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, term in product(("dark", "light", "mono"), ("xterm-256color",)):
        monkeypatch.setenv("TERM", term)
        theme.choose_theme(name)
        assert BackgroundQuery().ask() == ""
    theme.choose_theme("terminal")
    monkeypatch.setenv("TERM", "linux")
    assert BackgroundQuery().ask() == ""
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORFGBG", "0;15")
    assert BackgroundQuery().ask() == ""
    assert theme.get_background() == "light"


def test_the_keyboard_reads_the_keys_around_a_reply(monkeypatch: pytest.MonkeyPatch) -> None:
    ours, theirs = pty.openpty()
    try:
        with open(theirs, encoding="utf-8", closefd=False) as stdin:
            monkeypatch.setattr("sys.stdin", stdin)
            query = BackgroundQuery()
            keyboard = Keyboard(lambda: None, query.take_reply)
            os.write(ours, f"{query.ask() and ''}x\x1b]11;rgb:00/00/00\x1b\\y\n".encode())
            assert [each.key for each in keyboard.read_keys()] == ["x", "y", "c-j"]
    finally:
        os.close(ours)
        os.close(theirs)
    assert theme.get_background() == "dark"
