"""Our side of a resident place: start its server, hand it one command at a time, and end it."""

from __future__ import annotations

import marshal
import os
import signal
import socket
import struct
import sys
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from sandbox.backends.namespace import Namespace
from sandbox.backends.seccomp import build_empty_filter
from sandbox.lazy_dataclass import dataclass
from sandbox.process.spawn import (
    DEATH_SECONDS,
    ROUND_SECONDS,
    RemoteRefusedError,
    raise_oom_score,
    wait_until_readable,
    wait_with_timeout,
)
from sandbox.process.watchdog import start_watchdog, watch_group
from sandbox.resident.plan import PlacePlan, list_identities

if TYPE_CHECKING:
    from subprocess import Popen

READY_SECONDS = 0.25
"""For a spare to become ready: it takes milliseconds, and a new sandbox tens of them."""

START_SECONDS = 10.0
"""For a server to start: it takes tens of milliseconds; the limit is for a machine that is swapping."""

IDLE_SECONDS = 600.0
"""A place that was not used for so long ends; the next command starts as the first one did."""


class Place:
    """A server that runs, and takes one command at a time."""

    def __init__(self, server: Server, connection: socket.socket, plan: PlacePlan) -> None:
        self.is_busy = False
        self._connection = connection
        self._plan = plan
        self._owner = os.getpid()
        self._identities = list_identities(plan.places)
        self._ready: list[Spare] = []
        self._end = weakref.finalize(self, _end_server, server, connection, self._ready, self._owner)

    def close(self) -> None:
        """End the server, with all that it started."""
        self._end()

    def is_usable(self) -> bool:
        """Whether the server lives, is ours, and shows what its paths lead to now; one that does not is ended."""
        if not self._end.alive:
            return False
        if self._owner == os.getpid() and self._identities == list_identities(self._plan.places):
            return True
        self.close()
        return False

    async def wait_until_ready(self, seconds: float) -> bool:
        """Return whether it can take a command within this time; if not, it is ended."""
        if not (self._ready or self._receive()):
            await wait_with_timeout(seconds, wait_until_readable(self._connection.fileno()))
            if not self._receive():
                self.close()
        return bool(self._ready)

    async def reserve(self) -> ResidentProcess | None:
        """Return a process that will become the next command; None if there is none in time."""
        self.is_busy = True
        try:
            ready = await self.wait_until_ready(READY_SECONDS)
        finally:
            self.is_busy = False
        return ResidentProcess(self, self._ready.pop()) if ready else None

    def _receive(self) -> bool:
        """Note the spare that the server has announced; return whether there is one."""
        try:
            _, passed, _, _ = self._connection.recvmsg(1, _PASSED, socket.MSG_CMSG_CLOEXEC)
        except OSError:  # none yet
            return False
        if passed:  # else the server has ended
            self._ready.append(_read_spare(passed))
        return bool(passed)


class Spare(NamedTuple):
    """A process that waits for its command.

    leader: its process id
    handle: of the first process of its process namespace
    connection: to both
    """

    leader: int
    handle: int
    connection: int

    def close(self) -> None:
        """Close the descriptors: one that still waits ends, and with it the server."""
        os.close(self.handle)
        os.close(self.connection)


class ResidentProcess:
    """A process of a place that waits for its command, and then is that command: also its start gate and its tree."""

    def __init__(self, place: Place, spare: Spare) -> None:
        self.pid = spare.leader
        self.returncode: int | None = None
        self.request: Request | None = None
        self._place = place
        self._spare = spare
        self._connection = socket.socket(fileno=os.dup(spare.connection))
        self._connection.setblocking(False)
        place.is_busy = True

    def start(self, streams: Sequence[int]) -> None:
        """See `RemoteLeader.start`. Raises ValueError for a NUL byte, RemoteRefusedError if the server has ended."""
        assert self.request is not None
        content = self.request.build_message()
        message = os.memfd_create("request")
        try:
            os.write(message, content)
            socket.send_fds(self._connection, [b"C"], [message, *streams])
        except OSError as error:
            raise RemoteRefusedError from error
        finally:
            os.close(message)

    async def open(self, leader: int, join_group: Callable[[int], None]) -> None:
        """See `StartGate.open`. Raises RemoteRefusedError."""
        assert self.request is not None
        self.request.prepare()
        join_group(leader)
        try:
            self._connection.send(b"G")
        except OSError as error:
            raise RemoteRefusedError from error

    async def wait_for_exit(self) -> None:
        """See `Leader.wait_for_exit`. Raises RemoteRefusedError if the command was not started."""
        has_begun = False
        while True:
            await wait_until_readable(self._connection.fileno())
            word = b""
            with suppress(OSError):  # killed with something unread
                word = self._connection.recv(_WORD)
            if word == b"F" or not (word or has_begun):
                raise RemoteRefusedError
            if word != b"B":
                self.returncode = int(word[1:]) if word else None  # else it was killed
                return
            has_begun = True

    async def reap(self) -> None:
        """See `Leader.reap`: its parent does."""

    def kill(self, leader: int) -> None:
        """See `ProcessTree.kill`. Who told how the command ended has killed and reaped all others before."""
        if self.returncode is not None:
            return
        with suppress(ProcessLookupError, PermissionError):
            signal.pidfd_send_signal(self._spare.handle, signal.SIGKILL)

    async def wait_until_gone(self) -> None:
        """See `ProcessTree.wait_until_gone`."""
        if self.returncode is None:
            await wait_with_timeout(DEATH_SECONDS, wait_until_readable(self._spare.handle))

    def release(self) -> None:
        """Let the place take another command; one that did not run this one to its end is closed."""
        self._connection.close()
        self._spare.close()
        self._place.is_busy = False
        if self.returncode is None:
            self._place.close()


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A command as the server needs it.

    limits: hard resource limits by number
    folders: placeholders, which it may not change
    prepare: called once, before the command goes on
    """

    argv: Sequence[str]
    env: Mapping[str, str]
    cwd: Path
    limits: Mapping[int, int]
    folders: Sequence[Path]
    prepare: Callable[[], None]

    def build_message(self) -> bytes:
        """Return it as bytes. Raises ValueError for a NUL byte."""
        words = [os.fsencode(word) for word in self.argv]
        variables = [os.fsencode(f"{name}={value}") for name, value in self.env.items()]
        if any(b"\0" in each for each in (*words, *variables)):
            raise ValueError("embedded null byte")
        path = os.fsencode(self.env["PATH"]) if "PATH" in self.env else None
        folders = [os.fsencode(each) for each in self.folders]
        return marshal.dumps(
            (words, variables, path, os.fsencode(self.cwd), list(self.limits.items()), folders)
        )


async def start_place(
    front: Sequence[str], plan: PlacePlan, *, filter_: bytes, kept: int, separate_network: bool
) -> Place | None:
    """Start a server; return None if it does not work here.

    front: bubblewrap and its options but those of the plan
    filter_: system call filter of commands; kept: bits of the capabilities that they keep
    separate_network: each command has a network of its own
    """
    import subprocess

    settings = {
        "steps": list(plan.steps),
        "filter_": filter_,
        "kept": kept,
        "separate_network": separate_network,
        "idle": IDLE_SECONDS,
    }
    with ExitStack() as stack:
        namespace = Namespace({}, lambda: None, build_empty_filter())
        stack.callback(namespace.close)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        stack.callback(theirs.close)
        undo = stack.enter_context(ExitStack())
        undo.callback(ours.close)
        ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
        ours.setblocking(False)
        code = _open_in_memory(stack, "server", _read_code())
        content = _open_in_memory(stack, "settings", marshal.dumps(settings))
        python = (
            str(Path(sys.executable).resolve()),
            "-I",
            "-S",
            "-E",
            "-c",
            f"exec(open({code}, 'rb').read())",
        )
        argv = (
            *front,
            *("--as-pid-1", *namespace.options, *plan.options, "--chdir", "/", "--"),
            *(*python, str(theirs.fileno()), str(content)),
        )
        start_watchdog()
        with raise_oom_score():
            process = subprocess.Popen(
                argv,
                env={"PATH": os.defpath},  # not empty: a process without any is taken for one about to exec
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                pass_fds=(*namespace.descriptors, theirs.fileno(), code, content),
                start_new_session=True,
            )
        server = Server(process)
        place = Place(server, ours, plan)
        undo.pop_all()
        undo.callback(place.close)
        stack.enter_context(watch_group(process.pid))  # until the server's own death depends on ours
        theirs.close()
        await namespace.open(process.pid, server.note_first)
        if not await place.wait_until_ready(START_SECONDS):
            return None
        undo.pop_all()
    return place if place.is_usable() else None  # what it shows has not been replaced meanwhile


class Server:
    """The processes of a place: bubblewrap, and the first of its process namespace, with which all others die."""

    def __init__(self, process: Popen[bytes]) -> None:
        self._process = process
        self._first = 0

    def note_first(self, process: int) -> None:
        """Note the first process."""
        self._first = process

    def kill(self) -> None:
        """Kill and reap both. The kernel kills the first for the death of bubblewrap, and makes it our child then,
        if orphans are ours."""
        self._process.kill()
        self._process.wait()
        deadline = time.monotonic() + DEATH_SECONDS
        with suppress(ChildProcessError):
            while self._first and not os.waitpid(self._first, os.WNOHANG)[0] and time.monotonic() < deadline:
                time.sleep(ROUND_SECONDS)


def _end_server(server: Server, connection: socket.socket, ready: list[Spare], owner: int) -> None:
    connection.close()
    while ready:
        ready.pop().close()
    if owner == os.getpid():
        server.kill()


def _read_spare(passed: Sequence[tuple[int, int, bytes]]) -> Spare:
    leader, handle, connection = 0, -1, -1
    for _, kind, content in passed:
        if kind == socket.SCM_RIGHTS:
            handle, connection = struct.unpack("2i", content)
        else:  # added by the kernel: who has sent it
            leader = struct.unpack("3i", content)[0]
    return Spare(leader, handle, connection)


_PASSED, _WORD = 128, 8
"""Bytes that are enough for what comes with an announcement, and for what is said about an end."""


@cache
def _read_code() -> bytes:
    """Return the server's code: of the same place as our own, so nobody's who could not change us as well."""
    return Path(__file__).with_name("server.py").read_bytes()


def _open_in_memory(stack: ExitStack, name: str, content: bytes) -> int:
    descriptor = os.memfd_create(name)
    stack.callback(os.close, descriptor)
    os.write(descriptor, content)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor
