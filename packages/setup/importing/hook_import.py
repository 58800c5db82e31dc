"""Hooks of other agents whose files have Claude Code's schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from packages.setup.importing.import_plan import ImportPlan

FILE = "agent-hooks.json"


def add_hooks(plan: ImportPlan, content: Mapping[str, Any], source: str) -> None:
    """Take the hooks of a file, unless it switches them off; each is shown with what it runs."""
    from agent.extension.hooks.hook_definition import EVENTS
    from agent.extension.hooks.hook_parser import parse_hooks

    hooks = content.get("hooks")
    if not hooks:
        return
    if content.get("disableAllHooks", False) is not False:
        plan.left.append(f"{source}: hooks: they are switched off by `disableAllHooks`")
    elif not isinstance(hooks, dict):
        plan.left.append(f"{source}: hooks: they are no table of events")
    else:
        found = parse_hooks(content, source, plan.left, is_project=False)
        plan.shown += [f"{each.label}: {each.shown}" for each in found if not each.refusal]
        known = {event: each for event, each in hooks.items() if event in EVENTS}
        plan.files[FILE] = f"{json.dumps({'hooks': known}, indent=2, ensure_ascii=False)}\n".encode()
