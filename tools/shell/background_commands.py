"""Background commands that run while the model works on: each has a handle, its output so far, an input, and an end."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from sandbox.errors import UserError
from sandbox.policy.decision import Mode
from sandbox.process.command import Capture, Command, Completed
from sandbox.process.output_capture import Recorder
from tools.shell.environment import shell_environment

if TYPE_CHECKING:
    from sandbox.backends.audit import Audit
    from tools.core.surroundings import Surroundings

MOST = 8
"""Commands running at once: a web application, its database, a watcher; more are forgotten ones."""

KEPT = 16 << 20
"""Bytes of output between two reads that are kept beside the log."""

LIFETIME = 12 * 3600.0
"""Lifetime in seconds: a working day. A forgotten command ends with the session at the latest."""

IDLE = 3600.0
"""Seconds without output, input or a read after which a command counts as forgotten."""

_LOOK_SECONDS = 0.05
"""Polling interval in seconds."""

SEND_SECONDS = 30.0
"""Time limit for a busy command to accept its input."""

_READ = 64 << 10
_DRAINED = 64
"""Reads of the terminal's remaining output at the end: a surviving process could write for ever."""


class BackgroundCommand:
    """One command. Create it, then `start` it.

    line: as the model gave it
    terminal: it has a terminal; else pipes
    sent: the input so far, as far as it decides what the next one does
    """

    def __init__(self, at: Surroundings, name: str, line: str, *, terminal: bool, beside: int) -> None:
        self.name, self.line, self.terminal = name, line, terminal
        self.leader = 0
        self.port = 0
        self.why = ""
        from tools.shell.sent_input import SentInput  # with the shell's parser

        self.sent = SentInput(at.root)
        self._at = at
        self._beside = beside
        self._recorder = Recorder(at.artifacts.folder, KEPT)
        self._news = asyncio.Event()
        self._ended: Completed | UserError | None = None
        self._task: asyncio.Task[None] | None = None
        self._idle: asyncio.TimerHandle | None = None
        self._input = self._given = -1

    @property
    def alive(self) -> bool:
        return self._task is not None and not self._task.done()

    @property
    def state(self) -> str:
        """State in a few words, for the model and for lists."""
        if self.alive:
            return f"running, port {self.port}" if self.port else "running"
        if self.why or self._ended is None:
            return f"ended: {self.why or 'stopped'}"
        if isinstance(self._ended, UserError):
            return f"not started: {self._ended.message}"
        code = self._ended.returncode
        how = f"killed by signal {-code}" if code < 0 else f"exit {code}"
        return "; ".join((f"ended: {how}", *self._ended.noticed))

    @property
    def has_failed(self) -> bool:
        """Whether the command ended unsuccessfully."""
        done = self._ended
        return not self.alive and not (isinstance(done, Completed) and done.returncode == 0)

    def start(self) -> None:
        """Start the command; the running event loop is needed until its end."""
        from sandbox.process.pseudo_terminal import build_terminal_prefix, open_terminal

        before: tuple[str, ...] = ()
        if self.terminal:
            self._input, self._given = open_terminal()
            asyncio.get_running_loop().add_reader(self._input, self._on_readable)
            before = build_terminal_prefix()
        else:
            self._given, self._input = os.pipe()
            os.set_blocking(self._input, False)
        command = Command(
            argv=(*before, "bash", "-c", self.line),
            cwd=self._at.root,
            env={
                **shell_environment(),
                **self._at.variables,
                **({"TERM": "xterm-256color"} if self.terminal else {}),
            },
            stdin=self._given,
            timeout=LIFETIME,
            scope="read-only" if self._at.mode is Mode.READ_ONLY else "workspace",
            started=self._set_leader,
            beside=self._beside,
            resident=True,
        )
        self._task = asyncio.create_task(self._run(command))
        self._restart_idle_timer()

    async def send(self, text: str) -> bool:
        """Write to the command's input; False if it does not accept all of it within `SEND_SECONDS`.

        Ctrl-D (U+0004) at the end of a text closes an input that is a pipe.
        """
        self._restart_idle_timer()
        self.sent.add(text)
        closes = not self.terminal and text.endswith("\x04")
        until = asyncio.get_running_loop().time() + SEND_SECONDS
        rest = memoryview(text.removesuffix("\x04").encode() if closes else text.encode())
        while rest and self.alive and self._input >= 0:
            try:
                rest = rest[os.write(self._input, rest) :]
            except BlockingIOError:  # the buffer is full: the command is busy
                if asyncio.get_running_loop().time() > until:
                    return False
                await asyncio.sleep(_LOOK_SECONDS)
            except OSError:  # it closed its input
                return False
        if closes and self._input >= 0:
            os.close(self._input)
            os.close(self._given)
            self._input = self._given = -1
        return not rest

    async def read_new_output(self, seconds: float) -> Capture:
        """Return the output since the last call, waiting up to `seconds` for the first, and a moment for the rest."""
        self._restart_idle_timer()
        if self.alive and not self._news.is_set():
            with suppress(TimeoutError):
                async with asyncio.timeout(seconds):
                    await self._news.wait()
        if self.alive:
            await asyncio.sleep(_LOOK_SECONDS)
        self._news.clear()
        finished, self._recorder = self._recorder.finish(), Recorder(self._at.artifacts.folder, KEPT)
        return finished

    async def wait_for_port(self, port: int, seconds: float) -> bool:
        """Wait until a process listens on a port in the command's network, it ends, or the time is over."""
        from sandbox.network.port_probe import is_listening

        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self.alive:
                    if self.leader and is_listening(self._find_network_process(), port):
                        self.port = port
                        return True
                    await asyncio.sleep(_LOOK_SECONDS)
        return False

    async def stop(self, why: str = "") -> None:
        """Stop the command and all its children; safe to call twice."""
        if self._task is not None and not self._task.done():
            self.why = self.why or why
            self._task.cancel()
            await asyncio.wait([self._task])

    async def close(self) -> None:
        """Stop the command, and discard its unread output."""
        await self.stop("the session ended, or its mode was changed")
        self._recorder.discard()

    def _set_leader(self, leader: int) -> None:
        self.leader = leader

    def _find_network_process(self) -> int:
        """Return a process in the command's own network: in bubblewrap that of the child."""
        from sandbox.network.netns_join import find_first_child

        return (find_first_child(self.leader) if self._at.sandbox.name == "bubblewrap" else 0) or self.leader

    async def _run(self, command: Command) -> None:
        try:
            self._ended = await self._at.sandbox.run(command, None if self.terminal else self._record_output)
            if self._ended.ended == "timeout":
                self.why = "it ran for half a day"
            if self.terminal and self._ended.stdout.total:  # written before it had its terminal
                self._record_output(self._ended.stdout.head)
        except UserError as error:  # it cannot be started
            self._ended = error
        finally:
            self._release_descriptors()

    def _record_output(self, chunk: bytes) -> None:
        self._recorder.feed(chunk)
        self._news.set()
        self._restart_idle_timer()

    def _on_readable(self) -> None:
        if not self._read_chunk():
            asyncio.get_running_loop().remove_reader(self._input)

    def _read_chunk(self) -> bool:
        """Read once from the terminal; return whether there may be more."""
        try:
            chunk = os.read(self._input, _READ)
        except BlockingIOError:
            return True
        except OSError:  # EIO: no process has the other end open any more
            return False
        if chunk:
            self._record_output(chunk)
        return bool(chunk)

    def _restart_idle_timer(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
        loop = asyncio.get_running_loop()
        self._idle = loop.call_later(IDLE, self._stop_idle_command) if self.alive else None

    def _stop_idle_command(self) -> None:
        self.why = f"nothing happened for {IDLE / 60:g} minutes"
        if self._task is not None:
            self._task.cancel()

    def _release_descriptors(self) -> None:
        if self._idle is not None:
            self._idle.cancel()
        self._news.set()
        if self._input >= 0:
            if self.terminal:
                asyncio.get_running_loop().remove_reader(self._input)
                os.close(self._given)  # so that reading ends
                self._given = -1
                for _ in range(_DRAINED):
                    if not self._read_chunk():
                        break
            os.close(self._input)
        if self._given >= 0:
            os.close(self._given)
        self._input = self._given = -1


class BackgroundCommands:
    """The background commands of a session, including ended ones, whose last output may be requested.

    watched: audit of the guarded paths since the last call, while any command runs
    """

    def __init__(self) -> None:
        self._all: dict[str, BackgroundCommand] = {}
        self.watched: Audit | None = None

    def __iter__(self) -> Iterator[BackgroundCommand]:
        return iter(self._all.values())

    @property
    def running_commands(self) -> list[BackgroundCommand]:
        return [each for each in self if each.alive]

    @property
    def leader(self) -> int:
        """Leader of a running command, whose network others may share; 0 if there is none."""
        return next((each.leader for each in self.running_commands if each.leader), 0)

    def get(self, name: str) -> BackgroundCommand | None:
        return self._all.get(name)

    def start(self, at: Surroundings, line: str, *, terminal: bool) -> BackgroundCommand:
        """Start another command, in the network of those that run."""
        made = BackgroundCommand(at, f"p{len(self._all) + 1}", line, terminal=terminal, beside=self.leader)
        self._all[made.name] = made
        made.start()
        return made

    async def close(self) -> None:
        """Stop all commands. Their names stay reserved, so that none is mistaken for another."""
        for each in self:
            await each.close()
