"""The hooks of a session: the user's, and those of a project that the user trusts."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from pathlib import Path

from agent.app_dirs import Home
from agent.extension.extension_files import HOOK_FILES, HOOKS, HOOKS_TRUST
from agent.extension.hooks.hook_definition import HookDefinition
from agent.extension.hooks.hook_parser import parse_hook_file, parse_hooks
from agent.extension.plugins.plugin_hooks import read_plugin_hooks
from agent.extension.plugins.plugin_store import list_plugins
from agent.extension.project_trust import describe_untrusted, has_trust, is_trusted
from sandbox.errors import UserError
from sandbox.fs.regular_file import SETTINGS, read_regular_file
from sandbox.fs.untrusted_file import read_workspace_file
from sandbox.lazy_dataclass import dataclass
from sandbox.policy.trust import Definition


@dataclass(frozen=True, slots=True, kw_only=True)
class HookCatalog:
    """hooks: in their order; notices: what is not used, and why, a line each"""

    hooks: tuple[HookDefinition, ...] = ()
    notices: tuple[str, ...] = ()


def load_hooks(home: Home, root: Path) -> HookCatalog:
    """Load the hooks of a session in the workspace at `root`. What cannot be used becomes notices."""
    notices: list[str] = []
    found = _read_user_hooks(home, notices)
    ignored: list[str] = []
    theirs = _read_project_hooks(root, ignored)
    if theirs and is_trusted(home, root, HOOKS_TRUST, _list_definitions(theirs)):
        found += theirs
        notices += ignored
    elif theirs:
        notices.append(describe_untrusted(len(theirs), "agent hook", root))
    elif has_trust(home, root, HOOKS_TRUST):
        notices.append(f"the agent hooks that you trusted in {str(root)!r} are gone: none of them runs")
    for plugin in list_plugins(home):
        found += read_plugin_hooks(plugin, [])  # what of them is not used was told when it was added
    return HookCatalog(hooks=tuple(found), notices=tuple(notices))


def find_hooks_to_trust(root: Path) -> tuple[Definition, ...]:
    """Return the hooks of the project's files, each with what it runs."""
    return _list_definitions(_read_project_hooks(root, []))


def _read_user_hooks(home: Home, notices: list[str]) -> list[HookDefinition]:
    path = home.config / HOOKS
    try:
        content = read_regular_file(path, SETTINGS)
    except UserError as error:
        unread = {"hooks": error.message}
        return list(parse_hooks(unread, repr(str(path)), notices, is_project=False))
    return parse_hook_file(content, repr(str(path)), notices, is_project=False)


def _read_project_hooks(root: Path, notices: list[str]) -> list[HookDefinition]:
    found: list[HookDefinition] = []
    for name in HOOK_FILES:
        try:
            content = read_workspace_file(root, name, SETTINGS)
        except UserError as error:
            notices.append(f"{error.message}: not used")
            continue
        found += parse_hook_file(content, name, notices, is_project=True)
    return found


def _list_definitions(hooks: Sequence[HookDefinition]) -> tuple[Definition, ...]:
    return tuple(
        Definition(
            kind="agent hook",
            name=f"{each.source} {each.label}",
            runs=f"{each.shown} ({_describe_run(each)})",
            digest=hashlib.sha256(each.identity.encode()).hexdigest(),
        )
        for each in hooks
    )


def _describe_run(hook: HookDefinition) -> str:
    if hook.refusal:
        return f"not run: {hook.refusal}"
    return "in the sandbox" if hook.kind == "command" else hook.kind
