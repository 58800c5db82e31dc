"""A sandbox whose commands cannot read files that the user's rules deny, under any spelling of the path."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from sandbox.policy.rules import Rule, Rules, matches_pattern
from sandbox.process.command import Command, Completed, Sandbox

_WILD = frozenset("*?[")


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
    """Return the files and folders that rules deny reading."""
    return find_matching_paths(root, rules.read_denials)


def find_matching_paths(root: Path, rules: Sequence[Rule]) -> tuple[Path, ...]:
    """Return the files and folders that rules on paths match. Only patterns that may match anywhere need a walk."""
    plain = [each for rule in rules if (each := _resolve_plain_rule(rule, root))]
    found = [each for each in plain if each.exists()]
    if len(plain) < len(rules):
        found += _walk_matching_paths(root, rules)
    return tuple(dict.fromkeys(place for each in found for place in (each, each.resolve())))


def _resolve_plain_rule(rule: Rule, root: Path) -> Path | None:
    """Return the one path that a rule names, None if it has wildcards or matches at any depth."""
    pattern = rule.pattern.removesuffix("/**")
    if "/" not in rule.pattern.rstrip("/") or not _WILD.isdisjoint(pattern):
        return None
    return root / Path(pattern).expanduser()


def _walk_matching_paths(root: Path, rules: Sequence[Rule]) -> Iterator[Path]:
    def is_matched(folder: str, name: str) -> bool:
        path = Path(folder, name).relative_to(root).as_posix()
        return any(matches_pattern(rule, path) for rule in rules)

    for folder, names, files in os.walk(root):
        for name in (*files, *names):
            if is_matched(folder, name):
                yield Path(folder, name)
        names[:] = [name for name in names if name != ".git" and not is_matched(folder, name)]
