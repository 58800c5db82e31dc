"""Escape counts at once where nothing can follow it, and keys of the kitty protocol are the keys that they name."""

from __future__ import annotations

import os
import pty
import time
import tty
from collections.abc import Iterator
from pathlib import Path

import pytest
from prompt_toolkit.key_binding.key_processor import KeyPress, _Flush

from cli.tui.input.keyboard import KITTY_QUESTION, LONE_ESCAPE, Keyboard
from cli.tui.input.kitty_keys import translate_keys
from tests.support.cli import call
from tests.support.talking import at_rest, leave, log_of, prompts, talk

BLOCK = "touch started; until test -e go; do sleep 0.05; done"


@pytest.mark.parametrize(
    ("sent", "typed"),
    [
        ("\x1b[27u", "\x1b[27u"),
        ("\x1b[27;129u", "\x1b[27u"),  # with Num Lock
        ("\x1b[99;5u", "\x03"),
        ("\x1b[99;133u", "\x03"),
        ("\x1b[99:67;6u", "\x03"),  # with Shift
        ("\x1b[98;3u", "\x1bb"),
        ("\x1b[98;4u", "\x1bB"),
        ("\x1b[13;3u", "\x1b\r"),
        ("\x1b[13;2u", "\x1b[13;2u"),
        ("\x1b[9;2u", "\x1b[Z"),
        ("\x1b[127;3u", "\x1b\x7f"),
        ("\x1b[32;5u", "\x00"),
        ("\x1b[47;5u", "\x1f"),
        ("\x1b[91;5u", "\x1b[27u"),
        ("\x1b[91;3u", ""),  # Alt-[ begins sequences
        ("\x1b[57414u", "\r"),
        ("\x1b[57419;129u", "\x1b[A"),
        ("\x1b[57428u", ""),  # a media key
        ("\x1b[97;9u", ""),  # with Super
        ("\x1b[A", "\x1b[A"),
        ("\x1b[1;129A", "\x1b[A"),
        ("\x1b[1;5D", "\x1b[1;5D"),
        ("\x1b[5;129~", "\x1b[5~"),
        ("\x1b[P", "\x1bOP"),
        ("\x1b[200~text\x1b[201~", "\x1b[200~text\x1b[201~"),
        ("ä€日x", "ä€日x"),
    ],
)
def test_keys_are_translated_whole_and_in_pieces(sent: str, typed: str) -> None:
    assert translate_keys(sent) == (typed, "")
    for cut in range(2, len(sent)):
        first, held = translate_keys(sent[:cut])
        assert first + translate_keys(held + sent[cut:])[0] == typed


class PtyKeyboard:
    """A keyboard on a terminal of its own."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self.sent: list[str] = []
        self.keyboard = Keyboard(lambda: None, send=self.sent.append)

    def read(self, typed: str) -> list[KeyPress]:
        os.write(self._descriptor, typed.encode())
        return self.keyboard.read_keys()


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> Iterator[PtyKeyboard]:
    ours, theirs = pty.openpty()
    tty.setraw(theirs)
    with os.fdopen(theirs, encoding="utf-8") as stdin:
        monkeypatch.setattr("sys.stdin", stdin)
        yield PtyKeyboard(ours)
    os.close(ours)


def list_keys(pressed: list[KeyPress]) -> list[str]:
    return ["flush" if each is _Flush else str(getattr(each.key, "value", each.key)) for each in pressed]


def test_an_escape_ends_after_50_ms_where_no_other_key_belongs_to_it(keys: PtyKeyboard) -> None:
    assert LONE_ESCAPE <= 0.05
    for final, expected in ((False, ["escape"]), (True, ["escape", "flush"])):
        keys.keyboard.is_escape_final = lambda final=final: final
        assert keys.read("\x1b") == []
        time.sleep(LONE_ESCAPE)
        assert list_keys(keys.keyboard.flush_keys()) == expected
        assert list_keys(keys.read("b")) == ["b"] if final else ["flush", "b"]
    assert list_keys(keys.read("\x1bb")) == ["escape", "b"], "Alt and a key are still one"


def test_the_protocol_is_used_where_the_terminal_knows_it_and_ended(keys: PtyKeyboard) -> None:
    assert keys.keyboard.ask_kitty_keys() == KITTY_QUESTION
    assert list_keys(keys.read("a\x1b[?0ub")) == ["a", "b"]
    assert keys.sent == ["\x1b[>1u"]
    assert list_keys(keys.read("\x1b[27ub")) == ["escape", "flush", "b"]
    assert list_keys(keys.read("\x1b[98;3u")) == ["escape", "b"]
    assert list_keys(keys.read("\x1b[27u\x1b[27u")) == ["escape", "escape"]
    assert list_keys(keys.read("x")) == ["flush", "x"]
    keys.keyboard.is_escape_final = lambda: True
    assert list_keys(keys.read("\x1b[27u")) == ["escape", "flush"]
    keys.keyboard.end_kitty_keys()
    keys.keyboard.end_kitty_keys()
    assert keys.sent == ["\x1b[>1u", "\x1b[<u"]


def test_without_a_reply_keys_are_as_they_were(keys: PtyKeyboard) -> None:
    keys.keyboard.ask_kitty_keys()
    for typed in ("\x1b[A", "\x1b", "[", "B", "x"):
        last = list_keys(keys.read(typed))
    assert last == ["x"]
    assert keys.sent == []


@pytest.mark.slow
@pytest.mark.parametrize("kitty", [True, False])
def test_escape_stops_at_once_and_what_follows_is_typed(shop: Path, kitty: bool) -> None:
    turns = [{"calls": [call("shell", command=BLOCK)]}, {"text": "I stopped."}]
    with talk(shop, turns, EDITOR="true") as terminal:
        at_rest(terminal)
        assert KITTY_QUESTION.encode() in terminal.raw
        if kitty:
            terminal.type("\x1b[?0u")
            terminal.wait(lambda: b"\x1b[>1u" in terminal.raw)
        escape, control = ("\x1b[27u", "\x1b[{}u") if kitty else ("\x1b", "")
        terminal.type("go\r")
        terminal.wait_beside((shop / "started").exists)
        terminal.type(escape)
        if not kitty:
            time.sleep(0.1)
        terminal.type("/help keys\r")  # sooner than the 0.3 s in which Escape and a key may be one
        terminal.wait("Ctrl-O")
        terminal.wait(lambda: "I stopped." in terminal.everything)  # the help is as long as the screen
        at_rest(terminal)
        if kitty:
            terminal.type("kept" + control.format("103;5"))  # Ctrl-G: the editor has the terminal as it was
            terminal.wait(lambda: terminal.raw.count(b"\x1b[>1u") == 2)
            assert terminal.raw.count(b"\x1b[<u") == 1
            terminal.type(control.format("99;5"))  # Ctrl-C
            at_rest(terminal)
        leave(terminal)
        assert terminal.raw.count(b"\x1b[<u") == terminal.raw.count(b"\x1b[>1u") == 2 * kitty
    assert prompts(shop) == ["go"]
    assert [event["kind"] for event in log_of(shop)].count("interrupt") <= 1
