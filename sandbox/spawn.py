"""Start a program, record its output, wait for it alone, and leave nothing of its process tree behind."""

from __future__ import annotations

import os
import time
from collections.abc import Awaitable, Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from sandbox.capture import Recorder
from sandbox.errors import Fault, UserError
from sandbox.process import Capture, Command, Completed, Limits
from sandbox.watch import overrun, threads
from sandbox.watchdog import watched

if TYPE_CHECKING:
    import asyncio
    from subprocess import Popen

OnOutput = Callable[[bytes], None]

READ_SIZE = 64 << 10
"""The capacity of a pipe on Linux: one read empties it."""

DEATH_SECONDS = 5.0
"""Wait so long for a killed process: only one stuck in the kernel takes longer, and waiting is no help."""


ROUND_SECONDS = 0.001
"""Between looks at processes that cannot be waited for: a killed one is mostly gone by then."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """How a command is really started.

    argv: with the confining program in front
    confine: called in a thread of its own that starts the program and ends: what the thread puts on itself
        (Landlock, seccomp) the program inherits
    gate: a named pipe on which the program waits (see `limited`) until that thread is gone: it is within
        reach of the program, and with it all of us
    """

    argv: tuple[str, ...]
    env: Mapping[str, str]
    cwd: Path
    pass_fds: tuple[int, ...] = ()
    confine: Callable[[], None] | None = None
    gate: Path | None = None


class ProcessTree(Protocol):
    """Finds whatever a leader started. Both methods are called on every path."""

    def kill(self, leader: int) -> None:
        """Kill all of it, leader included; where the kernel has process handles it is not reaped yet."""
        ...

    async def settle(self) -> None:
        """Return when nothing of the tree lives any more."""
        ...


async def supervise(
    command: Command, launch: Launch, tree: ProcessTree, *, spill: Path | None, on_output: OnOutput | None
) -> Completed:
    """Run to the end of the leader or to the time limit, then kill what is left; so does cancelling."""
    import asyncio

    started = asyncio.get_running_loop().time()
    with ExitStack() as stack:
        output = _Stream(spill, on_output, stack)
        errors = output if command.stderr == "merge" else _Stream(spill, on_output, stack)
        gate = _closed_gate(launch, stack)
        process = _start(launch, command, output, errors)
        stack.enter_context(watched(process.pid))
        _expose_to_memory_shortage(process.pid)
        ended: Literal["exited", "timeout"] = "exited"
        watch = asyncio.create_task(overrun(command.limits, command.cwd))
        watch.add_done_callback(lambda done: None if done.cancelled() else tree.kill(process.pid))
        try:
            if command.started:
                command.started(process.pid)
            if gate is not None:
                os.write(gate, b"\n")
            async with asyncio.timeout(command.timeout):
                await exit_of(process.pid, process.wait)
        except TimeoutError:
            ended = "timeout"
        finally:
            watch.cancel()
            tree.kill(process.pid)
            try:
                await _reap(process)
            finally:
                await tree.settle()
        return Completed(
            argv=command.argv,
            returncode=-9 if process.returncode is None else process.returncode,
            ended=ended,
            duration=asyncio.get_running_loop().time() - started,
            stdout=output.finish(),
            stderr=Capture(head=b"", tail=b"", total=0) if errors is output else errors.finish(),
            noticed=(f"killed: {watch.result()}",) if watch.done() and not watch.cancelled() else (),
        )


async def exit_of(pid: int, wait: Callable[[], object]) -> None:
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
    loop = asyncio.get_running_loop()
    ended = loop.create_future()
    loop.add_reader(handle, _resolve, ended)
    try:
        await ended
    finally:
        loop.remove_reader(handle)
        os.close(handle)


def _resolve(ended: asyncio.Future[None]) -> None:
    if not ended.done():
        ended.set_result(None)


async def within(seconds: float, waiting: Awaitable[None]) -> bool:
    """Wait, but not longer than that; False when it took longer."""
    import asyncio

    try:
        async with asyncio.timeout(seconds):
            await waiting
    except TimeoutError:
        return False
    return True


def group_lives(group: int) -> bool:
    """Reap those of a killed group that have become our children; False when none is left of it."""
    with suppress(ChildProcessError):
        while os.waitpid(-group, os.WNOHANG)[0]:
            pass
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return True


def resource_limits(limits: Limits, *, processes: int) -> dict[int, int]:
    """Values by number of the resource, none above a limit that we are under ourselves.

    processes: how many the user may have, as the kernel counts for this sandbox; 0 for no limit
    """
    import resource

    none = resource.RLIM_INFINITY
    wanted = {
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_FSIZE: limits.file_size or none,
        resource.RLIMIT_DATA: limits.memory or none,
        resource.RLIMIT_NPROC: processes or none,
        resource.RLIMIT_NOFILE: limits.open_files or none,
        resource.RLIMIT_CPU: limits.cpu or none,
    }
    ceilings = {which: resource.getrlimit(which)[1] for which in wanted}
    return {
        which: value
        for which, value in wanted.items()
        if value != none and (ceilings[which] == none or value < ceilings[which])
    }


def processes_beside_others(limits: Limits) -> int:
    """A limit where the kernel counts the user's other processes too: there are no more than run in all."""
    if not limits.processes:
        return 0
    running = threads()
    return running + limits.processes if running else 0


def limited(limits: Limits, *, processes: int, gate: Path | None = None) -> tuple[str, ...]:
    """A prefix for an argv that sets resource limits for what follows, hard and before its first instruction.

    A shell does it in under a millisecond. Setting them in the fork would need `preexec_fn`, which
    forces the slow fork and may deadlock; setting them from outside would race with the child.

    gate: a named pipe to wait on first; at its end nobody is there who would open it
    """
    import resource

    commands = {
        resource.RLIMIT_CORE: ("ulimit -c {}", 512),
        resource.RLIMIT_FSIZE: ("ulimit -f {}", 512),
        resource.RLIMIT_DATA: ("ulimit -d {}", 1024),
        resource.RLIMIT_NPROC: ("ulimit -u {0} || ulimit -p {0}", 1),  # bash's word; dash's and busybox's
        resource.RLIMIT_NOFILE: ("ulimit -n {}", 1),
        resource.RLIMIT_CPU: ("ulimit -t {}", 1),
    }
    wanted = resource_limits(limits, processes=processes)
    steps = [commands[which][0].format(value // commands[which][1]) for which, value in wanted.items()]
    script = f'{{ {"; ".join(steps)}; }} 2>/dev/null; exec "$@"'
    return ("/bin/sh", "-c", (_WAIT if gate else "") + script, str(gate or "sh"))


_WAIT = 'read -r open <"$0" || exit 1; '


def find_program(command: Command, env: Mapping[str, str]) -> Path:
    """Absolute path of the program that argv[0] names. Raises UserError if there is none that can be run."""
    name = command.argv[0] if command.argv else ""
    folders = [""] if "/" in name else env.get("PATH", os.defpath).split(os.pathsep)
    for folder in folders:
        path = command.cwd / folder / name
        if name and os.access(path, os.X_OK) and os.path.isfile(path):  # noqa: PTH113 (no error where closed)
            return path
    if "/" in name and os.path.isfile(command.cwd / name):  # noqa: PTH113
        raise UserError(Fault.CONFIGURATION, f"not an executable program: {name!r}", f"Try: chmod +x {name}")
    raise UserError(
        Fault.CONFIGURATION,
        f"no such program: {name!r}",
        "Install it, or put its folder on PATH before starting patchwright.",
    )


def check_folder(command: Command, root: Path) -> Path:
    """The command's working folder, links resolved. Raises UserError if it is outside the workspace."""
    cwd = command.cwd.resolve()
    allowed = (root, *(each.resolve() for each in command.writable))
    if not any(cwd == each or each in cwd.parents for each in allowed):
        raise UserError(
            Fault.DENIED,
            f"commands run inside the workspace, not in {str(command.cwd)!r}",
            f"Choose a folder under {str(root)!r}.",
        )
    if not cwd.is_dir():
        raise UserError(Fault.USAGE, f"no such folder: {str(command.cwd)!r}")
    return cwd


class _Stream:
    """One pipe from the child, read as data comes, never waited for."""

    def __init__(self, spill: Path | None, on_output: OnOutput | None, stack: ExitStack) -> None:
        import asyncio

        self._recorder = Recorder(spill)
        self._on_output = on_output
        self._loop = asyncio.get_running_loop()
        self._read_end, self.write_end = os.pipe()
        os.set_blocking(self._read_end, False)
        self._loop.add_reader(self._read_end, self._readable)
        stack.callback(self._abandon)

    def close_write_end(self) -> None:
        """Once the child has its copy: or the end of the stream would never be seen."""
        if self.write_end >= 0:
            os.close(self.write_end)
            self.write_end = -1

    def finish(self) -> Capture:
        """Take what still stands in the pipe (a pipe's worth: a survivor could write for ever) and close."""
        for _ in range(_PIPE_READS):
            if not self._read():
                break
        self._close()
        return self._recorder.finish()

    def _abandon(self) -> None:
        """An interrupted command's output is shown to nobody: nothing of it stays on the disk."""
        if self._read_end >= 0:
            self._close()
            if (spill := self._recorder.finish().spill) is not None:
                spill.unlink(missing_ok=True)

    def _readable(self) -> None:
        if self._read() == b"":
            self._loop.remove_reader(self._read_end)

    def _read(self) -> bytes | None:
        """The next bytes, b"" at the end of the stream, None when there are none yet."""
        try:
            chunk = os.read(self._read_end, READ_SIZE)
        except BlockingIOError:
            return None
        if chunk:
            self._recorder.feed(chunk)
            if self._on_output:
                self._on_output(chunk)
        return chunk

    def _close(self) -> None:
        self.close_write_end()
        if self._read_end >= 0:
            self._loop.remove_reader(self._read_end)
            os.close(self._read_end)
            self._read_end = -1
            self._recorder.finish()


_PIPE_READS = 64
"""64 x READ_SIZE: more than the largest pipe an ordinary process may make (1 MiB)."""


def _expose_to_memory_shortage(leader: int) -> None:
    """When memory runs out, the kernel ends a command before it ends us or the user's other programs."""
    with suppress(OSError):  # it has ended already, or this is not Linux
        Path(f"/proc/{leader}/oom_score_adj").write_text("500")


def _closed_gate(launch: Launch, stack: ExitStack) -> int | None:
    """Both ends of the named pipe, open until the command has ended: then nothing written to it is lost."""
    if launch.gate is None:
        return None
    descriptor = os.open(launch.gate, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    stack.callback(os.close, descriptor)
    return descriptor


def _start(launch: Launch, command: Command, output: _Stream, errors: _Stream) -> Popen[bytes]:
    import subprocess

    stdin = _input(command.stdin)

    def start() -> Popen[bytes]:
        return subprocess.Popen(
            launch.argv,
            env=dict(launch.env),
            cwd=launch.cwd,
            stdin=stdin,
            stdout=output.write_end,
            stderr=errors.write_end,
            pass_fds=launch.pass_fds,
            start_new_session=True,
        )

    try:
        return _in_thread(launch.confine, start) if launch.confine else start()
    except OSError as error:  # too long a command line, no processes left, a program that vanished
        what = f"{command.argv[0]!r} could not be started: {error.strerror}"
        raise UserError(Fault.CONFIGURATION, what) from None
    except ValueError:  # subprocess refuses a NUL byte
        what = f"the command line or environment of {command.argv[0]!r} holds a NUL byte"
        raise UserError(Fault.USAGE, what) from None
    finally:
        output.close_write_end()
        errors.close_write_end()
        os.close(stdin)


def _in_thread(confine: Callable[[], None], start: Callable[[], Popen[bytes]]) -> Popen[bytes]:
    """Confine a thread of ours, and start the program from it. No second interpreter, no code after a fork."""
    import threading

    started: list[Popen[bytes]] = []
    failed: list[Exception] = []

    def body() -> None:
        try:
            confine()
            started.append(start())
        except Exception as error:  # raised again by the caller's thread
            failed.append(error)

    thread = threading.Thread(target=body, name="confined start")
    thread.start()
    thread.join()
    task = Path(f"/proc/self/task/{thread.native_id}")
    while task.exists():  # Python is done with it; the kernel is a moment later
        time.sleep(_MOMENT)
    if failed:
        raise failed[0]
    return started[0]


_MOMENT = 0.00005


def _input(content: bytes | int | None) -> int:
    """A descriptor that yields `content`: a file in memory, so that nobody has to feed a pipe meanwhile."""
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


async def _reap(process: Popen[bytes]) -> None:
    """Collect the killed leader; one that the kernel does not let die is left behind."""
    if process.poll() is None:
        with suppress(ProcessLookupError):
            process.kill()
        await within(DEATH_SECONDS, exit_of(process.pid, process.wait))
        process.poll()
