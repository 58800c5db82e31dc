"""Variables that hooks of `SessionStart` set for the commands of a session, by lines of shell in `CLAUDE_ENV_FILE`.

Each hook has a file of its own, in a new folder: a hook of a project could put a link in the place of a file that
another hook, or the next start of the session, writes.
"""

from __future__ import annotations

import asyncio
import secrets
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from agent.turn.runtime import Runtime
from sandbox.errors import UserError
from sandbox.fs.untrusted_file import read_workspace_file
from sandbox.process.command import Command
from sandbox.process.output_capture import HEAD

VARIABLE = "CLAUDE_ENV_FILE"

_NAME = "variables.sh"
_LARGEST = 64_000
"""Bytes of the lines of one hook: a program's argument may be twice as long."""

_OF_A_SHELL = frozenset({"_", "SHLVL", "PWD", "OLDPWD", "TMPDIR"})
_SCRIPT = """env -0; printf '%s\\0' "$2"; set -a; eval "$1" >/dev/null 2>&1; env -0"""
_PATIENCE = 30.0
"""Seconds that the lines may take: they may start a version manager."""


class EnvironmentFiles:
    """The files of the hooks of one start."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._files: list[Path] = []

    def create(self) -> Path:
        """Return a new empty file for one hook, in a folder that it may write."""
        file = self._folder / str(len(self._files)) / _NAME
        file.parent.mkdir(mode=0o700)
        file.touch(mode=0o600)
        self._files.append(file)
        return file

    async def load(self, runtime: Runtime) -> str:
        """Give the commands of a session what the lines set, one file after the other; return problems, "" for none."""
        problems = [await _load_file(runtime, each) for each in self._files]
        return "; ".join(filter(None, problems))


@contextmanager
def open_environment_files(runtime: Runtime) -> Iterator[EnvironmentFiles]:
    """Open a new folder for the files, and remove it at the end."""
    with tempfile.TemporaryDirectory(
        prefix="hook-environment-",
        dir=runtime.session.folder,
        ignore_cleanup_errors=True,  # a hook that nobody waits for may still write there
    ) as folder:
        yield EnvironmentFiles(Path(folder))


async def _load_file(runtime: Runtime, file: Path) -> str:
    """Run the lines of a file in the sandbox, once: a hook of a project may have written them."""
    try:
        content = await asyncio.to_thread(read_workspace_file, file.parent, _NAME, _LARGEST)
    except UserError as error:
        return error.message
    lines = (content or b"").replace(b"\0", b"").decode("utf-8", "surrogateescape")
    if not lines.strip():
        return ""
    border = secrets.token_hex(16)
    done = await runtime.workspace.sandbox.run(
        Command(
            argv=("bash", "-c", _SCRIPT, "bash", lines, border),
            cwd=runtime.workspace.root,
            env=dict(runtime.workspace.variables),
            timeout=_PATIENCE,
            stderr="separate",
            scope="read-only",
            whole=HEAD,
        )
    )
    before, found, after = done.stdout.text().partition(f"{border}\0")
    if not found or not after:
        return f"the lines in ${VARIABLE} did not come to their end"
    known = _parse_variables(before)
    changed = {key: value for key, value in _parse_variables(after).items() if known.get(key) != value}
    runtime.workspace.variables.update(changed)
    return ""


def _parse_variables(text: str) -> Mapping[str, str]:
    pairs = (each.partition("=") for each in text.split("\0") if "=" in each)
    return {name: value for name, _, value in pairs if name not in _OF_A_SHELL}
