"""Settings that a project's own file may set: the test command at once, the rest if the user trusts it, some never.

The test command runs in the sandbox like any command. A model, a URL, a mode redirect or loosen something:
that requires `patchwright trust`, which covers the content at that time.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agent.app_dirs import Home
from cli.settings.settings_checks import check_values
from cli.settings.settings_files import FILE, PROJECT_FILE, locate_setting, read_settings_file
from sandbox.errors import Fault, UserError
from sandbox.policy.trust import Definition, TrustStore

FREE = {"tests"}

NEVER = {"permissions", "terminal", "hosting"}
"""The user's own permissions, their own screen, and where their tokens are sent."""


def read_project_settings(home: Home, root: Path) -> dict[str, Any]:
    """Return the settings of the project at `root`. Raises UserError if it sets forbidden or untrusted ones."""
    path = root / PROJECT_FILE
    values = read_settings_file(path)
    _refuse_personal_settings(values, path, home)
    found = list_definitions(values)
    if found and not _is_trusted(home, root, found):
        first = min(set(values) - FREE)
        raise UserError(
            Fault.CONFIGURATION,
            f"{locate_setting(path, first)} sets {first!r}, which a project may not set before you trust it",
            f"See what it sets, and say yes: patchwright trust -C {str(root)!r}",
        )
    check_values(values, path)
    return values


def find_settings_to_trust(home: Home, root: Path) -> tuple[Definition, ...]:
    """Return the settings in the project's file that need the user's trust. Raises UserError if it is invalid."""
    path = root / PROJECT_FILE
    values = read_settings_file(path)
    _refuse_personal_settings(values, path, home)
    check_values(values, path)
    return list_definitions(values)


def list_definitions(values: Mapping[str, Any]) -> tuple[Definition, ...]:
    """Return the project settings that need the user's trust, each with its value."""
    import hashlib
    import json

    found = []
    for key in sorted(set(values) - FREE):
        text = json.dumps(values[key], sort_keys=True, ensure_ascii=False, default=str)
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        found.append(Definition(kind="setting", name=f"{PROJECT_FILE} {key}", runs=text, digest=digest))
    return tuple(found)


def _refuse_personal_settings(values: Mapping[str, Any], path: Path, home: Home) -> None:
    personal = sorted(NEVER & set(values))
    if personal:
        raise UserError(
            Fault.CONFIGURATION,
            f"{locate_setting(path, personal[0])} sets {personal[0]!r}, which a project may not set",
            f"It is yours alone: put it into {str(home.config / FILE)!r}.",
        )


def _is_trusted(home: Home, root: Path, found: tuple[Definition, ...]) -> bool:
    """Return whether this folder or the main work tree is trusted: attempts and pre-push checks run in linked ones."""
    from sandbox.fs.repository import find_main_work_tree
    from sandbox.policy.trust import compute_digest

    store, word = TrustStore(home.config), compute_digest(found)
    places = [root, find_main_work_tree(root)]
    return any(each is not None and store.read_trusted_digest(each / PROJECT_FILE) == word for each in places)
