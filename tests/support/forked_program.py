"""The program on a terminal, from the server of starts: what `pexpect.spawn` is for a real start."""

from __future__ import annotations

import errno
import os
import select
import signal
import termios
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import pexpect

from tests.support.fork_server import find_server, read_number

PATIENCE = 0.5
"""Seconds that a program has to end by itself once its terminal is gone."""


class ForkedProgram:
    """`python -m patchwright ARGUMENTS…` on a terminal of its own. The methods are those of `pexpect.spawn`."""

    def __init__(
        self, arguments: Sequence[str], *, cwd: Path, env: Mapping[str, str], rows: int, columns: int
    ) -> None:
        self.exitstatus: int | None = None
        self.signalstatus: int | None = None
        self._is_open = True
        self._terminal, theirs = os.openpty()
        self._status, status = os.pipe()
        try:
            termios.tcsetwinsize(theirs, (rows, columns))
            find_server(terminal=True).request(arguments, cwd, env, [theirs, theirs, theirs, status])
        finally:
            os.close(theirs)
            os.close(status)
        self.pid = read_number(self._status)

    def isalive(self) -> bool:
        """Return whether it has not ended yet."""
        return not self._wait_for_end(0)

    def wait(self) -> None:
        """Wait for its end."""
        self._wait_for_end(None)

    def send(self, keys: str) -> None:
        """Type."""
        content = keys.encode()
        while content:
            content = content[os.write(self._terminal, content) :]

    def read_nonblocking(self, size: int, timeout: float) -> bytes:
        """Read what it wrote. Raises pexpect.TIMEOUT, and pexpect.EOF once nobody can write any more."""
        if not select.select([self._terminal], [], [], timeout)[0]:
            raise pexpect.TIMEOUT("nothing was written")
        try:
            if content := os.read(self._terminal, size):
                return content
        except OSError as error:  # Linux says so that the other end is closed
            if error.errno != errno.EIO:
                raise
        raise pexpect.EOF("the terminal is closed")

    def setwinsize(self, rows: int, columns: int) -> None:
        """Make the window another size."""
        termios.tcsetwinsize(self._terminal, (rows, columns))

    def hang_up(self) -> None:
        """Close the window."""
        if self._is_open:
            self._is_open = False
            os.close(self._terminal)

    def close(self, force: bool) -> None:
        """Close the window, and kill what does not end by that."""
        self.hang_up()
        if not self._wait_for_end(PATIENCE):
            with suppress(ProcessLookupError):  # it has just ended
                os.kill(self.pid, signal.SIGKILL)
            self._wait_for_end(None)
        if self._status >= 0:
            os.close(self._status)
            self._status = -1

    def _wait_for_end(self, timeout: float | None) -> bool:
        if self.exitstatus is None and self.signalstatus is None:
            if not select.select([self._status], [], [], timeout)[0]:
                return False
            code = os.waitstatus_to_exitcode(read_number(self._status))
            if code < 0:
                self.signalstatus = -code
            else:
                self.exitstatus = code
        return True
