"""The terminal's keys, without a moment in which they are lost or mean something else."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager

from prompt_toolkit.application import Application
from prompt_toolkit.input.typeahead import get_typeahead
from prompt_toolkit.input.vt100 import Vt100Input


class Keyboard(Vt100Input):
    """prompt_toolkit's input of a terminal, which two applications in turn can read from.

    Between two of them prompt_toolkit gives the terminal its own line editing back for a moment. What is typed then
    is echoed onto the screen, its Enter arrives as another key, and its Ctrl-C is a signal that throws the other keys
    away.
    """

    def __init__(self, before: Callable[[], None]) -> None:
        """before: called when another program is about to have the terminal"""
        super().__init__(sys.stdin)
        self._before = before
        self._lent = False

    def cooked_mode(self) -> AbstractContextManager[None]:
        """The terminal's own line editing, for another program; while the keys are lent nothing changes."""
        if self._lent:
            return contextlib.nullcontext()
        self._before()
        return super().cooked_mode()

    @contextlib.contextmanager
    def lend_keys(self, owner: Application[None]) -> Iterator[None]:
        """Another application of this program reads the keys meanwhile; those it leaves over are the owner's."""
        self._lent = True
        try:
            yield
        finally:
            self._lent = False
            owner.key_processor.feed_multiple(get_typeahead(self))
            owner.key_processor.process_keys()
