"""Start a program, record its output, wait for it alone, and kill the rest of its process tree."""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass
from sandbox.process.command import Capture, Command, Completed
from sandbox.process.control_group import open_control_group
from sandbox.process.output_stream import OnOutput, Stream
from sandbox.process.resource_watch import wait_for_overrun
from sandbox.process.start_gate import StartGate
from sandbox.process.watchdog import start_watchdog, watch_group

if TYPE_CHECKING:
    import asyncio
    from subprocess import Popen

DEATH_SECONDS = 5.0
"""Wait so long for a killed process: only one stuck in the kernel takes longer, and waiting is no help."""

ROUND_SECONDS = 0.001
"""Between checks of processes that cannot be waited for: a killed one is mostly gone by then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """Actual start parameters of a command.

    argv: with the confining program in front
    confine: called in a thread of its own that starts the program and ends: restrictions that the thread
        applies to itself (Landlock, seccomp) are inherited by the program
    gate: holds the program back, after `confine` until that thread is gone: the program can reach it, and with it
        our whole process
    remote: starts the program instead; of the others only the gate is used then
    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path
    pass_fds: tuple[int, ...] = ()
    confine: Callable[[], None] | None = None
    gate: StartGate | None = None
    remote: RemoteLeader | None = None


class RemoteRefusedError(Exception):
    """A remote process was not started: nothing of it has run, and it can be started in another way."""


class Leader(Protocol):
    """The process of a command whose end is the command's.

    returncode: None until it has ended by itself, or was reaped
    """

    @property
    def pid(self) -> int: ...

    @property
    def returncode(self) -> int | None: ...

    async def wait_for_exit(self) -> None:
        """Return when it has ended."""
        ...

    async def reap(self) -> None:
        """Reap it after it was killed; one that the kernel does not let die is left behind."""
        ...


class RemoteLeader(Leader, Protocol):
    """A leader that is started by another process than ours, one that does not survive us."""

    def start(self, streams: Sequence[int]) -> None:
        """Start it with these as its standard input, output and errors. Raises ValueError for a NUL byte,
        RemoteRefusedError here or while it is waited for."""
        ...


class ProcessTree(Protocol):
    """Handle on all descendants of a leader. Both methods are called on every path."""

    def kill(self, leader: int) -> None:
        """Kill the whole tree, leader included; where the kernel has process handles it is not reaped yet."""
        ...

    async def wait_until_gone(self) -> None:
        """Return when no process of the tree is alive."""
        ...


async def supervise(
    command: Command, launch: Launch, tree: ProcessTree, *, spill: Path | None, on_output: OnOutput | None
) -> Completed:
    """Run to the end of the leader or to the time limit, then kill the rest; cancelling kills it too."""
    import asyncio

    started = asyncio.get_running_loop().time()
    with ExitStack() as stack:
        if command.whole or command.resident:
            spill = None
        output = Stream(spill, on_output, stack, command.whole)
        errors = output if command.stderr == "merge" else Stream(spill, on_output, stack)
        if launch.remote is None:
            start_watchdog()
        group = stack.enter_context(open_control_group(command.limits))
        process = _start_process(
            launch, command, output, errors, () if launch.gate else group.build_join_prefix()
        )
        if launch.remote is None:
            stack.enter_context(watch_group(process.pid))
        ended: Literal["exited", "timeout"] = "exited"
        watch = asyncio.create_task(wait_for_overrun(command.limits, command.cwd))
        watch.add_done_callback(lambda done: None if done.cancelled() else tree.kill(process.pid))
        try:
            if command.started:
                command.started(process.pid)
            async with asyncio.timeout(command.timeout):
                if launch.gate is not None:
                    await launch.gate.open(process.pid, group.add_process)
                await process.wait_for_exit()
        except TimeoutError:
            ended = "timeout"
        finally:
            watch.cancel()
            tree.kill(process.pid)
            try:
                await process.reap()
            finally:
                await tree.wait_until_gone()
        overrun = watch.result() if watch.done() and not watch.cancelled() else group.explain_kill()
        return Completed(
            argv=command.argv,
            returncode=-9 if process.returncode is None else process.returncode,
            ended=ended,
            duration=asyncio.get_running_loop().time() - started,
            stdout=output.finish(),
            stderr=Capture(head=b"", tail=b"", total=0) if errors is output else errors.finish(),
            noticed=(f"killed: {overrun}",) if overrun else (),
        )


async def wait_for_exit(pid: int, wait: Callable[[], object]) -> None:
    """Return when a process has ended, without reaping it where the kernel has process handles.

    wait: blocks until the process ended; runs in a thread where there are none (macOS, locked-down kernels)
    """
    import asyncio

    try:
        handle = os.pidfd_open(pid)
    except ProcessLookupError:
        return
    except (AttributeError, OSError):
        await asyncio.to_thread(wait)
        return
    try:
        await wait_until_readable(handle)
    finally:
        os.close(handle)


async def wait_until_readable(descriptor: int) -> None:
    """Return when there is something to read, or the other end is closed."""
    import asyncio

    loop = asyncio.get_running_loop()
    readable = loop.create_future()
    loop.add_reader(descriptor, _resolve_future, readable)
    try:
        await readable
    finally:
        loop.remove_reader(descriptor)


def _resolve_future(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


async def wait_with_timeout(seconds: float, waiting: Awaitable[None]) -> bool:
    """Wait for at most so many seconds; return False when it took longer."""
    import asyncio

    try:
        async with asyncio.timeout(seconds):
            await waiting
    except TimeoutError:
        return False
    return True


def is_group_alive(group: int) -> bool:
    """Reap members of a killed group that have become our children; return False when none is left."""
    with suppress(ChildProcessError):
        while os.waitpid(-group, os.WNOHANG)[0]:
            pass
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def find_program(command: Command, env: Mapping[str, str]) -> Path:
    """Return the absolute path of the program that argv[0] names. Raises UserError if there is none that
    can be run."""
    name = command.argv[0] if command.argv else ""
    folders = [""] if "/" in name else env.get("PATH", os.defpath).split(os.pathsep)
    for folder in folders:
        path = os.path.join(command.cwd, folder, name)  # noqa: PTH118 (a dozen for each command)
        if name and os.access(path, os.X_OK) and os.path.isfile(path):  # noqa: PTH113 (no error where closed)
            return Path(path)
    if "/" in name and os.path.isfile(command.cwd / name):  # noqa: PTH113
        raise UserError(Fault.CONFIGURATION, f"not an executable program: {name!r}", f"Try: chmod +x {name}")
    raise UserError(
        Fault.CONFIGURATION,
        f"no such program: {name!r}",
        "Install it, or put its folder on PATH before starting patchwright.",
    )


def check_folder(command: Command, root: Path) -> Path:
    """Return the command's working folder, links resolved.

    Raises UserError if it is outside the workspace and the command's own extra folders.
    """
    cwd = command.cwd.resolve()
    allowed = (root, *(each.resolve() for each in (*command.writable, *command.readable)))
    if not any(cwd == each or each in cwd.parents for each in allowed):
        raise UserError(
            Fault.DENIED,
            f"commands run inside the workspace, not in {str(command.cwd)!r}",
            f"Choose a folder under {str(root)!r}.",
        )
    if not cwd.is_dir():
        raise UserError(Fault.USAGE, f"no such folder: {str(command.cwd)!r}")
    return cwd


@contextmanager
def raise_oom_score() -> Iterator[None]:
    """Start a process that the kernel ends before us and the user's other programs when memory runs out.

    Only what is inherited holds for all its processes: bwrap has forked before its own score could be written. So
    ours is raised for that moment; the sandbox keeps the command from lowering it.
    """
    own = b""
    with suppress(OSError, ValueError), open(_SCORE, "rb", buffering=0) as file:  # noqa: PTH123 (not Linux)
        own = file.read()
        _write_score(b"%d" % max(_OOM_SCORE, int(own)))
    try:
        yield
    finally:
        if own:
            with suppress(OSError):
                _write_score(own)


def _write_score(score: bytes) -> None:
    with open(_SCORE, "wb", buffering=0) as file:  # noqa: PTH123 (a fifth of the time of write_text)
        file.write(score)


_SCORE = "/proc/self/oom_score_adj"
_OOM_SCORE = 500


def _start_process(
    launch: Launch, command: Command, output: Stream, errors: Stream, prefix: Sequence[str]
) -> Leader:
    import subprocess

    stdin = _open_input(command.stdin)

    def launch_process() -> Popen[bytes]:
        return subprocess.Popen(
            (*prefix, *launch.argv),
            env=dict(launch.env),
            cwd=launch.cwd,
            stdin=stdin,
            stdout=output.write_end,
            stderr=errors.write_end,
            pass_fds=launch.pass_fds,
            start_new_session=True,
        )

    try:
        if launch.remote is not None:
            launch.remote.start((stdin, output.write_end, errors.write_end))
            return launch.remote
        with raise_oom_score():
            return _Child(
                _start_in_confined_thread(launch.confine, launch_process)
                if launch.confine
                else launch_process()
            )
    except OSError as error:  # command line too long, no processes left, a program that vanished
        what = f"{command.argv[0]!r} could not be started: {error.strerror}"
        raise UserError(Fault.CONFIGURATION, what) from None
    except ValueError:  # subprocess refuses a NUL byte
        what = f"the command line or environment of {command.argv[0]!r} holds a NUL byte"
        raise UserError(Fault.USAGE, what) from None
    finally:
        output.close_write_end()
        errors.close_write_end()
        os.close(stdin)


def _start_in_confined_thread(confine: Callable[[], None], start: Callable[[], Popen[bytes]]) -> Popen[bytes]:
    """Confine a thread of ours, and start the program from it. No second interpreter, no code after a fork."""
    import threading

    started: list[Popen[bytes]] = []
    failed: list[Exception] = []

    def run_confined() -> None:
        try:
            confine()
            started.append(start())
        except Exception as error:  # raised again by the caller's thread
            failed.append(error)

    thread = threading.Thread(target=run_confined, name="confined start")
    thread.start()
    thread.join()
    task = Path(f"/proc/self/task/{thread.native_id}")
    while task.exists():  # Python is done with it; the kernel is a moment later
        time.sleep(_MOMENT)
    if failed:
        raise failed[0]
    return started[0]


_MOMENT = 0.00005


def _open_input(content: bytes | int | None) -> int:
    """Return a descriptor that yields `content`: a file in memory, so that no pipe has to be fed meanwhile."""
    if isinstance(content, int):
        return os.dup(content)
    if content is None:
        return os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC)
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("stdin")
    else:
        import tempfile

        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    view = memoryview(content)
    while view:
        view = view[os.write(descriptor, view) :]
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


class _Child:
    """A leader that is our own child."""

    def __init__(self, process: Popen[bytes]) -> None:
        self._process = process

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def returncode(self) -> int | None:
        return self._process.returncode

    async def wait_for_exit(self) -> None:
        await wait_for_exit(self.pid, self._process.wait)

    async def reap(self) -> None:
        if self._process.poll() is None:
            with suppress(ProcessLookupError):
                self._process.kill()
            await wait_with_timeout(DEATH_SECONDS, self.wait_for_exit())
            self._process.poll()
