"""Effects of a turn's actions beside the tracked files: ignored files, files outside, git's data, services."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress

from sandbox.errors import UserError
from sandbox.fs.repository import find_root
from sandbox.lazy_pattern import compile_lazily
from sandbox.policy.decision import SCRATCH
from sandbox.policy.effects import Effect
from sandbox.policy.shell import judge_command_line
from tools.core.action import ToolFailure
from tools.core.workspace import Workspace
from tools.git.broker import Broker
from tools.git.ignored_changes import find_ignored_changes

_CACHES = compile_lazily(
    r"(?:^|/)(?:\.[\w.-]*cache|\.hypothesis|\.tox|\.nox|\.coverage|\.nyc_output|__pycache__)(?:/|\.|$)"
)
"""What runs of tests leave behind whatever was asked for."""

_READS = compile_lazily(
    r"__(?:get|list|read|search|find|fetch|query|show|describe|count|look|resolve)(?![a-z])"
)
"""First words of a server's tools that change nothing."""

_CHANGES_INSTALLED = compile_lazily(
    r"\b(?:install|add|upgrade|update|remove|uninstall|sync|publish|push|deploy)\b"
)
"""Words of commands that run code and use the network, where builds and tests do that, too."""


def has_ignored_changes(workspace: Workspace, since: float) -> bool:
    """Return whether files that git ignores changed after a time, other than caches."""
    return any(not _CACHES.search(path) for path in find_ignored_changes(workspace.root, since))


def changes_service(tool: str) -> bool:
    """Return whether a call of this tool of a server may have changed something there."""
    return _READS.search(tool) is None


def have_other_effect(lines: Iterable[str], workspace: Workspace) -> bool:
    """Return whether command lines that succeeded changed something that no comparison of files shows."""
    return any(_has_other_effect(line, workspace) for line in lines)


def _has_other_effect(line: str, workspace: Workspace) -> bool:
    effects = judge_command_line(line, root=workspace.root).effects
    kinds = {each.kind for each in effects}
    if "network" in kinds and ("execute" not in kinds or _CHANGES_INSTALLED.search(line)):
        return True
    return bool(kinds & {"git", "destructive"}) or any(
        _changes_untracked(each, workspace) for each in effects if each.kind == "write"
    )


def _changes_untracked(effect: Effect, workspace: Workspace) -> bool:
    """Return whether a write changed what is no file of git's: a file elsewhere, a folder, an ignored one now gone."""
    paths = [path for path in effect.paths if not path.startswith(SCRATCH)]
    if effect.outside:
        return any(path.startswith("/") for path in paths)
    places = {path: workspace.root / path for path in paths}
    return any(
        place.is_dir() or (not place.exists() and _is_ignored(workspace, path))
        for path, place in places.items()
    )


def _is_ignored(workspace: Workspace, path: str) -> bool:
    if find_root(workspace.root) is None:
        return False
    with suppress(UserError, ToolFailure):  # git cannot read the repository: it says so elsewhere
        names = os.fsencode(f"{path}\0")
        found = Broker(workspace.root).run("check-ignore", "-z", "--stdin", stdin=names, ok=(0, 1))
        return bool(found.stdout)
    return False
