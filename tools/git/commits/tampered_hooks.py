"""Check of commit hooks: they do not run if the session changed files that they would execute."""

from __future__ import annotations

from collections.abc import Collection

from sandbox.guards.self_run_files import is_hook_file
from tools.git.broker import Broker
from tools.git.repository_programs import find_hooks_folder, find_scripts_folder, list_active_hooks


def find_tampered_files(broker: Broker, changed: Collection[str]) -> list[str]:
    """Return the changed files, relative to the work tree, that a hook of this repository would execute or read."""
    hooks = list_active_hooks(broker)
    if not hooks:
        return []
    root = broker.root.resolve()
    folder = find_scripts_folder(find_hooks_folder(broker))
    scripts = {path.resolve() for path in hooks}
    bad = []
    for name in changed:
        path = root / name
        in_folder = folder != root and path.is_relative_to(folder)
        if in_folder or path in scripts or is_hook_file(name.split("/")):
            bad.append(name)
    return sorted(bad)
