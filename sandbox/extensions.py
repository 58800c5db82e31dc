"""What packages beside the floors add to them, by one table: no floor imports a package.

Ours are in `packages/extensions.json`: group → name → object, as `module:attribute`. Other people's packages add
commands and strategies by entry points of the groups `patchwright.commands` and `patchwright.strategies`. They are
looked for only by a name that is none of ours, since reading the metadata of all installed packages takes long.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from sandbox.errors import Fault, UserError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

Group = Literal[
    "checks",
    "commands",
    "drafts",
    "executors",
    "goals",
    "importers",
    "inputs",
    "judges",
    "memory",
    "models",
    "monitors",
    "questions",
    "reports",
    "served_tools",
    "strategies",
    "telemetry",
    "tools",
    "trial_executors",
]

ForeignGroup = Literal["commands", "strategies"]

_TABLE = Path(__file__).parents[1] / "packages" / "extensions.json"


@cache
def _read_table() -> Mapping[Group, Mapping[str, Any]]:
    table: Mapping[Group, Mapping[str, Any]] = json.loads(_TABLE.read_text("utf-8"))
    return table


def read_extensions(group: Group) -> Mapping[str, Any]:
    """Return what our packages add to a group, by name: the object's place, or a table with it and words about it."""
    return _read_table().get(group, {})


def load_extension(group: Group, name: str) -> Any:
    """Return the object that our packages add under a name. Raises KeyError for none."""
    found = _read_table()[group][name]
    place = found if isinstance(found, str) else found["object"]
    module, _, attribute = place.partition(":")
    from importlib import import_module

    return getattr(import_module(module), attribute)


def list_foreign_extensions(group: ForeignGroup) -> dict[str, EntryPoint]:
    """Return the entry points of a group by name, in order; of two with one name the first found counts.

    Only the folders of installed packages of this Python are looked at, never the present folder: a repository names
    none.
    """
    import site
    from importlib.metadata import distributions

    folders = [*site.getsitepackages(), *([site.getusersitepackages()] if site.ENABLE_USER_SITE else [])]
    found: dict[str, EntryPoint] = {}
    for package in distributions(path=folders):
        for each in package.entry_points.select(group=f"patchwright.{group}"):
            found.setdefault(each.name, each)
    return dict(sorted(found.items()))


def load_foreign_extension(group: ForeignGroup, name: str) -> Any:
    """Return the object of another package's entry point. Raises UserError if there is none, or it cannot be loaded."""
    entry = list_foreign_extensions(group).get(name)
    if entry is None:
        raise UserError(Fault.CONFIGURATION, f"no package adds {name!r} to the {group}")
    try:
        return entry.load()
    except Exception as error:  # of other people's code: its name and the cause are told
        raise UserError(
            Fault.CONFIGURATION,
            f"{name!r} of the {group} cannot be loaded: {type(error).__name__}: {error}",
            f"It is named by an entry point: {entry.value}",
        ) from error
