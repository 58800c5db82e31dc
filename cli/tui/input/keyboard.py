"""Keyboard input that loses no key while it passes from one application to another."""

from __future__ import annotations

import contextlib
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

from prompt_toolkit.application import Application
from prompt_toolkit.input.typeahead import get_typeahead
from prompt_toolkit.input.vt100 import Vt100Input
from prompt_toolkit.key_binding.key_processor import KeyPress, _Flush
from prompt_toolkit.keys import Keys

LONE_ESCAPE = 0.05
"""Seconds without another key after which an Escape is no longer the begin of a sequence."""

_AFTER_ESCAPE = (Keys.Escape, Keys.ControlM)
"""Keys that may follow an Escape later and mean something together with it; any other one is typed by itself."""

_LENT_ESCAPE = 0.4
"""The same while the keys are lent: those who borrow them ask after half a second, the owner's timer may be late."""


class Keyboard(Vt100Input):
    """prompt_toolkit's terminal input, readable by two applications in turn.

    Between two applications prompt_toolkit restores the terminal's own line editing (cooked mode) for a moment. Keys
    typed then are echoed onto the screen, Enter arrives as another key, and Ctrl-C is a signal that discards the other
    keys.
    """

    def __init__(self, before: Callable[[], None], take_reply: Callable[[str], str] = str) -> None:
        """before: called when another program is about to get the terminal; take_reply: returns keys without replies"""
        super().__init__(sys.stdin)
        self._before = before
        self._take_reply = take_reply
        self._lent = False
        self._read_at = float("-inf")
        self._escaped = False  # the last key was an Escape by itself

    def read_keys(self) -> list[KeyPress]:
        """Return the keys typed since the last call, without replies of the terminal."""
        self._read_at = time.monotonic()
        self.vt100_parser.feed(self._take_reply(self.stdin_reader.read()))
        keys, self._buffer = self._buffer, []
        if keys and self._escaped:
            self._escaped = False
            if keys[0].key not in _AFTER_ESCAPE:
                return [_Flush, *keys]  # else the Escape and the key would be Alt and the key
        return keys

    def flush_keys(self) -> list[KeyPress]:
        """Return an Escape that no key has followed; none while one may.

        An application's timer for the key before may end after the keys were lent: the Escape is not its own.
        """
        wait = _LENT_ESCAPE if self._lent else LONE_ESCAPE
        if time.monotonic() - self._read_at < wait:
            return []
        keys = super().flush_keys()
        self._escaped = self._escaped or any(each.key == Keys.Escape for each in keys)
        return keys

    def cooked_mode(self) -> AbstractContextManager[None]:
        """Return a context of the terminal's own line editing, for another program; a no-op while the keys are lent."""
        if self._lent:
            return contextlib.nullcontext()
        self._before()
        return super().cooked_mode()

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
