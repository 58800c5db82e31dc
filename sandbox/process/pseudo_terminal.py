"""A pseudo-terminal for a resident command: both ends, and the prefix that makes it the controlling terminal."""

from __future__ import annotations

import os

from sandbox.process.exec_shim import build_exec_prefix

ROWS, COLUMNS = 40, 120
"""As of a user's window: programs wrap and page by it."""


def open_terminal() -> tuple[int, int]:
    """Return (our end, the command's end). Both are closed by the caller."""
    import fcntl
    import struct
    import termios

    ours, theirs = os.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
    os.set_blocking(ours, False)
    return ours, theirs


def build_terminal_prefix() -> tuple[str, ...]:
    """Return a prefix for an argv whose standard input is a terminal: that becomes its output too, and its
    controlling terminal, so that Ctrl-C reaches the foreground process: also if the keys' signals were
    ignored where we were started (a shell does that for `patchwright run … &` in a script), which every
    child would inherit."""
    return build_exec_prefix(_TAKE)


_TAKE = """
import fcntl, termios, _signal
for each in (_signal.SIGINT, _signal.SIGQUIT, _signal.SIGTSTP):
    _signal.signal(each, _signal.SIG_DFL)
try:
    os.setsid()
except OSError:
    pass
try:
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
except OSError:
    pass
os.dup2(0, 1)
os.dup2(0, 2)
"""
