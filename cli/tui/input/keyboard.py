"""Keyboard input that loses no key while it passes from one application to another."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

from prompt_toolkit.application import Application
from prompt_toolkit.input.ansi_escape_sequences import ANSI_SEQUENCES
from prompt_toolkit.input.typeahead import get_typeahead
from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.key_binding.key_processor import KeyPress, _Flush
from prompt_toolkit.keys import Keys

from sandbox.lazy_pattern import compile_lazily

ANSI_SEQUENCES["\x1b[27u"] = Keys.Escape  # in the kitty protocol: no other key can follow in its sequence

LONE_ESCAPE = 0.05
"""Seconds without another key after which an Escape is no longer the begin of a sequence."""

_AFTER_ESCAPE = (Keys.Escape, Keys.ControlM)
"""Keys that may follow an Escape later and mean something together with it; any other one is typed by itself."""

KITTY_QUESTION = "\x1b[?u"
"""Whether the terminal knows the kitty keyboard protocol; those that do not stay silent."""

_LENT_ESCAPE = 0.4
"""The same while the keys are lent: those who borrow them ask after half a second, the owner's timer may be late."""


class Keyboard(Vt100Input):
    """prompt_toolkit's terminal input, readable by two applications in turn.

    Between two applications prompt_toolkit restores the terminal's own line editing (cooked mode) for a moment. Keys
    typed then are echoed onto the screen, Enter arrives as another key, and Ctrl-C is a signal that discards the other
    keys.
    """

    def __init__(
        self,
        before: Callable[[], None],
        take_reply: Callable[[str], str] = str,
        send: Callable[[str], object] = str,
    ) -> None:
        """
        before: called when another program is about to get the terminal
        take_reply: returns keys without replies; send: sends a control sequence to the terminal
        """
        super().__init__(sys.stdin)
        self._before = before
        self._take_reply = take_reply
        self._send = send
        self.is_escape_final: Callable[[], bool] = lambda: False
        """Whether no other key means something together with an Escape now: it counts at once."""
        self._is_asked = self._is_unambiguous = (
            False  # whether the terminal knows, and sends, the kitty protocol
        )
        self._begun = ""  # of a sequence whose rest has not come
        self._lent = False
        self._read_at = float("-inf")
        self._escaped = False  # the last key was an Escape by itself

    def read_keys(self) -> list[KeyPress]:
        """Return the keys typed since the last call, without replies of the terminal."""
        self._read_at = time.monotonic()
        self.vt100_parser.feed(self._take_kitty_keys(self._take_reply(self.stdin_reader.read())))
        read, self._buffer = self._buffer, []
        keys: list[KeyPress] = []
        for key in read:
            if self._escaped and key.key not in _AFTER_ESCAPE:
                keys.append(_Flush)  # else the Escape and the key would be Alt and the key
            keys.append(key)
            self._escaped = key.key == Keys.Escape and key.data != _ESCAPE
        return self._finish_escape(keys)

    def flush_keys(self) -> list[KeyPress]:
        """Return an Escape that no key has followed; none while one may.

        An application's timer for the key before may end after the keys were lent: the Escape is not its own.
        """
        wait = _LENT_ESCAPE if self._lent else LONE_ESCAPE
        if time.monotonic() - self._read_at < wait:
            return []
        keys = super().flush_keys()
        self._escaped = self._escaped or any(each.key == Keys.Escape for each in keys)
        return self._finish_escape(keys)

    def ask_kitty_keys(self) -> str:
        """Return the question whether the terminal can send each key by a sequence of its own; it does from then on."""
        self._is_asked = True
        return KITTY_QUESTION

    def end_kitty_keys(self) -> None:
        """Have the terminal send keys as it did before."""
        if self._is_unambiguous:
            self._is_unambiguous = False
            self._send(_KITTY_END)

    def _take_kitty_keys(self, typed: str) -> str:
        """Return what was typed in the encoding of every terminal."""
        if not self._is_asked:
            return typed
        typed, self._begun = self._begun + typed, ""
        if not self._is_unambiguous:
            if match := _KITTY_REPLY.search(typed):
                self._is_unambiguous = True
                self._send(_KITTY_BEGIN)
                typed = typed[: match.start()] + typed[match.end() :]
            elif match := _KITTY_REPLY_BEGUN.search(typed):
                self._begun = match[0]
                return typed[: match.start()]
            else:
                return typed
        from cli.tui.input.kitty_keys import translate_keys  # not for terminals that do not know it

        keys, self._begun = translate_keys(typed)
        return keys

    def _finish_escape(self, keys: list[KeyPress]) -> list[KeyPress]:
        """Add the end of an Escape by itself where it counts at once."""
        if keys and self._escaped and keys[-1].key == Keys.Escape and self.is_escape_final():
            self._escaped = False
            return [*keys, _Flush]
        return keys

    def cooked_mode(self) -> AbstractContextManager[None]:
        """Return a context of the terminal's own line editing, for another program; a no-op while the keys are lent."""
        if self._lent:
            return contextlib.nullcontext()
        self._before()
        return self._lend_terminal()

    @contextlib.contextmanager
    def _lend_terminal(self) -> Iterator[None]:
        """Lend the terminal to another program, which knows nothing of the kitty protocol."""
        was_unambiguous = self._is_unambiguous
        self.end_kitty_keys()
        try:
            with super().cooked_mode():
                yield
        finally:
            if was_unambiguous:
                self._is_unambiguous = True
                self._send(_KITTY_BEGIN)

    @contextlib.contextmanager
    def lend_keys(self, owner: Application[None]) -> Iterator[None]:
        """Let another application of this process read the keys; those left over go to the owner."""
        self._lent = True
        try:
            yield
        finally:
            self._lent = False
            owner.key_processor.feed_multiple(get_typeahead(self))
            owner.key_processor.process_keys()


_ESCAPE = "\x1b"
"""Data of an Escape that may be the beginning of Alt and a key; one of its own sequence is not."""

_KITTY_BEGIN, _KITTY_END = "\x1b[>1u", "\x1b[<u"
"""Push the protocol's first level (Escape, and keys with Ctrl or Alt, have sequences of their own), and pop it."""

_KITTY_REPLY = compile_lazily(r"\x1b\[\?\d+u")
_KITTY_REPLY_BEGUN = compile_lazily(r"\x1b\[(?:\?\d*)?$")
