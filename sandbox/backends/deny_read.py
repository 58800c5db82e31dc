"""A sandbox whose commands cannot read files that the user's rules deny, under any spelling of the path."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from sandbox.policy.rules import Rule, Rules
from sandbox.process.command import Command, Completed, Sandbox

_WILD = frozenset("*?")


class DenyReadSandbox:
    """Wrapper of a sandbox that masks denied files. They are searched for before each command: one may be new."""

    def __init__(self, sandbox: Sandbox, root: Path, rules: Rules) -> None:
        self.name = sandbox.name
        self.warning = sandbox.warning
        self._sandbox = sandbox
        self._root = root
        self._rules = rules

    async def run(self, command: Command, on_output: Callable[[bytes], None] | None = None) -> Completed:
        import asyncio

        found = await asyncio.to_thread(find_denied_paths, self._root, self._rules)
        return await self._sandbox.run(replace(command, denied=(*command.denied, *found)), on_output)


def apply_read_denials(sandbox: Sandbox, root: Path, rules: Rules) -> Sandbox:
    """Return the sandbox itself if no rule denies reading, else one that masks."""
    return DenyReadSandbox(sandbox, root, rules) if rules.read_denials else sandbox


def find_denied_paths(root: Path, rules: Rules) -> tuple[Path, ...]:
    """Return the files and folders that rules deny reading. Only patterns that may match anywhere need a walk."""
    plain = [each for rule in rules.read_denials if (each := _resolve_plain_rule(rule, root))]
    found = [each for each in plain if each.exists()]
    if len(plain) < len(rules.read_denials):
        found += _walk_denied_paths(root, rules)
    return tuple(dict.fromkeys(place for each in found for place in (each, each.resolve())))


def _resolve_plain_rule(rule: Rule, root: Path) -> Path | None:
    """Return the one path that a rule names, None if it has wildcards or matches at any depth."""
    pattern = rule.pattern.removesuffix("/**")
    if "/" not in rule.pattern.rstrip("/") or not _WILD.isdisjoint(pattern):
        return None
    return root / Path(pattern).expanduser()


def _walk_denied_paths(root: Path, rules: Rules) -> Iterator[Path]:
    for folder, names, files in os.walk(root):
        for name in (*files, *names):
            path = Path(folder, name)
            if rules.denies_reading(path.relative_to(root).as_posix()):
                yield path
        names[:] = [
            name
            for name in names
            if name != ".git" and not rules.denies_reading(Path(folder, name).relative_to(root).as_posix())
        ]
