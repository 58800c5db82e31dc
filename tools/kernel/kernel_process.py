"""One kernel process in the sandbox, from start to end: sends it blocks, serves its calls, limits its time."""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import field
from pathlib import Path
from typing import Any, Literal

from sandbox.errors import UserError
from sandbox.lazy_dataclass import dataclass
from sandbox.policy.decision import Mode
from sandbox.process.command import Capture, Command, Completed, Limits
from sandbox.process.output_capture import Recorder
from tools.core.surroundings import Surroundings
from tools.kernel.frames import (
    BadFrame,
    Frame,
    as_text,
    as_text_list,
    decode_base64,
    encode_frame,
    read_frame,
)
from tools.shell.command_output import make_progress_callback
from tools.shell.environment import python_environment

Serve = Callable[[Frame], Awaitable[dict[str, Any]]]
Ended = Literal["ok", "error", "interrupted", "timeout", "died"]

DRIVER = Path(__file__).parent / "patchwright_kernel"

START_SECONDS = 60.0
"""A start takes a tenth of a second; this is for a busy machine, or an interpreter on a network file system.
"""

GRACE_SECONDS = 2.0
"""Seconds from an interrupt until a block that ignores it loses its kernel."""

FOREVER = 10.0 * 365 * 86_400
"""Seconds: a kernel lives as long as its session; its blocks have limits of their own."""

CUT_OFF = 107
"""Exit status of the kernel when its connection is closed."""

KEPT = 32 << 20
"""Bytes of a block's output that are stored next to the log: larger data belongs in a file of the workspace.
"""

INTERRUPTED: Mapping[str, Any] = {"error": "interrupted"}

_WAITING = 64
"""Frames of the kernel in the queue; beyond, the kernel has to wait."""

_READ = 64 << 10
"""The capacity of a pipe on Linux: one read empties it."""

_DRAINED = 64
"""Reads of the pipe at the end of a block: more than a pipe holds; bounded, since a thread could print for
ever.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class BlockResult:
    """Result of one block.

    value: text of its last expression; error: its traceback; table: the value as CSV, if it is one
    death_reason: why the kernel is gone, "" if it is not; lost_names: names that were defined in it
    left_running: how many "thread"s and "process"es it left running
    finished: the data of the tool that ended the turn from within, if one did
    """

    ended: Ended
    output: Capture
    seconds: float
    value: str = ""
    error: str = ""
    pictures: Sequence[bytes] = ()
    table: str = ""
    left_running: Mapping[str, int] = field(default_factory=dict)
    death_reason: str = ""
    lost_names: Sequence[str] = ()
    calls: int = 0
    finished: Mapping[str, Any] | None = None
    noticed: Sequence[str] = ()


class KernelFailed(Exception):
    """A kernel did not start; the text quotes the interpreter."""


class KernelProcess:
    """A running kernel. Created by `start`; after `alive` has become False only `close` may be called."""

    def __init__(self, at: Surroundings, *, reads_only: bool = False) -> None:
        self._at = at
        self._reads_only = reads_only or at.mode is Mode.READ_ONLY
        self._frames: asyncio.Queue[Frame | None] = asyncio.Queue(_WAITING)
        self._gone = asyncio.Event()
        self._problem = ""
        self._number = 0
        self._names: Sequence[str] = ()
        self._recorder = Recorder(at.artifacts.folder, KEPT)
        self._progress = make_progress_callback(at)
        self._ended: Completed | UserError | None = None
        self._running: asyncio.Task[None] | None = None
        self._reading: asyncio.Task[None] | None = None
        self._writer: asyncio.StreamWriter | None = None
        self._interrupts: socket.socket | None = None
        self._output = -1
        self.python = ""

    @classmethod
    async def start(
        cls, at: Surroundings, python: str, hello: Frame, limits: Limits, *, reads_only: bool = False
    ) -> KernelProcess:
        """Start the interpreter and wait until it is ready. Raises KernelFailed with its output.

        reads_only: it may write nothing but its private /tmp, whatever the session may
        """
        kernel = cls(at, reads_only=reads_only)
        try:
            await kernel._start_interpreter(python, hello, limits)
        except BaseException:  # cancelled, or it did not start: either way clean up and re-raise
            await kernel.close()
            raise
        return kernel

    @property
    def alive(self) -> bool:
        return not self._gone.is_set()

    async def run(self, code: str, *, seconds: float, serve: Serve) -> BlockResult:
        """Run a block to its end. Its time is suspended while it waits for a tool: tools have their own
        limits.

        serve: answers a call with a frame. Cancelling interrupts the block, and ends the kernel only if that
            fails.
        """
        self._number += 1
        loop = asyncio.get_running_loop()
        started = loop.time()
        deadline = started + seconds
        self._send_frame({"kind": "run", "number": self._number, "code": code})
        try:
            while True:
                async with asyncio.timeout_at(deadline):
                    await self._drain_writer()
                    frame = await self._frames.get()
                if frame is None or self._is_done_frame(frame):
                    break
                asked = loop.time()
                await self._answer_call(frame, serve)
                deadline += loop.time() - asked
            ended: Ended = "ok"
        except TimeoutError:
            frame, ended = await self._stop_block(), "timeout"
        except (asyncio.CancelledError, UserError):
            # A tool raises an error that ends the turn: a full disk. Its call was answered, but the block may
            # continue.
            await asyncio.shield(asyncio.ensure_future(self._stop_block()))
            self._discard_output()
            raise
        if frame is None:
            return await self._build_dead_result(ended, loop.time() - started)
        return self._build_done_result(frame, ended, loop.time() - started)

    async def close(self) -> None:
        """End the process and its children; safe to call twice."""
        self._gone.set()
        tasks = [task for task in (self._running, self._reading) if task is not None]
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        self._discard_output()
        if self._output >= 0:
            asyncio.get_running_loop().remove_reader(self._output)
            os.close(self._output)
            self._output = -1
        if self._interrupts is not None:
            self._interrupts.close()
        if self._writer is not None:
            self._writer.close()
            with suppress(OSError):  # its other end is gone
                await self._writer.wait_closed()
            self._writer = None

    async def _start_interpreter(self, python: str, hello: Frame, limits: Limits) -> None:
        ours, theirs = socket.socketpair()
        self._interrupts, interrupts = socket.socketpair()
        self._output, output = os.pipe()
        try:
            ours.setblocking(False)
            self._interrupts.setblocking(False)
            os.set_blocking(self._output, False)
            reader, self._writer = await asyncio.open_connection(sock=ours)
            asyncio.get_running_loop().add_reader(self._output, self._on_readable)
            handed = (theirs.fileno(), interrupts.fileno(), output)
            self._running = asyncio.create_task(self._run(self._build_command(python, limits, handed)))
            self._reading = asyncio.create_task(self._read_frames(reader))
            self._send_frame(hello)
            await self._wait_until_ready()
        finally:  # our copies of the kernel's ends: with them open, its end would go unnoticed
            theirs.close()
            interrupts.close()
            os.close(output)

    def _build_command(self, python: str, limits: Limits, handed: tuple[int, ...]) -> Command:
        return Command(
            argv=(python, str(DRIVER), *map(str, handed)),
            cwd=self._at.root,
            env={**python_environment(), "MPLBACKEND": "Agg"},
            timeout=FOREVER,
            scope="read-only" if self._reads_only else "workspace",
            readable=(DRIVER,),
            limits=limits,
            descriptors=handed,
            resident=True,
        )

    async def _wait_until_ready(self) -> None:
        try:
            async with asyncio.timeout(START_SECONDS):
                frame = await self._frames.get()
        except TimeoutError:
            raise KernelFailed(f"it was not ready after {START_SECONDS:g} s") from None
        if frame is None or frame.get("kind") != "ready":
            raise KernelFailed(await self._explain_end())
        self.python = as_text(frame.get("python"))

    async def _run(self, command: Command) -> None:
        try:
            self._ended = await self._at.sandbox.run(command)
        except UserError as error:  # the interpreter cannot be started
            self._ended = error
        finally:
            self._mark_gone()

    async def _read_frames(self, reader: asyncio.StreamReader) -> None:
        """Read frames into the queue. Their content is untrusted."""
        try:
            while (frame := await read_frame(reader)) is not None:
                await self._frames.put(frame)
        except BadFrame as bad:
            self._problem = str(bad)
        self._mark_gone()

    def _mark_gone(self) -> None:
        """Mark the end of the frames. The reader of the queue finds it after the last of them."""
        self._gone.set()
        with suppress(asyncio.QueueFull):  # then the reader is still busy, and calls this when it is done
            self._frames.put_nowait(None)

    def _send_frame(self, frame: Frame) -> None:
        if self._writer is not None:
            self._writer.write(encode_frame(frame))  # the end of a dead kernel is noticed by its stream

    async def _drain_writer(self) -> None:
        """Wait until the sent frames are read: a kernel that calls and does not read must not fill the host's
        memory.
        """
        if self._writer is not None:
            with suppress(OSError):  # it is gone, which the end of the frames shows
                await self._writer.drain()

    def _is_done_frame(self, frame: Frame) -> bool:
        return frame.get("kind") == "done" and frame.get("number") == self._number

    async def _answer_call(self, frame: Frame, serve: Serve) -> None:
        """Serve a call while the kernel lives to receive the answer."""
        if frame.get("kind") != "call":
            return
        serving = asyncio.ensure_future(serve(frame))
        leaving = asyncio.ensure_future(self._gone.wait())
        try:
            await asyncio.wait([serving, leaving], return_when=asyncio.FIRST_COMPLETED)
            if serving.done():
                self._send_frame(serving.result())
        finally:
            leaving.cancel()
            if not serving.done():
                serving.cancel()
                await asyncio.wait([serving])
                self._send_frame(INTERRUPTED)
            elif not serving.cancelled() and serving.exception() is not None:
                self._send_frame(INTERRUPTED)

    async def _stop_block(self) -> Frame | None:
        """Interrupt the block; None if that failed and the kernel was killed."""
        if self._interrupts is not None:
            with suppress(OSError):  # the kernel is gone, or its socket is full of unread interrupts
                self._interrupts.send(bytes([self._number & 0xFF]))
        try:
            async with asyncio.timeout(GRACE_SECONDS):
                while (frame := await self._frames.get()) is not None:
                    if self._is_done_frame(frame):
                        return frame
                    if frame.get("kind") == "call":
                        self._send_frame(INTERRUPTED)
        except TimeoutError:
            self._problem = f"it did not heed an interrupt for {GRACE_SECONDS:g} s"
        await self._kill()
        return None

    async def _kill(self) -> None:
        self._gone.set()
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait([self._running])

    async def _build_dead_result(self, ended: Ended, seconds: float) -> BlockResult:
        died = await self._explain_end()
        return BlockResult(
            ended="died" if ended == "ok" else ended,
            output=self._finish_output(),
            seconds=seconds,
            death_reason=died,
            lost_names=self._names,
        )

    def _build_done_result(self, frame: Frame, ended: Ended, seconds: float) -> BlockResult:
        self._names = as_text_list(frame.get("names"))
        left = frame.get("left")
        counts = left if isinstance(left, dict) else {}
        words = {"thread": counts.get("threads"), "process": counts.get("processes")}
        return BlockResult(
            ended="error" if ended == "ok" and frame.get("error") else ended,
            output=self._finish_output(),
            seconds=seconds,
            value=as_text(frame.get("value")),
            error=as_text(frame.get("error")),
            pictures=[each for data in as_text_list(frame.get("pictures")) if (each := decode_base64(data))],
            table=as_text(frame.get("table")),
            left_running={word: count for word, count in words.items() if isinstance(count, int)},
        )

    async def _explain_end(self) -> str:
        """Return how the kernel ended, in a clause; kill it if it has not ended."""
        if self._running is not None and not self._running.done() and not self._problem:
            await asyncio.wait([self._running], timeout=GRACE_SECONDS)
            if not self._running.done():
                self._problem = "it closed its connection"
        await self._kill()
        if self._problem or self._ended is None:
            return self._problem or "it was killed"
        if isinstance(self._ended, UserError):
            return self._ended.message
        said = " ".join(self._ended.stdout.text().split()[-30:])
        code = self._ended.returncode
        how = f"killed by signal {-code}" if code < 0 else f"exit status {code}"
        how = "a block closed its connection" if code == CUT_OFF else how
        how = "; ".join((how, *self._ended.noticed))
        return f"{how}: {said}" if said else how

    def _on_readable(self) -> None:
        if self._read_chunk() == b"":
            asyncio.get_running_loop().remove_reader(self._output)

    def _read_chunk(self) -> bytes | None:
        """Return the next bytes that the kernel printed, b"" at the end, None when there are none yet."""
        try:
            chunk = os.read(self._output, _READ)
        except BlockingIOError:
            return None
        if chunk:
            self._recorder.feed(chunk)
            self._progress(chunk)
        return chunk

    def _finish_output(self) -> Capture:
        """Return the output until now. Later output belongs to the next block."""
        for _ in range(_DRAINED if self._output >= 0 else 0):
            if not self._read_chunk():
                break
        finished, self._recorder = self._recorder.finish(), Recorder(self._at.artifacts.folder, KEPT)
        return finished

    def _discard_output(self) -> None:
        """Discard output that is not shown, and remove its file."""
        for _ in range(_DRAINED if self._output >= 0 else 0):
            if not self._read_chunk():
                break
        self._recorder.discard()
        self._recorder = Recorder(self._at.artifacts.folder, KEPT)
