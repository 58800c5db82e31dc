"""A sandbox whose commands cannot change files that the user's rules protect, under any spelling of the path."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from sandbox.backends.deny_read import find_matching_paths
from sandbox.policy.rules import Rule
from sandbox.process.command import Command, Completed, Sandbox

MOST_GUARDED = 500
"""Protected files from which on they are not mounted read-only one by one: a change is found afterwards and undone."""

_MOUNTING = ("bubblewrap", "seatbelt", "container")
"""Backends that close single files. Landlock would close the folder around each to new files, too."""


class DenyWriteSandbox:
    """Wrapper of a sandbox that closes protected files. They are searched for before each command: one may be new."""

    def __init__(self, sandbox: Sandbox, root: Path, rules: Sequence[Rule]) -> None:
        self.name = sandbox.name
        self.warning = sandbox.warning
        self._sandbox = sandbox
        self._root = root
        self._rules = rules

    async def run(self, command: Command, on_output: Callable[[bytes], None] | None = None) -> Completed:
        """See `Sandbox.run`."""
        import asyncio

        if command.scope == "workspace":
            found = await asyncio.to_thread(find_matching_paths, self._root, self._rules)
            if len(found) <= MOST_GUARDED:
                command = replace(command, guarded=(*command.guarded, *found))
        return await self._sandbox.run(command, on_output)


def apply_write_denials(sandbox: Sandbox, root: Path, patterns: Sequence[str]) -> Sandbox:
    """Return the sandbox itself if nothing is protected, or where single files cannot be, else one that protects.

    patterns: globs as in permissions
    """
    if not patterns or sandbox.name not in _MOUNTING:
        return sandbox
    return DenyWriteSandbox(
        sandbox, root, [Rule(kind="edit", pattern=each, verdict="deny") for each in patterns]
    )
