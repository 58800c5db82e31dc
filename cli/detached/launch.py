"""Start of a detached run: this command line again, in a process of its own that no terminal ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from typing import IO

from agent.exit_codes import Exit
from cli.own_command import find_own_command
from sandbox.lazy_dataclass import dataclass

REPORT = "--detached-report"
"""Hidden option of the commands that can run detached: descriptor to which the session's id is written, and after a
colon the terminal to call."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    """A process that was started. session: "" if it could not open one; then with its exit code and its errors"""

    process: subprocess.Popen[bytes]
    session: str = ""
    code: int = 0
    errors: str = ""


def start_detached(words: Sequence[str], stdin: bytes = b"") -> Started:
    """Start this program with `words`, the first of which is the command, and wait until its session is open.

    stdin: the standard input of the process
    """
    read_end, write_end = os.pipe()
    with tempfile.TemporaryFile() as said, tempfile.TemporaryFile() as given:
        given.write(stdin)
        given.seek(0)
        process = subprocess.Popen(
            [*find_own_command(), words[0], f"{REPORT}={write_end}:{_find_terminal()}", *words[1:]],
            stdin=given if stdin else subprocess.DEVNULL,
            stdout=said,
            stderr=said,
            pass_fds=(write_end,),
            start_new_session=True,
        )
        os.close(write_end)
        with os.fdopen(read_end, "rb") as report:
            line = report.readline()
        if line:
            return Started(process=process, session=str(json.loads(line)["session"]))
        code = process.wait() or int(Exit.INTERNAL)
        return Started(process=process, code=code, errors=_read_text(said))


def _find_terminal() -> str:
    for stream in (sys.stderr, sys.stdout, sys.stdin):
        with suppress(OSError, ValueError):
            return os.ttyname(stream.fileno())
    return ""


def _read_text(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "replace")
