"""Other names of tools in one trial, as its task gives them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from agent.model.renamed_tools import RenamedTools, ToolNames
from agent.session_settings import SessionSettings
from agent.turn.action_format import resolve_action_mode
from agent.turn.runtime import Runtime
from packages.evaluation.tasks.task_file import RenamedTool
from sandbox.errors import Fault, UserError


def rename_task_tools(runtime: Runtime, tools: Mapping[str, RenamedTool]) -> None:
    """Show the model, and one that takes its place, the task's names of tools. Raises UserError for one that acts by
    code."""
    if resolve_action_mode(runtime.model.name, runtime.settings.actions) == "code":
        raise UserError(
            Fault.CONFIGURATION,
            f"{runtime.model.name!r} acts by code, and the task gives tools other names",
            "Run it with --actions tools or hybrid.",
        )
    names = {
        real: ToolNames(name=each.name, arguments=each.arguments, description=each.description)
        for real, each in tools.items()
    }
    format_actions = runtime.apply_action_format
    runtime.model = runtime.loop.model = RenamedTools(runtime.model, names)
    runtime.apply_action_format = lambda model: RenamedTools(format_actions(model), names)


def keep_to_one_session(settings: SessionSettings) -> SessionSettings:
    """Return settings without agents, which are sessions with the real names."""
    return replace(settings, agents=replace(settings.agents, delegate=False))
