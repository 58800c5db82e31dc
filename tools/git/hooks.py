"""Whether the repository's commit hooks may run: not when the session changed what they would execute."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from tools.git.broker import Broker

# Run by `git commit`; others (pre-push, post-checkout …) are not its business.
_COMMIT_HOOKS = (
    "pre-commit",
    "prepare-commit-msg",
    "commit-msg",
    "post-commit",
    "reference-transaction",
    "post-index-change",
)

# Files of hook managers that name the programs to run; their hook in .git/hooks is a mere launcher.
_MANAGERS = (
    ".pre-commit-config.yaml",
    "lefthook.yml",
    "lefthook.yaml",
    ".lefthook.yml",
    ".lefthook.yaml",
    ".overcommit.yml",
)

# husky points core.hooksPath to generated launchers in `.husky/_`; what they run lies one folder up.
_HUSKY = "_"


def active(broker: Broker) -> list[Path]:
    """The hooks that a commit here would run."""
    folder = _folder(broker)
    return [path for name in _COMMIT_HOOKS if os.access(path := folder / name, os.X_OK) and path.is_file()]


def tampered(broker: Broker, changed: Collection[str]) -> list[str]:
    """Changed files, relative to the work tree, that a hook of this repository would execute or obey."""
    hooks = active(broker)
    if not hooks:
        return []
    root = broker.root.resolve()
    folder = _folder(broker).resolve()
    if folder.name == _HUSKY:
        folder = folder.parent
    scripts = {path.resolve() for path in hooks}
    bad = []
    for name in changed:
        path = root / name
        in_folder = folder != root and path.is_relative_to(folder)
        if in_folder or path in scripts or name in _MANAGERS:
            bad.append(name)
    return sorted(bad)


def _folder(broker: Broker) -> Path:
    configured = broker.setting("core.hooksPath")
    return broker.root / configured if configured else broker.shared / "hooks"
