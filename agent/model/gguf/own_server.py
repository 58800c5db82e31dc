"""The server of a model's file: started once for the user, shared by their sessions, started again if it was ended."""

from __future__ import annotations

import http.client
import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path

from agent.app_dirs import Home
from agent.model.gguf.gguf_file import GgufFacts, read_gguf
from agent.model.gguf.memory_plan import choose_window
from agent.model.gguf.server_program import VARIABLE, find_server_program
from agent.model.gguf.server_records import FOLDER, RecordFile, ServerRecord, list_records, read_start
from sandbox.errors import Fault, UserError
from sandbox.helpers.own_programs import drop_planted_libraries
from sandbox.lazy_dataclass import dataclass
from sandbox.sanitize import sanitize_text

IDLE = 600.0
"""Seconds without a request after which a server is ended: it holds gigabytes."""

LOADING = 300.0
"""Seconds for the weights to be read: from a slow disk, a large model takes minutes."""

_START = (
    "import sys; sys.path[:] = sys.argv[1:]; "
    "from agent.model.gguf.server_keeper import main; main(sys.stdin.readline())"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnServer:
    """The server of one model's file, running or not. window: in tokens; idle: see `IDLE`, 0: never"""

    weights: Path
    facts: GgufFacts
    program: str
    folder: Path
    window: int
    idle: float = IDLE

    @property
    def file(self) -> RecordFile:
        return RecordFile(self.folder, self.weights)

    def ensure(self, on_notice: Callable[[str], None] = lambda text: None) -> ServerRecord:
        """Return the record of the server, started if it does not run, once it answers. Raises UserError."""
        with self.file.lock():
            record = self.file.read()
            if record is None or not record.is_alive or not record.is_kept:
                end_server(record)
                on_notice(f"starting {Path(self.program).name} for {self.weights.name}")
                record = self._start()
            self.file.touch()
        self._wait_until_loaded(record)
        return record

    def _start(self) -> ServerRecord:
        order = {
            "weights": str(self.weights), "folder": str(self.folder), "program": self.program,
            "facts": asdict(self.facts), "window": self.window, "idle": self.idle,
            "port": _find_free_port(self.file.preferred_port), "token": secrets.token_hex(16),
        }  # fmt: skip
        floors = str(Path(__file__).resolve().parents[3])
        folders = [each for each in sys.path if os.path.isabs(each)]  # noqa: PTH117 (strings)
        done = subprocess.run(
            [sys.executable, "-I", "-S", "-c", _START, floors, *folders],
            input=json.dumps(order) + "\n",
            env=drop_planted_libraries(os.environ),
            cwd="/",
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            text=True,
            check=False,
        )
        record = self.file.read()
        if done.returncode or record is None:
            raise self._build_start_error()
        return record

    def _wait_until_loaded(self, record: ServerRecord) -> None:
        end = time.monotonic() + LOADING
        while time.monotonic() < end:
            if is_answering(record.port):
                return
            if not record.is_alive:
                raise self._build_start_error()
            time.sleep(0.1)
        raise UserError(
            Fault.MODEL_UNREACHABLE,
            f"{self.weights.name!r} was not loaded in {LOADING:.0f} s",
            "Try again: what was read of it is in memory now",
        )

    def _build_start_error(self) -> UserError:
        lines = _read_last_lines(self.file.log)
        if any("ended by SIGILL" in each for each in lines):
            reason, hint = "it was built for another processor", "Use a build for this one, or build it here"
        else:
            reason = next(
                (each for each in reversed(lines) if "error" in each.lower()), lines[-1] if lines else ""
            )
            hint = f"Its log: {self.file.log}; another program can be named in {VARIABLE}"
        name = Path(self.program).name
        return UserError(Fault.MODEL_UNREACHABLE, f"{name} ended: {reason or 'it said nothing'}", hint)


def plan_server(
    given: str, env: Mapping[str, str], *, window: int = 0, idle: float = IDLE, folder: Path | None = None
) -> OwnServer:
    """Return the server of a model's file, as it runs or would be started. Raises UserError.

    given: the path as the user writes it; window: tokens, 0 for what the memory has room for
    """
    path = Path(given).expanduser().absolute()
    facts = read_gguf(path)
    path = path.resolve()
    place = folder or find_server_folder(env)
    record = RecordFile(place, path).read()
    if record is not None and record.is_alive and record.is_kept and window in (0, record.window):
        return OwnServer(
            weights=path, facts=facts, program=find_server_program(env), folder=place, window=record.window,
            idle=record.idle,
        )  # fmt: skip
    program = find_server_program(env)
    chosen = choose_window(facts, path, window)
    return OwnServer(weights=path, facts=facts, program=program, folder=place, window=chosen, idle=idle)


def find_server_folder(env: Mapping[str, str]) -> Path:
    """Return the folder of records, in the data that commands in the sandbox cannot see."""
    return Home.from_environment(env).lasting_data / FOLDER


def list_servers(env: Mapping[str, str]) -> list[ServerRecord]:
    """Return the servers that run for this user."""
    return list_records(find_server_folder(env))


def end_server(record: ServerRecord | None) -> None:
    """End a server and what looks after it, and wait for both; none is no error."""
    if record is None:
        return
    if record.is_kept:
        with suppress(ProcessLookupError):
            os.kill(record.keeper, signal.SIGTERM)
    elif record.is_alive:
        with suppress(ProcessLookupError):
            os.kill(record.server, signal.SIGTERM)
    end = time.monotonic() + _END_SECONDS
    while time.monotonic() < end and (record.is_kept or record.is_alive):
        time.sleep(0.05)
    if read_start(record.server) == record.server_began:
        with suppress(ProcessLookupError):
            os.kill(record.server, signal.SIGKILL)


_END_SECONDS = 10.0


def is_answering(port: int) -> bool:
    """Return whether a server has loaded its weights (`/health` of llama.cpp's server, which needs no key)."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5.0)
    try:
        connection.request("GET", "/health")
        answer = connection.getresponse()
        answer.read(1 << 16)
        return answer.status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


def _find_free_port(preferred: int) -> int:
    for port in (preferred, 0):
        with suppress(OSError), socket.create_server(("127.0.0.1", port)) as free:
            return int(free.getsockname()[1])
    raise UserError(Fault.CONFIGURATION, "no port is free on this machine", "End other programs that listen.")


def _read_last_lines(log: Path) -> list[str]:
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - 4096))
            text = file.read().decode("utf-8", "replace")
    except OSError:
        return []
    return [sanitize_text(each).strip()[:300] for each in text.splitlines() if each.strip()]
