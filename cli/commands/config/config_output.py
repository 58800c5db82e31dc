"""Output of `patchwright config …`."""

from __future__ import annotations

import sys
from pathlib import Path

from agent.app_dirs import Home
from agent.workspace_root import find_workspace_root
from cli.settings.setting_sources import SettingRow, explain_settings, store_setting, unset_setting
from cli.settings.settings_files import FILE
from sandbox.errors import Fault, UserError
from sandbox.sanitize import sanitize_json, sanitize_text


def print_settings(folder: Path, *, as_json: bool) -> int:
    """Print all settings, those that differ from the defaults last, where they are seen."""
    rows = _load_rows(folder)
    if as_json:
        import json

        for row in rows:
            fields = {"key": row.key, "value": row.value, "source": row.source}
            print(sanitize_json(json.dumps(fields, ensure_ascii=False, default=str)))
        return 0
    widest = max(len(row.key) for row in rows)
    for row in sorted(rows, key=lambda row: row.source != "built-in"):
        source = "" if row.source == "built-in" else f"  # {row.source}"
        print(sanitize_text(f"{row.key:<{widest}} = {row.formatted_value}{source}"))
    return 0


def print_setting(folder: Path, key: str) -> int:
    """Print one value, strings without quotes."""
    row = next((row for row in _load_rows(folder) if row.key == key), None)
    if row is None:
        raise UserError(Fault.CONFIGURATION, f"unknown setting {key!r}", "All of them: patchwright config")
    print(sanitize_text(row.value if isinstance(row.value, str) else row.formatted_value))
    return 0


def set_setting(key: str, value: str) -> int:
    """Write a setting to the user's file."""
    place = store_setting(Home.from_environment(), key, value)
    print(sanitize_text(f"{key} is set in {place}"), file=sys.stderr)
    return 0


def remove_setting(key: str) -> int:
    """Remove a setting from the user's file."""
    place = unset_setting(Home.from_environment(), key)
    print(sanitize_text(f"{key} is no longer set in {place}"), file=sys.stderr)
    return 0


def print_path() -> int:
    """Print the path of the user's file, existing or not."""
    print(sanitize_text(str(Home.from_environment().config / FILE)))
    return 0


def print_key_actions() -> int:
    """Print one row per action that a key can be bound to."""
    from cli.settings.key_actions import ACTIONS, MEANING

    for action, bound in ACTIONS.items():
        print(f"{action:<10} {', '.join(bound):<22} {MEANING[action]}")
    return 0


def _load_rows(folder: Path) -> list[SettingRow]:
    return explain_settings(Home.from_environment(), find_workspace_root(folder, need_git=False)[0])
