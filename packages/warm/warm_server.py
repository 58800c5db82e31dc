"""The warm process: it has the program loaded, and forks itself for each start that fits.

A client (`patchwright/warm_client.py`) connects to a socket in a folder that only the user can enter, and sends a
length, the word `run`, what identifies its program, its arguments and environment. The answer is one byte: G(o), or
C(old): run it yourself. Only after the client's confirmation (A, with its descriptors) is anything forked, so a run
is begun once. From then on the client sends the numbers of signals, a byte each, and is told the run's wait status in
six digits. With the client's end ends its run.
"""

from __future__ import annotations

import fcntl
import os
import selectors
import signal
import socket
import struct
import sys
import time
from contextlib import suppress
from dataclasses import field
from pathlib import Path

from packages.warm.caller_check import OtherProcess, check_caller, check_variables, identify_caller
from packages.warm.forked_run import RunRequest, StreamForm, become_run, read_confirmation, read_request
from packages.warm.loaded_modules import LoadedModules
from patchwright.warm_client import LOST, MOST_DESCRIPTORS, SOCKET, identify_program
from sandbox.fs.private_files import create_private_folder
from sandbox.lazy_dataclass import dataclass

LOCK = "lock"
LARGEST_MESSAGE = 8 << 20
"""Bytes: more than arguments and environment together may have (execve(2): a quarter of the stack's limit)."""
REQUEST_SECONDS = 2.0
"""A client that has not sent its request, or its confirmation, by then is given up."""

_STOPS = (signal.SIGTSTP, signal.SIGSTOP)


class AlreadyThere(Exception):
    """Another warm process of the user's is there."""


@dataclass(slots=True, eq=False)
class _Client:
    """A connection. run: process that works for it; request: that waits for its confirmation"""

    link: socket.socket
    process: int
    since: float
    received: list[int] = field(default_factory=list)
    content: bytearray = field(default_factory=bytearray)
    request: RunRequest | None = None
    run: int = 0
    report: int = -1


@dataclass(slots=True)
class WarmServer:
    """Serves until it was idle for some time, is told to stop, or what it has loaded has changed.

    place: folder of the socket; idle: seconds
    """

    place: Path
    idle: float
    modules: LoadedModules = field(default_factory=LoadedModules)
    form: StreamForm = field(default_factory=StreamForm.read_current)
    runs: int = 0
    _env: dict[str, str] = field(default_factory=lambda: dict(os.environ))
    _clients: dict[int, _Client] = field(default_factory=dict)
    _is_ending: bool = False

    def serve(self) -> None:
        """Open the socket and serve. Raises AlreadyThere, OSError. A fork that becomes a run does not return."""
        create_private_folder(self.place)
        lock = os.open(self.place / LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise AlreadyThere from None
        address = self.place / SOCKET
        address.unlink(missing_ok=True)  # of one that was killed
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        _bind(listener, self.place)
        listener.listen(64)
        listener.setblocking(False)
        try:
            self._watch(listener)
        finally:
            address.unlink(missing_ok=True)
            listener.close()
            os.close(lock)

    def _watch(self, listener: socket.socket) -> None:
        woken, wake = socket.socketpair()
        for end in (woken, wake):
            end.setblocking(False)
        signal.set_wakeup_fd(wake.fileno(), warn_on_full_buffer=False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        for number in (signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._end)
        with selectors.DefaultSelector() as selector:
            selector.register(listener, selectors.EVENT_READ, None)
            selector.register(woken, selectors.EVENT_READ, "woken")
            used = time.monotonic()
            while not (self._is_ending and not self._clients):
                ready = selector.select(0 if self.modules.has_work else 1.0)
                if not ready and self.modules.has_work:
                    self.modules.prepare_next()
                for key, _ in ready:
                    if key.data is None:
                        self._accept(listener, selector)
                    elif key.data == "woken":
                        with suppress(BlockingIOError):
                            woken.recv(4096)
                    else:
                        self._hear(key.data, selector)
                self._collect(selector)
                now = time.monotonic()
                if self._clients:
                    used = now
                    self._give_up_late(now, selector)
                elif now - used > self.idle:
                    return

    def _end(self, *_: object) -> None:
        self._is_ending = True

    def _accept(self, listener: socket.socket, selector: selectors.BaseSelector) -> None:
        try:
            link, _ = listener.accept()
        except BlockingIOError:
            return
        try:
            process = identify_caller(link)
        except (OtherProcess, OSError):
            link.close()
            return
        link.setblocking(False)
        client = _Client(link=link, process=process, since=time.monotonic())
        self._clients[link.fileno()] = client
        selector.register(link, selectors.EVENT_READ, client)

    def _hear(self, client: _Client, selector: selectors.BaseSelector) -> None:
        try:
            content, received, flags, _ = socket.recv_fds(client.link, 1 << 16, MOST_DESCRIPTORS)
        except BlockingIOError:
            return
        except OSError:
            content, received, flags = b"", [], 0
        client.received += received
        for each in received:
            os.set_inheritable(each, False)
        if not content or flags & socket.MSG_CTRUNC or len(client.content) > LARGEST_MESSAGE:
            self._forget(client, selector)
        elif client.run:
            self._pass_signals(client, content)
        elif client.request is not None:
            self._start(client, content, selector)
        else:
            client.content += content
            self._read(client, selector)

    def _pass_signals(self, client: _Client, numbers: bytes) -> None:
        for number in numbers:
            # A session without a terminal ignores a stop of the terminal's.
            sent = signal.SIGSTOP if number in _STOPS else number
            with suppress(ProcessLookupError, OSError):
                os.kill(client.run, sent)

    def _read(self, client: _Client, selector: selectors.BaseSelector) -> None:
        """Answer a request once it is there as a whole."""
        length, newline, body = bytes(client.content).partition(b"\n")
        try:
            if not newline and len(length) < 8:
                return
            if len(body) < int(length) <= LARGEST_MESSAGE:
                return
            word, identity, *fields = body.split(b"\0")
            if word == b"stop":
                self._is_ending = True
                raise OtherProcess("it is to stop")
            if word == b"state":
                client.link.send(f"S{os.getpid()} {self.runs} {len(self._clients) - 1}\n".encode())
                self._forget(client, selector)
                return
            self._check(client, identity)
            client.request = read_request(client.process, fields)
            check_variables(
                {os.fsdecode(k): os.fsdecode(v) for k, v in client.request.env.items()}, self._env
            )
            client.link.send(b"G")
        except (OtherProcess, ValueError, IndexError, OSError):
            with suppress(OSError):
                client.link.send(b"C")
            self._forget(client, selector)

    def _check(self, client: _Client, identity: bytes) -> None:
        if self._is_ending or identity != os.fsencode(identify_program()):
            raise OtherProcess("another program")
        if self.modules.have_changed() or not self.modules.can_fork:
            self._is_ending = True
            raise OtherProcess("what is loaded has changed")
        check_caller(client.link, client.process)

    def _start(self, client: _Client, content: bytes, selector: selectors.BaseSelector) -> None:
        try:
            descriptors = read_confirmation(content, client.received)
        except (ValueError, struct.error):
            self._forget(client, selector)
            return
        if client.request is None:
            return
        server = os.getpid()
        client.report, report = os.pipe()
        sys.stdout.flush()
        run = os.fork()
        if not run:
            try:
                become_run(client.request, descriptors, self.form, server=server, report=report)
            finally:  # whatever went wrong: a fork never goes on as a server
                os._exit(LOST)
        os.close(report)
        client.run = run
        self.runs += 1
        self._close_received(client)

    def _collect(self, selector: selectors.BaseSelector) -> None:
        """Tell the clients of runs that have ended, and learn what these had to load."""
        for client in [each for each in self._clients.values() if each.run]:
            ended, status = os.waitpid(client.run, os.WNOHANG)
            if not ended:
                continue
            client.run = 0
            with suppress(OSError):
                client.link.send(b"%06d" % status)
            os.set_blocking(client.report, False)
            try:
                report = os.read(client.report, 1 << 20)
            except BlockingIOError:  # a process that it has started holds the pipe
                report = b""
            self._forget(client, selector)
            self.modules.learn(report)

    def _give_up_late(self, now: float, selector: selectors.BaseSelector) -> None:
        for client in [*self._clients.values()]:
            if not client.run and now - client.since > REQUEST_SECONDS:
                self._forget(client, selector)

    def _forget(self, client: _Client, selector: selectors.BaseSelector) -> None:
        """Drop a connection; a run whose client is gone ends as it would with the process that it stands for."""
        selector.unregister(client.link)
        del self._clients[client.link.fileno()]
        client.link.close()
        self._close_received(client)
        if client.run:
            os.kill(client.run, signal.SIGKILL)
            os.waitpid(client.run, 0)
        if client.report >= 0:
            os.close(client.report)

    def _close_received(self, client: _Client) -> None:
        for each in client.received:
            os.close(each)
        client.received.clear()


def _bind(listener: socket.socket, place: Path) -> None:
    """Bind the socket in the folder, however long its path is."""
    folder = os.open(place, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW)
    old = os.umask(0o177)
    try:
        listener.bind(f"/proc/self/fd/{folder}/{SOCKET}")
    finally:
        os.umask(old)
        os.close(folder)
