"""Frames to and from the host: four bytes of length, then JSON. Nothing is ever unpickled, on either side."""

from __future__ import annotations

import json
import os
import signal
import threading

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import Any


MOST = 16 << 20
"""Bytes of one frame; the host refuses longer ones and treats them as an attack."""


class HostGone(Exception):
    """The host has closed its end, or this process is a fork that has none."""


class Channel:
    """One socket to the host. A call is one frame out and one back, and only one is in progress at a time."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        self._lock = threading.Lock()
        self._main = threading.get_ident()
        self._held = False  # the main thread is within an exchange, which must not be interrupted
        self._pending = False
        self.number = 0  # of the block that runs, or ran last
        self.running = False
        self.forked = False
        os.set_inheritable(descriptor, False)
        os.register_at_fork(after_in_child=self._detach_fork)

    def send(self, frame: dict[str, Any]) -> None:
        if self.forked:
            raise HostGone
        data = json.dumps(frame, separators=(",", ":")).encode("utf-8", "replace")
        if len(data) > MOST:
            raise ValueError("%d bytes are too many for one message (at most %d)" % (len(data), MOST))
        data = len(data).to_bytes(4, "big") + data
        try:
            while data:
                data = data[os.write(self._descriptor, data) :]
        except OSError:
            raise HostGone from None

    def receive(self) -> Any:
        return json.loads(self._read_exactly(int.from_bytes(self._read_exactly(4), "big")))

    def exchange(self, frame: dict[str, Any]) -> Any:
        """Send a frame and return the answer. An interrupt during the exchange is raised after it."""
        ours = threading.get_ident() == self._main
        if ours:
            self._held = True
        try:
            with self._lock:
                self.send(frame)
                return self.receive()
        finally:
            if ours:
                self._held = False
                if self._pending:
                    self._pending = False
                    raise KeyboardInterrupt

    def on_interrupt(self, number: int, frame: FrameType | None) -> None:
        """Handle SIGINT; installed again before each block."""
        if self._held:
            self._pending = True
        elif self.running:
            raise KeyboardInterrupt

    def watch_interrupts(self, descriptor: int) -> None:
        """Wait for interrupts: each is one byte, the low byte of the number of the block to interrupt."""
        os.set_inheritable(descriptor, False)
        thread = threading.Thread(
            target=self._watch_interrupts, args=(descriptor,), name="patchwright", daemon=True
        )
        thread.start()

    def _watch_interrupts(self, descriptor: int) -> None:
        while True:
            try:
                byte = os.read(descriptor, 1)
            except OSError:  # a block closed it: the host kills the kernel instead
                return
            if not byte:
                return
            if self.running and byte[0] == self.number & 0xFF:
                signal.pthread_kill(self._main, signal.SIGINT)  # wakes it from any blocking call

    def _read_exactly(self, size: int) -> bytes:
        parts = []
        while size:
            try:
                part = os.read(self._descriptor, min(size, 1 << 16))
            except OSError:
                raise HostGone from None
            if not part:
                raise HostGone
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def _detach_fork(self) -> None:
        """Detach a fork: the channel belongs to the parent. The fork's frames could be mistaken for the
        parent's.
        """
        self.forked = True
        self._lock = threading.Lock()
        try:
            os.close(self._descriptor)
        except OSError:  # a block closed it
            pass
        self._descriptor = -1
