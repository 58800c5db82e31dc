"""Parts of protecting rules that the policy and the sandbox enforce: reading, and writing by commands."""

from __future__ import annotations

from collections.abc import Sequence

from agent.rules.rule_kinds import ProtectRule
from agent.session_settings import NamedRule
from sandbox.policy.rules import Rule, Rules


def list_protected_globs(rules: Sequence[NamedRule]) -> list[str]:
    """Return the globs of files that no command may change, since nobody is asked about it while it runs."""
    protecting = [rule for rule in rules if isinstance(rule, ProtectRule) and rule.level == "refuse"]
    return [path for rule in protecting for path in rule.paths]


def add_read_restrictions(permissions: Rules, rules: Sequence[NamedRule]) -> Rules:
    """Return the permissions with those that keep files from being read; nothing is allowed by it."""
    more = [
        Rule(kind="read", pattern=path, verdict="deny" if rule.level == "refuse" else "ask")
        for rule in rules
        if isinstance(rule, ProtectRule) and rule.access == "read" and rule.level != "remind"
        for path in rule.paths
    ]
    return Rules(tuple(dict.fromkeys((*permissions.rules, *more)))) if more else permissions
