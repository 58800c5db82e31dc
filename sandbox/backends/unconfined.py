"""Run commands without confinement, where none is available: limits and the kill of the process tree still apply."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

from sandbox.backends.audit import audit_workspace
from sandbox.process.command import Command, Completed
from sandbox.process.process_tree import Descendants
from sandbox.process.resource_limits import build_limit_prefix, compute_user_process_limit
from sandbox.process.spawn import Launch, check_folder, find_program, supervise
from sandbox.secrets.child_environment import build_child_environment


class Unconfined:
    """A sandbox in name only. The environment is still allow-listed: a command sees none of our keys."""

    name = "unconfined"

    def __init__(self, root: Path, *, spill: Path | None = None, because: str = "") -> None:
        self.root = root.resolve()
        self.warning = (
            f"Commands run WITHOUT a sandbox{f' ({because})' if because else ''}: "
            "they can read and write whatever you can, and use the network."
        )
        self._spill = spill

    async def run(self, command: Command, on_output: Callable[[bytes], None] | None = None) -> Completed:
        """See `Sandbox.run`."""
        import asyncio
        from dataclasses import replace

        cwd = check_folder(command, self.root)
        tree = Descendants()
        own = {"TMPDIR": os.environ["TMPDIR"]} if "TMPDIR" in os.environ else {}
        env = build_child_environment({**own, **command.env, **tree.environment}, self.root)
        find_program(command, env)
        audit = None if command.resident else await asyncio.to_thread(audit_workspace, self.root, None)
        limits = build_limit_prefix(command.limits, processes=compute_user_process_limit(command.limits))
        argv = (*limits, *command.argv)
        launch = Launch(argv=argv, env=env, cwd=cwd, pass_fds=command.descriptors)
        done = await supervise(command, launch, tree, spill=self._spill, on_output=on_output)
        return replace(done, noticed=(*done.noticed, *(audit.finish() if audit else ())))
