"""Trial of commands: each is run confined and without writing, to see whether it works here.

A test that fails is no fault of the command. What reaches hosts, or does more than work in the project, is not run.
"""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Sequence
from pathlib import Path

from agent.memory.command_purposes import find_cause
from sandbox.errors import UserError
from sandbox.lazy_dataclass import dataclass
from sandbox.policy.shell import judge_command_line
from sandbox.process.command import Command
from tools.core.workspace import Workspace
from tools.shell.environment import shell_environment

TIMEOUT = 120.0
"""Seconds of one command: longer ones are known to start, which is what the trial asks."""

_LOCAL = frozenset(("none", "read", "write", "execute"))


@dataclass(frozen=True, slots=True, kw_only=True)
class Trial:
    """What became of a command. problem: why it cannot work here, "" if it does; unrun: why it was not run"""

    command: str
    problem: str = ""
    unrun: str = ""

    @property
    def holds(self) -> bool:
        """Whether it was run, and works here."""
        return not self.problem and not self.unrun


async def try_commands(at: Workspace, commands: Sequence[str]) -> list[Trial]:
    """Return what became of each command."""
    return [await _try_command(at, each) for each in dict.fromkeys(commands)]


def run_trials(root: Path, commands: Sequence[str]) -> list[Trial]:
    """Try commands in a workspace of their own. Raises UserError where nothing confines them."""
    from cli.commands.setup.test_workspace import open_test_workspace
    from sandbox.process.bounded_end import run_loop

    with tempfile.TemporaryDirectory(prefix="patchwright-trial-") as scratch:
        return run_loop(try_commands(open_test_workspace(root, Path(scratch)), commands))


async def _try_command(at: Workspace, line: str) -> Trial:
    if at.sandbox.name == "unconfined":
        return Trial(command=line, unrun="nothing confines it here")
    judged = judge_command_line(line, root=at.root)
    if judged.problems or any(each.kind not in _LOCAL or each.outside for each in judged.effects):
        return Trial(command=line, unrun="it does more than work in the project")
    command = Command(
        argv=("bash", "-c", line), cwd=at.root, timeout=TIMEOUT, scope="read-only", env=shell_environment()
    )
    try:
        done = await at.sandbox.run(command)
    except (UserError, OSError) as error:
        return Trial(command=line, unrun=str(error))
    if done.ended != "exited" or done.returncode == 0:
        return Trial(command=line)
    output = await asyncio.to_thread(done.stdout.text)
    cause = find_cause(output)
    if "ead-only file system" in output:
        return Trial(command=line, unrun="it writes into the project")
    return (
        Trial(command=line, problem=cause.text or f"exit {done.returncode}")
        if cause.is_wrong
        else Trial(command=line)
    )
