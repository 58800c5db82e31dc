"""A process that looks after one model server: it starts it, confined, and ends it when nobody has used it for long.

It outlives the session that started it, so that the next one finds the weights loaded.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any, NoReturn

from agent.model.gguf.gguf_file import GgufFacts
from agent.model.gguf.server_program import build_command, build_environment, build_reach
from agent.model.gguf.server_records import RecordFile, ServerRecord, read_start, read_work
from sandbox.helpers.helper_confinement import start_confined

ROUND = 1.0
"""Seconds between looks at the server."""

BUSY_TICKS = 2
"""Ticks (of 10 ms) of processor time in one round above which a server is at work; one that waits takes none."""

END_SECONDS = 5.0
"""For a server to end when it is asked to."""

LONGEST_LOG = 1 << 20
"""Bytes of a server's log, which is emptied then."""


def main(line: str) -> None:
    """Start the server that a line of JSON describes, and look after it in a process of its own.

    Returns when the server is started and recorded; the rest is the child's.
    """
    order = json.loads(line)
    started, tell = os.pipe()
    if os.fork():
        os.close(tell)
        sys.exit(0 if os.read(started, 1) else 1)
    os.setsid()
    os.close(started)
    Keeper(order).run(tell)


class Keeper:
    """Looks after the server of one order (see `own_server.py`)."""

    def __init__(self, order: dict[str, Any]) -> None:
        self._weights = Path(order["weights"])
        self._file = RecordFile(Path(order["folder"]), self._weights)
        self._order = order
        self._ended = False

    def run(self, tell: int) -> NoReturn:
        """Start the server, tell of it, and return when it has ended."""
        signal.signal(signal.SIGTERM, self._ask_to_end)
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        process = self._start()
        record = ServerRecord(
            path=str(self._weights), port=self._order["port"], token=self._order["token"],
            window=self._order["window"], idle=self._order["idle"],
            keeper=os.getpid(), keeper_began=read_start(os.getpid()),
            server=process.pid, server_began=read_start(process.pid),
        )  # fmt: skip
        self._file.write(record)
        os.write(tell, b"x")
        os.close(tell)
        self._watch(process)
        os._exit(0)

    def _ask_to_end(self, number: int, frame: object) -> None:
        self._ended = True

    def _start(self) -> subprocess.Popen[bytes]:
        order = self._order
        facts = GgufFacts(**order["facts"])
        command = build_command(order["program"], self._weights, order["port"], order["window"])
        environment = build_environment(order["program"], order["token"])
        reach = build_reach(order["program"], self._weights, order["port"], facts, order["window"])
        log = os.open(self._file.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)

        def start() -> subprocess.Popen[bytes]:
            return subprocess.Popen(
                command, env=environment, cwd="/", stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

        process = start_confined(reach, start)
        os.close(log)
        return process

    def _watch(self, process: subprocess.Popen[bytes]) -> None:
        used, work = time.monotonic(), 0
        seen = 0.0
        while process.poll() is None:
            now_work = read_work(process.pid)
            touched = self._read_touch()
            if now_work > work + BUSY_TICKS or touched != seen:
                used = time.monotonic()
            work, seen = now_work, touched
            idle = self._order["idle"]
            if self._ended or (idle and time.monotonic() - used > idle and self._is_unused(seen)):
                self._end(process)
                break
            with suppress(OSError):
                if self._file.log.stat().st_size > LONGEST_LOG:
                    os.truncate(self._file.log, 0)
            time.sleep(ROUND)
        self._note_end(process.returncode)
        self._file.remove()

    def _is_unused(self, seen: float) -> bool:
        """Return whether nobody has begun to use the server since the last look; from now on nobody does."""
        with self._file.lock(waits=False) as held:
            if held and self._read_touch() == seen:
                self._file.remove()
                return True
        return False

    def _read_touch(self) -> float:
        try:
            return self._file.path.stat().st_mtime
        except OSError:  # removed by hand
            self._ended = True
            return 0.0

    def _end(self, process: subprocess.Popen[bytes]) -> None:
        process.terminate()
        try:
            process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _note_end(self, code: int) -> None:
        if code < 0 and not self._ended:  # by itself: the log is to say why
            with suppress(OSError), self._file.log.open("a") as log:
                log.write(f"\nended by {signal.Signals(-code).name}\n")
