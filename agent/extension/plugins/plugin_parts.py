"""Parts of a plugin and their rights, in words for the person who decides whether to trust it."""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path

from agent.extension.commands.command_file import SHELL, BadCommandFile, parse_command_file
from agent.extension.extension_files import SKILL_FILE
from agent.extension.plugins.plugin_hooks import read_plugin_hooks
from agent.extension.plugins.plugin_layout import list_markdown_files, list_skill_places
from agent.extension.plugins.plugin_servers import PluginServer, read_servers
from agent.extension.plugins.plugin_store import Plugin
from agent.extension.skills.skill_file import BadSkill, parse_skill
from agent.extension.skills.skill_files import list_skill_files, read_skill_file
from agent.team import OWN_TOOLS
from agent.team.definitions.agent_file import BadAgentFile, parse_agent_file
from sandbox.errors import UserError
from sandbox.fs.regular_file import SETTINGS, read_regular_file
from sandbox.lazy_dataclass import dataclass
from tools.builtin_tools import NAMES
from tools.core.text import SHOWN_COMMAND, clip

_DOWNLOADERS = ("npx", "uvx", "bunx", "pnpx")
"""Programs that download a server at each start, which the sandbox prevents unless the user lists the hosts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginPart:
    """kind: skill, agent, command, hook or server; does: its rights, a line; digest: of its files"""

    kind: str
    name: str
    does: str
    digest: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginContents:
    """parts: in their order; left: unused parts with the reason, a line each"""

    parts: tuple[PluginPart, ...]
    left: tuple[str, ...]


def read_parts(plugin: Plugin) -> PluginContents:
    """Return the parts of a plugin whose files are in its folder."""
    left: list[str] = []
    parts = [
        *_read_skills(plugin, left),
        *_read_commands(plugin, left),
        *_read_agents(plugin, left),
        *_read_hooks(plugin, left),
        *(_describe_server(plugin, each) for each in read_servers(plugin, left)),
    ]
    return PluginContents(parts=tuple(parts), left=tuple(left))


def _read_skills(plugin: Plugin, left: list[str]) -> Iterator[PluginPart]:
    for folder in list_skill_places(plugin):
        source = folder.relative_to(plugin.folder).as_posix()
        try:
            files = list_skill_files(folder)
            contents = {
                each: read_skill_file(folder, "", folder, each) or b"" for each in (SKILL_FILE, *files)
            }
            skill = parse_skill(contents[SKILL_FILE].decode("utf-8", "replace"), source, folder, files=files)
        except (BadSkill, UserError) as error:
            left.append(str(error))
            continue
        words = [f"text, read when it is used: {clip(skill.description, 200)}"]
        if scripts := [each for each in files if each.startswith("scripts/")]:
            words.append(f"scripts, which run in the sandbox: {clip(', '.join(scripts), 200)}")
        if skill.allowed_tools:
            words.append(f"would like, and is not granted: {', '.join(skill.allowed_tools)}")
        if skill.unused:
            left.append(f"{source}/{SKILL_FILE}: fields without effect: {', '.join(skill.unused)}")
        whole = b"".join(name.encode() + b"\0" + contents[name] for name in sorted(contents))
        yield _make_part(plugin, "skill", skill.name, "; ".join(words), whole)


def _read_commands(plugin: Plugin, left: list[str]) -> Iterator[PluginPart]:
    for path, name in list_markdown_files(plugin, "commands"):
        content = _read(path, left)
        try:
            called = name.removesuffix(".md").replace("/", ":")
            command = parse_command_file(content.decode("utf-8", "replace"), name, called, is_project=True)
        except BadCommandFile as error:
            left.append(str(error))
            continue
        words = [f"a prompt that you call: {clip(command.description, 200)}"]
        if lines := SHELL.findall(command.template):
            words.append(f"runs in the sandbox: {clip('; '.join(lines), SHOWN_COMMAND)}")
        if command.allowed_tools:
            words.append(f"would like, and is not granted: {', '.join(command.allowed_tools)}")
        yield _make_part(plugin, "command", command.name, "; ".join(words), content)


def _read_agents(plugin: Plugin, left: list[str]) -> Iterator[PluginPart]:
    for path, name in list_markdown_files(plugin, "agents"):
        content = _read(path, left)
        try:
            text = content.decode("utf-8", "replace")
            agent = parse_agent_file(text, name, Path(name).stem, NAMES | OWN_TOOLS)
        except BadAgentFile as error:
            left.append(str(error))
            continue
        tools = "all of its session's" if agent.tools is None else ", ".join(e.written for e in agent.tools)
        words = [f"tools: {tools or 'none'}", f"mode: {agent.mode or 'by its tools'}, at most its session's"]
        words.append(clip(agent.description, 200))
        yield _make_part(plugin, "agent", agent.name, "; ".join(words), content)
        left += agent.warnings


def _read_hooks(plugin: Plugin, left: list[str]) -> Iterator[PluginPart]:
    for number, hook in enumerate(read_plugin_hooks(plugin, left), 1):
        how = "runs in the sandbox" if hook.kind == "command" else "asks the fast model"
        if hook.refusal:
            how = "denies what it guards, since it cannot run" if hook.is_guard else "cannot run"
        words = [f"{how}: {clip(hook.shown, SHOWN_COMMAND)}"]
        if hook.condition:
            words.append(f"if {hook.condition}")
        yield _make_part(plugin, "hook", f"{hook.label} {number}", "; ".join(words), hook.identity.encode())


def _describe_server(plugin: Plugin, server: PluginServer) -> PluginPart:
    if server.url:
        words = [f"is reached at {clip(server.url, SHOWN_COMMAND)}"]
        if server.headers:
            words.append(f"gets the headers {', '.join(server.headers)}")
        if server.variables:
            words.append(f"gets the values of your {', '.join(server.variables)}")
        return _make_part(plugin, "server", server.name, "; ".join(words), repr(server).encode())
    words = [f"starts in the sandbox: {clip(shlex.join((server.command, *server.arguments)), SHOWN_COMMAND)}"]
    if server.environment:
        words.append(f"sets {', '.join(server.environment)}")
    if server.variables:
        words.append(f"gets the values of your {', '.join(server.variables)}")
    if server.command in _DOWNLOADERS:
        words.append(
            f"{server.command} downloads it, which the sandbox prevents unless `network` lists the hosts"
        )
    return _make_part(plugin, "server", server.name, "; ".join(words), repr(server).encode())


def _read(path: Path, left: list[str]) -> bytes:
    try:
        return read_regular_file(path, SETTINGS) or b""
    except UserError as error:
        left.append(error.message)
        return b""


def _make_part(plugin: Plugin, kind: str, name: str, does: str, content: bytes) -> PluginPart:
    return PluginPart(
        kind=kind, name=f"{plugin.name}:{name}", does=does, digest=hashlib.sha256(content).hexdigest()
    )


def compare_parts(before: Sequence[PluginPart], after: Sequence[PluginPart]) -> list[str]:
    """Return a line for each part that was added, removed or changed, with its rights now."""
    old = {(each.kind, each.name): each for each in before}
    new = {(each.kind, each.name): each for each in after}
    lines = [f"- {each.kind} {each.name}: {each.does}" for key, each in old.items() if key not in new]
    for key, each in new.items():
        known = old.get(key)
        if known is None:
            lines.append(f"+ {each.kind} {each.name}: {each.does}")
        elif known.does != each.does:
            lines.append(f"! {each.kind} {each.name}: {each.does} (was: {known.does})")
        elif known.digest != each.digest:
            lines.append(f"~ {each.kind} {each.name}: other content, may do the same: {each.does}")
    return lines
