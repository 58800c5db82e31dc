"""The process of a session: started apart from the program's own packages, lines of JSON in both directions."""

from __future__ import annotations

import asyncio
import json
import os
import sys
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from patchwright.api.errors import PatchwrightError

LONGEST_LINE = 64 << 20
"""Bytes of a line that is read; an event is far shorter."""

_KEPT_ERRORS = 20
"""Lines of standard error that are kept for an error's message."""

_START = (
    "import sys; sys.path.insert(0, sys.argv.pop(1)); from patchwright.launcher import main; sys.exit(main())"
)


class SessionProcess:
    """`patchwright run --input stream-json --output stream-json` as a child process."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._errors: list[str] = []
        self._reading = asyncio.create_task(self._keep_errors())

    @classmethod
    async def start(
        cls, arguments: Sequence[str], *, folder: Path, env: Mapping[str, str] | None
    ) -> SessionProcess:
        """Start it in a folder. The program's own modules are not on its path. Raises PatchwrightError."""
        place = str(Path(__file__).resolve().parents[2])
        argv = [sys.executable, "-I", "-c", _START, place, "run", *arguments]
        argv += ["--input", "stream-json", "--output", "stream-json"]
        try:
            process = await asyncio.create_subprocess_exec(
                *argv,
                cwd=folder,
                env=dict(env) if env is not None else dict(os.environ),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
                limit=LONGEST_LINE,
                start_new_session=True,  # Ctrl-C is for the program, which decides what becomes of the session
            )
        except OSError as error:
            raise PatchwrightError(f"cannot start in {str(folder)!r}: {error.strerror}") from None
        return cls(process)

    async def write(self, **fields: Any) -> None:
        """Write a line. Raises PatchwrightError if the process is gone."""
        stdin = self._process.stdin
        assert stdin is not None
        try:
            stdin.write(json.dumps(fields, ensure_ascii=False).encode("utf-8", "replace") + b"\n")
            await stdin.drain()
        except (BrokenPipeError, ConnectionResetError):
            raise await self.explain_end() from None

    async def read_lines(self) -> AsyncIterator[Mapping[str, Any]]:
        """Yield the lines of its output until it ends."""
        stdout = self._process.stdout
        assert stdout is not None
        while line := await stdout.readline():
            with suppress(ValueError):  # cut off by a kill
                fields = json.loads(line)
                if fields.get("kind") == "error":
                    self._errors.append("\n  ".join(filter(None, (fields["message"], fields.get("hint")))))
                yield fields

    async def explain_end(self) -> PatchwrightError:
        """Wait for its end, and return the error that says why it came."""
        code = await self._process.wait()
        await self._reading
        said = "\n".join(self._errors).strip()
        return PatchwrightError(said or f"the session's process ended with exit code {code}", code)

    async def close(self, patience: float) -> int:
        """End the input, and wait for the end of the process; kill it after `patience` seconds. Returns its code."""
        assert self._process.stdin is not None
        with suppress(BrokenPipeError, ConnectionResetError):
            self._process.stdin.close()
        try:
            async with asyncio.timeout(patience):
                code = await self._process.wait()
        except TimeoutError:
            with suppress(ProcessLookupError):
                self._process.kill()
            code = await self._process.wait()
        await self._reading
        return code

    async def _keep_errors(self) -> None:
        stderr = self._process.stderr
        assert stderr is not None
        while line := await stderr.readline():
            self._errors = [*self._errors, line.decode("utf-8", "replace").rstrip()][-_KEPT_ERRORS:]
