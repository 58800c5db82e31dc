"""Capabilities of a session: the sandbox, tools and snapshots of its mode."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from agent.extension.extension_files import make_copies_folder
from agent.model.protocol import ToolSpec
from agent.turn.action_format import resolve_action_mode
from sandbox.deferred import defer
from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass
from sandbox.policy.decision import Mode
from tools.core.registry import Tool, Toolbox

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any, TypeAlias

    from agent.app_dirs import Home
    from agent.session_request import SessionRequest
    from agent.session_settings import SessionSettings
    from sandbox.process.command import Sandbox
    from sandbox.snapshots.workspace_snapshots import Snapshots

    Assemble: TypeAlias = Callable[[SessionSettings, SessionRequest, Home], Any]
    """Returns a `Runtime`, which this module is part of."""


_OF_REPOSITORIES = ("git_status", "git_diff", "git_bisect", "git_log", "git_show", "git_blame")
"""Tools that need a git repository."""

_WRITE_NOTHING = frozenset({"check_tests", "show_test_command"})
"""Tools that run commands, always in a sandbox that may not write to the workspace."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capabilities:
    """Capabilities of a mode. snapshots: None if nothing can be written"""

    sandbox: Sandbox
    toolbox: Toolbox
    snapshots: Snapshots | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEnvironment:
    """Settings, request, workspace and model of a session: all that its capabilities depend on besides the mode.

    assemble: opens another session, such as a child, in this process
    """

    settings: SessionSettings
    request: SessionRequest
    home: Home
    root: Path
    is_git: bool
    model: str
    folder: Path
    assemble: Assemble

    def build_capabilities(self, mode: Mode) -> Capabilities:
        """Build the capabilities of a mode. Raises UserError if the sandbox or writing does not work."""
        from sandbox.backends.selection import choose_sandbox
        from sandbox.guards import ALLOWED_REPOSITORIES

        access, home, root = self.settings.access, self.home, self.root
        visible: tuple[Path, ...] = ()
        if access.visible_paths:
            from sandbox.view.visible_paths import resolve_visible_paths

            visible = resolve_visible_paths(access.visible_paths)
        copies = filter(None, [make_copies_folder(home, self.folder.name)])
        check_writable(root, mode)
        ALLOWED_REPOSITORIES[root.resolve()] = access.rules.allows_repository
        sandbox = choose_sandbox(
            root,
            access.sandbox,
            cache=home.lasting_cache,
            spill=self.folder,
            hidden=home.hidden,
            network=mode is Mode.FULL,
            image=access.container_image,
            resident=access.resident_sandbox,
            hosts=access.network if mode is Mode.WORKSPACE else (),
            visible=(*visible, *copies),
        )
        writes = mode is not Mode.READ_ONLY
        if access.rules.read_denials:
            from sandbox.backends.deny_read import apply_read_denials

            sandbox = apply_read_denials(sandbox, root, access.rules)
        if self.settings.rules and writes:
            from agent.rules.closed_paths import list_protected_globs
            from sandbox.backends.deny_write import apply_write_denials

            sandbox = apply_write_denials(sandbox, root, list_protected_globs(self.settings.rules))
        return Capabilities(
            sandbox=sandbox,
            toolbox=self._build_toolbox(mode, in_container=sandbox.name == "container"),
            snapshots=defer(partial(_open_snapshots, root, home)) if writes else None,
        )

    def _build_toolbox(self, mode: Mode, *, in_container: bool) -> Toolbox:
        from agent.model.providers.model_family import find_family
        from tools.builtin_tools import load_accepted_tools, load_default_tools

        accepted = load_accepted_tools()
        withheld = set() if self.is_git else set(_OF_REPOSITORIES)
        if in_container:  # no file descriptor, so no kernel, can be passed into a container
            withheld.add("python")
        if in_container or not self.settings.tools.language_servers:
            withheld.add("rename")
        if not (self.request.offer_commit and self.is_git):
            withheld.add("git_commit")
        withheld |= self._withhold_web_tools(mode)
        if mode is Mode.READ_ONLY:
            writing = {tool.name for tool in accepted if not tool.reads_only} - _WRITE_NOTHING
            withheld |= {"git_commit", "rename", *writing}
        if (only := self.request.tools) is not None:
            always = {tool.name for tool in accepted if tool.ends}
            withheld |= {tool.name for tool in accepted} - only - always
        formats = self.settings.tools.edit.formats or find_family(self.model).formats
        tools = [
            tool
            for tool in load_default_tools(formats)
            if tool.name not in withheld and (only is None or tool.name in only or tool.ends)
        ]
        by_calls = resolve_action_mode(self.model, self.settings.actions) == "tools"
        unlisted = [tool for tool in tools if by_calls and tool.name == "python"]
        return Toolbox(
            [tool for tool in tools if tool not in unlisted],
            accepted=[*(tool for tool in accepted if tool.name not in withheld), *unlisted],
        )

    def _withhold_web_tools(self, mode: Mode) -> set[str]:
        """Return the tools of the web that the user's settings do not offer: requests do not grow by them."""
        access, web = self.settings.access, self.settings.tools.web
        offered = mode is not Mode.READ_ONLY and web.offers_fetch(access.rules, access.network)
        withheld = set() if offered else {"web_fetch"}
        return withheld if web.search and mode is not Mode.READ_ONLY else withheld | {"web_search"}


def _open_snapshots(root: Path, home: Home) -> Snapshots:
    from sandbox.snapshots.workspace_snapshots import Snapshots

    return Snapshots(root, home.get_project_folder(root) / "snapshots")


def check_writable(root: Path, mode: Mode) -> None:
    """Raise UserError if the mode writes files and the folder is not writable."""
    if mode is not Mode.READ_ONLY and not os.access(root, os.W_OK):
        raise UserError(
            Fault.READ_ONLY,
            f"the folder cannot be written: {str(root)!r}",
            "Pass --mode read-only to ask questions about it.",
        )


def build_tool_specs(tools: Toolbox) -> list[ToolSpec]:
    """Return the specifications of the tools that are sent to a model."""

    def build_spec(tool: Tool) -> ToolSpec:
        return ToolSpec(name=tool.name, description=tool.description, parameters=tool.parameters)

    return [build_spec(tool) for tool in tools]


def apply_descriptions(tools: Sequence[ToolSpec], descriptions: Mapping[str, str]) -> Sequence[ToolSpec]:
    """Return the tools with the descriptions of the settings, by name, in place of their own."""
    if not descriptions:
        return tools
    return [replace(each, description=descriptions.get(each.name) or each.description) for each in tools]
