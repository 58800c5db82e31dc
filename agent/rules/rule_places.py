"""Paths of rules in one workspace: a full path, or one from `~`, becomes what it means there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from agent.rules.rule_kinds import DiffRule, FreezeRule, ImportsRule, ProtectRule
from agent.session_settings import NamedRule
from sandbox.policy.rule_places import is_absolute, list_relative_patterns


def bind_rules(rules: Sequence[NamedRule], root: Path) -> tuple[NamedRule, ...]:
    """Return the rules for a workspace, as `Rules.bind` does for permissions: paths are compared relative to it.

    A rule on other places only is left out: without a path it would hold everywhere.
    """
    kinds = (DiffRule, FreezeRule, ImportsRule, ProtectRule)
    if not any(isinstance(rule, kinds) and any(map(is_absolute, rule.paths)) for rule in rules):
        return tuple(rules)
    from sandbox.fs.repository import find_main_work_tree

    main = find_main_work_tree(root)  # its files are in a linked work tree, too
    places = (root,) if main is None else (root, main)
    found: list[NamedRule] = []
    for rule in rules:
        if not isinstance(rule, kinds) or not rule.paths:
            found.append(rule)
        elif paths := [each for path in rule.paths for each in _bind_path(path, places)]:
            found.append(replace(rule, paths=list(dict.fromkeys(paths))))
    return tuple(found)


def _bind_path(path: str, places: Sequence[Path]) -> Sequence[str]:
    if not is_absolute(path):
        return (path,)
    return [each for place in places for each in list_relative_patterns(path, place, loose=True)]
