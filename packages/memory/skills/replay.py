"""Replay of a procedure in a fresh worktree, confined: whether its script and its check hold there.

Nothing of it touches the user's files. Where nothing confines commands, none is run.
"""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from agent.app_dirs import Home
from agent.children.places import Worktrees
from agent.memory.command_purposes import find_cause
from sandbox.errors import Fault, UserError
from sandbox.process.command import Command
from sandbox.sanitize import sanitize_text
from tools.core.workspace import Workspace
from tools.shell.environment import shell_environment

TIMEOUT = 600.0
"""Seconds of a script: a suite may take minutes."""


def replay(root: Path, home: Home, run: str, check: str) -> str:
    """Run both scripts in a new worktree with the present files; return why they do not hold, "" if they do.

    Raises UserError where no worktree can be made, or nothing confines commands.
    """
    from sandbox.process.bounded_end import run_loop

    with tempfile.TemporaryDirectory(prefix="patchwright-replay-") as scratch:
        return run_loop(_replay(root, home, run, check, Path(scratch)))


async def _replay(root: Path, home: Home, run: str, check: str, scratch: Path) -> str:
    from cli.commands.setup.test_workspace import open_test_workspace

    async with Worktrees(root, home).open_worktree() as place:
        at = await asyncio.to_thread(open_test_workspace, place.folder, scratch)
        if at.sandbox.name == "unconfined":
            raise UserError(
                Fault.CONFIGURATION,
                "nothing confines commands here, so no procedure is replayed",
                "See what is missing: patchwright doctor",
            )
        return await _run_script(at, run) or await _run_script(at, check)


async def _run_script(at: Workspace, text: str) -> str:
    """Return why a script did not end with 0, as a clause."""
    command = Command(argv=("sh", "-c", text), cwd=at.root, timeout=TIMEOUT, env=shell_environment())
    done = await at.sandbox.run(command)
    if done.ended != "exited":
        return f"it did not end within {TIMEOUT:g} seconds"
    if done.returncode == 0:
        return ""
    output = await asyncio.to_thread(done.stdout.text)
    return sanitize_text(find_cause(output).text) or f"exit {done.returncode}"
