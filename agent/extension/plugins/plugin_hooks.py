"""The hooks of a plugin."""

from __future__ import annotations

from agent.extension.hooks.hook_definition import HookDefinition
from agent.extension.hooks.hook_parser import parse_hook_file
from agent.extension.plugins.plugin_store import Plugin
from sandbox.errors import UserError
from sandbox.fs.regular_file import SETTINGS, read_regular_file


def read_plugin_hooks(plugin: Plugin, left: list[str]) -> list[HookDefinition]:
    """Return the hooks of a plugin, which have no more rights than a project's. left: receives notices"""
    found: list[HookDefinition] = []
    for path in plugin.list_places("hooks"):
        source = f"{plugin.name}:{path.relative_to(plugin.folder).as_posix()}"
        try:
            content = read_regular_file(path, SETTINGS)
        except UserError as error:
            left.append(f"{source}: its hooks are not used: {error}")
            continue
        found += parse_hook_file(content or b"{}", source, left, is_project=True, plugin=plugin.name)
    return found
