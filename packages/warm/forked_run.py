"""The fork of a warm process that becomes the caller's run: its descriptors, folder, environment, words and limits."""

from __future__ import annotations

import ctypes
import fcntl
import gc
import io
import os
import signal
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from struct import unpack
from typing import NoReturn

from packages.warm.caller_check import take_over_limits
from packages.warm.loaded_modules import write_report
from sandbox.lazy_dataclass import dataclass
from sandbox.process.caller import set_caller

SET_DEATH_SIGNAL = 1  # linux/prctl.h: PR_SET_PDEATHSIG

_libc = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunRequest:
    """What a caller asks for.

    process: the caller
    arguments: its `sys.argv`; env: its environment
    """

    process: int
    arguments: tuple[str, ...]
    env: dict[bytes, bytes]


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamForm:
    """How the interpreter opens standard streams here. errors: of standard input and output"""

    encoding: str
    errors: str

    @classmethod
    def read_current(cls) -> StreamForm:
        """Return the form of this process's streams."""
        stream = sys.stdout
        return cls(encoding=stream.encoding or "utf-8", errors=stream.errors or "strict")


def read_request(process: int, fields: list[bytes]) -> RunRequest:
    """Return the request of a message's fields. Raises ValueError for what is none."""
    count = int(fields[0])
    arguments, variables = fields[1 : 1 + count], fields[1 + count :]
    if len(arguments) != count:
        raise ValueError("an incomplete request")
    return RunRequest(
        process=process,
        arguments=tuple(map(os.fsdecode, arguments)),
        env=dict(each.partition(b"=")[::2] for each in variables),
    )


def read_confirmation(content: bytes, received: Sequence[int]) -> dict[int, int]:
    """Return the descriptors that came with a confirmation, by the caller's numbers. Raises ValueError for others."""
    word, newline, packed = content.partition(b"\n")
    count = int(word[1:])
    if word[:1] != b"A" or not newline or count != len(received) or len(packed) < 4 * count:
        raise ValueError("no confirmation")
    return dict(zip(unpack(f"{count}i", packed[: 4 * count]), received, strict=True))


def become_run(
    request: RunRequest, descriptors: Mapping[int, int], form: StreamForm, *, server: int, report: int
) -> NoReturn:
    """Run the request's command line in this process, a fork, and end it; writes what it needed to `report`.

    descriptors: see `read_confirmation`; server: the process that was forked
    """
    _libc.prctl(SET_DEATH_SIGNAL, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != server:
        os._exit(1)
    os.setsid()
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    signal.set_wakeup_fd(-1)
    folder = os.open(f"/proc/{request.process}/cwd", os.O_PATH | os.O_DIRECTORY)
    os.fchdir(folder)
    take_over_limits(request.process)
    report = _take_over_descriptors(descriptors, report)
    os.environb.clear()
    os.environb.update(request.env)
    time.tzset()
    sys.argv[:] = request.arguments
    _open_streams(form)
    set_caller(request.process)
    gc.enable()
    _run_to_end(report)


def _take_over_descriptors(descriptors: Mapping[int, int], report: int) -> int:
    """Leave open the caller's descriptors, under its numbers, and `report`; return the latter's new number."""
    above = max(descriptors, default=2) + 1
    # Out of the way first: a number that is wanted may be the place of another one that was received.
    moved = {number: fcntl.fcntl(each, fcntl.F_DUPFD_CLOEXEC, above) for number, each in descriptors.items()}
    kept = fcntl.fcntl(report, fcntl.F_DUPFD_CLOEXEC, above)
    for number, source in moved.items():
        os.dup2(source, number, inheritable=True)
    for name in os.listdir("/proc/self/fd"):
        if int(name) not in descriptors and int(name) != kept:
            try:
                os.close(int(name))
            except OSError:  # of the listing itself
                continue
    return kept


def _open_streams(form: StreamForm) -> None:
    """Open sys.stdin, sys.stdout and sys.stderr as an interpreter does at its start; None for a closed descriptor."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        try:
            raw = io.FileIO(number, "rb" if number == 0 else "wb", closefd=False)
        except OSError:
            stream = None
        else:
            stream = io.TextIOWrapper(
                io.BufferedReader(raw) if number == 0 else io.BufferedWriter(raw),
                encoding=form.encoding,
                errors="backslashreplace" if name == "stderr" else form.errors,
                newline=None if number == 0 else "\n",
                line_buffering=number == 2 or raw.isatty(),
            )
            stream.mode = "r" if number == 0 else "w"  # type: ignore[misc,attr-defined,unused-ignore]
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def _run_to_end(report: int) -> NoReturn:
    """Run, and end as an interpreter does that reaches its end, but for taking the loaded program apart."""
    import atexit
    import threading
    import traceback

    from cli.start import run_command_line

    code: object
    try:
        code = run_command_line()
    except SystemExit as end:
        code = end.code
    except (
        BaseException
    ):  # nothing may unwind into the server's loop: shown and ended as the interpreter would
        traceback.print_exc()
        code = 1
    if isinstance(code, str):
        print(code, file=sys.stderr)
        code = 1
    os.set_blocking(report, False)
    with suppress(OSError):  # the pipe holds no more
        os.write(report, write_report())
    threading._shutdown()  # type: ignore[attr-defined]  # joins the threads that have to end first
    atexit._run_exitfuncs()
    number = code if isinstance(code, int) else int(code is not None)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            number = number or 120  # as the interpreter: it could not write all
        except AttributeError:  # None: the descriptor was closed
            continue
    os._exit(number)
