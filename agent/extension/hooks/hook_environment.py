"""Variables that hooks of `SessionStart` set for the commands of a session, by lines of shell in `CLAUDE_ENV_FILE`."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from pathlib import Path

from agent.turn.runtime import Runtime
from sandbox.fs.private_files import create_private_folder
from sandbox.process.command import Command
from sandbox.process.output_capture import HEAD

VARIABLE = "CLAUDE_ENV_FILE"

_OF_A_SHELL = frozenset({"_", "SHLVL", "PWD", "OLDPWD", "TMPDIR"})
_SCRIPT = """env -0; printf '%s\\0' "$2"; set -a; . "$1" >/dev/null 2>&1; env -0"""
_PATIENCE = 30.0
"""Seconds that the lines may take: they may start a version manager."""


def create_environment_file(runtime: Runtime) -> Path:
    """Return a new empty file for the lines, in a folder that a hook in the sandbox may write."""
    folder = runtime.session.folder / "hook-environment"
    create_private_folder(folder)
    file = folder / "variables.sh"
    file.write_bytes(b"")
    return file


async def load_environment_file(runtime: Runtime, file: Path) -> str:
    """Give the commands of a session what the lines of a file set; return a problem, "" for none.

    The lines run in the sandbox, once: a hook of a project may have written them.
    """
    if not file.is_file() or file.stat().st_size == 0:
        return ""
    border = secrets.token_hex(16)
    done = await runtime.workspace.sandbox.run(
        Command(
            argv=("bash", "-c", _SCRIPT, "bash", str(file), border),
            cwd=runtime.workspace.root,
            timeout=_PATIENCE,
            stderr="separate",
            scope="read-only",
            readable=(file,),
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
