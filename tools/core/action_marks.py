"""Marks on actions: an effect that reaches beyond the workspace, a command whose changes were undone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from sandbox.policy.effects import Effect
from tools.core.action import Observation
from tools.core.text import join_names

MOST_UNDONE = 10
"""Undone paths that an observation names for each reason."""


def describe_undone(observation: Observation, undone: Mapping[str, str]) -> Observation:
    """Add the changes of a command that were undone, and why; it has then failed."""
    from sandbox.sanitize import quote_name

    reasons: dict[str, list[str]] = {}
    for path, reason in undone.items():
        reasons.setdefault(reason, []).append(quote_name(path))
    lines = [f"undone: {join_names(paths, MOST_UNDONE)}: {reason}" for reason, paths in reasons.items()]
    data = {**observation.data, "undone": list(undone)}
    return replace(observation, text="\n".join([observation.text, *lines]), data=data, failed=True)


def mark_guarded_paths(effect: Effect, root: Path) -> Effect:
    """Mark an edit of files that editors, shells or hooks act on as outside: it takes effect beyond the workspace."""
    if effect.kind != "write":
        return effect
    from sandbox.fs.protected_paths import find_protected_name

    guards = dict.fromkeys(guard for path in effect.paths if (guard := find_protected_name(root, path)))
    if not guards:
        return effect
    reason = f"git, editors, shells, hooks or services act on {', '.join(guards)}"
    return replace(effect, outside=True, reason=reason)
