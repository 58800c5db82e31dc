"""The plugins that the user added: their folders in Patchwright's own data, and a record of each.

Below `plugins/NAME` there are `record.json`, the files as they were shown to the user, in a folder named by their
digest, and `state`, which the plugin's programs may write. A folder without a record is none: it was never accepted.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, field
from pathlib import Path

from agent.app_dirs import Home
from sandbox.errors import UserError
from sandbox.fs.private_files import create_private_folder, write_private_file
from sandbox.fs.regular_file import SETTINGS, read_regular_file
from sandbox.lazy_dataclass import dataclass
from sandbox.parsed_data import parse_json

RECORD = "record.json"
STATE = "state"

KINDS = ("skills", "commands", "agents", "hooks", "servers")
"""Kinds of a plugin's parts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PluginRecord:
    """A plugin as the user accepted it.

    source: folder or address that it came from; path: of the plugin inside it; ref: branch, tag or commit that was
    asked for; origin: repository to which a marketplace leads, "" for the source itself; commit: of the repository, ""
    for a folder
    digest: of all its files; layout: by kind of part the files and folders that hold them, relative to its folder
    """

    name: str
    source: str
    digest: str
    path: str = ""
    ref: str = ""
    origin: str = ""
    commit: str = ""
    version: str = ""
    description: str = ""
    layout: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Plugin:
    """A plugin's record and its places. folder: of its files; state: that its programs may write"""

    record: PluginRecord
    folder: Path
    state: Path

    @property
    def name(self) -> str:
        """Prefix of its parts' names."""
        return self.record.name

    def list_places(self, kind: str) -> list[Path]:
        """Return the files and folders that hold its parts of a kind."""
        return [self.folder / each for each in self.record.layout.get(kind, ())]


def list_plugins(home: Home) -> list[Plugin]:
    """Return the plugins by name."""
    try:
        names = sorted(os.listdir(home.plugins))
    except OSError:  # there are none
        return []
    found = (find_plugin(home, each) for each in names if not each.startswith("."))
    return [each for each in found if each is not None]


def find_plugin(home: Home, name: str) -> Plugin | None:
    """Return a plugin by its name; None if there is none, or its record cannot be read."""

    place = home.plugins / name
    if "/" in name or name.startswith("."):
        return None
    try:
        content = read_regular_file(place / RECORD, SETTINGS)
        record = PluginRecord(**parse_json(content)) if content is not None else None
    except (UserError, ValueError, TypeError):  # written by another version, or by hand
        return None
    if record is None or record.name != name:
        return None
    return locate_plugin(home, record)


def locate_plugin(home: Home, record: PluginRecord) -> Plugin:
    """Return a plugin with its places, whether it was accepted or not."""
    place = home.plugins / record.name
    return Plugin(record=record, folder=place / record.digest[:16], state=place / STATE)


def create_state_folder(plugin: Plugin) -> Path:
    """Return the folder that a plugin's programs may write, which outlives its updates."""
    create_private_folder(plugin.state)
    return plugin.state


def build_variables(plugin: Plugin) -> dict[str, str]:
    """Return the variables by which a plugin's programs find its files and their own data."""
    root, state = str(plugin.folder), str(plugin.state)
    return {
        "PLUGIN_ROOT": root,
        "PLUGIN_DATA": state,
        "CLAUDE_PLUGIN_ROOT": root,
        "CLAUDE_PLUGIN_DATA": state,
    }


def write_record(home: Home, record: PluginRecord) -> None:
    """Accept a plugin: from now on its parts act. Its files are there already."""
    import json

    place = home.plugins / record.name
    create_private_folder(place)
    written = place / f".{RECORD}.{os.getpid()}"
    write_private_file(written, json.dumps(asdict(record), indent=1, ensure_ascii=False).encode())
    written.replace(place / RECORD)
