"""A real terminal for tests: the program runs on a pty, and a screen model says what a person would see."""

from __future__ import annotations

import copy
import re
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any

import pexpect
import pyte

from tests.support.cli import PATCHWRIGHT
from tests.support.fork_server import build_terminal_environment, can_fork_start
from tests.support.forked_program import ForkedProgram

PATIENCE = 60.0
"""Seconds to wait for something to appear: a loaded machine is slow, and a pass does not wait for it."""

PASTE_BEGIN, PASTE_END = "\x1b[200~", "\x1b[201~"


class Terminal:
    """A program on a terminal of a given size. Keys go in by `type`, what is seen comes out by `text`."""

    def __init__(
        self,
        argv: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        columns: int = 80,
        rows: int = 24,
    ) -> None:
        self.raw = b""
        self._sent = -1  # how much had been read when the last keys were sent
        self._kept: tuple[dict[int, Any], int, int] | None = None
        self._screen = pyte.HistoryScreen(columns, rows, history=10_000, ratio=0.5)
        self._stream = pyte.ByteStream(self._screen)
        variables = build_terminal_environment(env)
        self._process: ForkedProgram | pexpect.spawn
        if tuple(argv[: len(PATCHWRIGHT)]) == PATCHWRIGHT and can_fork_start(variables, terminal=True):
            words = argv[len(PATCHWRIGHT) :]
            self._process = ForkedProgram(words, cwd=cwd, env=variables, rows=rows, columns=columns)
            return
        self._process = pexpect.spawn(
            argv[0],
            list(argv[1:]),
            cwd=str(cwd),
            env=variables,
            dimensions=(rows, columns),
            timeout=PATIENCE,
        )
        self._process.delaybeforesend = None

    def __enter__(self) -> Terminal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._process.close(force=True)
        except pexpect.ExceptionPexpect:  # killed, and on a busy machine not gone yet
            self._process.wait()

    @property
    def text(self) -> str:
        """What stands on the screen, without trailing spaces and empty lines."""
        return "\n".join(line.rstrip() for line in self._screen.display).rstrip()

    @property
    def screen(self) -> pyte.HistoryScreen:
        """The screen model: cells with their colours."""
        return self._screen

    @property
    def everything(self) -> str:
        """The scrollback and the screen."""
        width = self._screen.columns
        past = ["".join(line[x].data for x in range(width)).rstrip() for line in self._screen.history.top]
        return "\n".join([*past, self.text])

    @property
    def exit_code(self) -> int | None:
        """The exit status, once the program has ended."""
        code = self._process.exitstatus
        return int(code) if code is not None else None

    @property
    def running(self) -> bool:
        """Whether the program has not ended yet."""
        return bool(self._process.isalive())

    @property
    def is_forked(self) -> bool:
        """Whether the program was started by the server of starts."""
        return isinstance(self._process, ForkedProgram)

    @property
    def pid(self) -> int:
        """The program's process."""
        return int(self._process.pid)

    def type(self, keys: str) -> None:
        """Send keys as a keyboard does: Enter is "\\r", Ctrl-C "\\x03"."""
        self._sent = len(self.raw)
        self._process.send(keys)

    def paste(self, text: str) -> None:
        """Paste as a terminal does in bracketed mode."""
        self.type(PASTE_BEGIN + text.replace("\n", "\r") + PASTE_END)

    def wait(self, seen: str | Callable[[], bool]) -> None:
        """Read until a text stands on the screen, or a condition holds of what has been read.

        It may not hold when keys have been sent and nothing has been read since: it would not be waited for what they
        do, and the next keys would come before that, or not, as busy as the machine is.
        """
        holds = (lambda: seen in self.text) if isinstance(seen, str) else seen
        assert self._sent != len(self.raw) or not holds(), (
            f"{seen!r} before the keys did anything:\n{self.text}"
        )
        self._until(seen, holds)

    def wait_beside(self, holds: Callable[[], bool]) -> None:
        """Read until a condition holds that is not seen here: of files, of a log."""
        self._until(holds, holds)

    def _until(self, seen: object, holds: Callable[[], bool]) -> None:
        until = time.monotonic() + PATIENCE
        while not holds():
            if not self._read() and not holds():
                raise AssertionError(f"the program ended without {seen!r}:\n{self.everything}")
            if time.monotonic() > until:
                raise AssertionError(f"waited for {seen!r} and saw:\n{self.everything}")

    def wait_for_end(self) -> int:
        """Read to the end; returns the exit code."""
        until = time.monotonic() + PATIENCE
        while self._read():
            if time.monotonic() > until:
                raise AssertionError(f"still running:\n{self.everything}")
        self._process.wait()
        assert self.exit_code is not None, f"ended by signal {self._process.signalstatus}"
        return self.exit_code

    def resize(self, columns: int, rows: int) -> None:
        """Make the window another size."""
        self._screen.resize(rows, columns)
        self._process.setwinsize(rows, columns)

    def hang_up(self) -> None:
        """The window is closed: the program gets SIGHUP, and nobody reads any more."""
        if isinstance(self._process, ForkedProgram):
            self._process.hang_up()
        else:
            self._process.ptyproc.fileobj.close()

    def _read(self) -> bool:
        try:
            data = self._process.read_nonblocking(65536, timeout=0.05)
        except pexpect.TIMEOUT:
            return True
        except pexpect.EOF:
            return False
        self.raw += data
        for part in re.split(rb"(\x1b\[\?1049[hl])", data):
            if part == b"\x1b[?1049h":  # the model has one screen: the other one is kept here meanwhile
                self._kept = (
                    copy.deepcopy(dict(self._screen.buffer)),
                    self._screen.cursor.x,
                    self._screen.cursor.y,
                )
            elif part == b"\x1b[?1049l" and self._kept is not None:
                buffer, self._screen.cursor.x, self._screen.cursor.y = self._kept
                self._screen.buffer.clear()
                self._screen.buffer.update(buffer)
            else:
                self._stream.feed(part)
        return True
