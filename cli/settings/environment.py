"""Settings from the environment: `PATCHWRIGHT_MAX_STEPS=50`, `PATCHWRIGHT_TESTS__COMMAND="make test"`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cli.settings.settings_checks import check_values
from cli.settings.settings_files import parse_value
from cli.settings.settings_types import list_setting_names
from sandbox.errors import Fault, UserError

PREFIX = "PATCHWRIGHT_"

AS_THEY_ARE = ("model", "api_base")
"""Always text. Nothing has to be checked, which would take a third of a run's start."""


def build_variable_name(key: str) -> str:
    """Return the name of a setting's environment variable."""
    return PREFIX + key.upper().replace(".", "__")


def read_environment(env: Mapping[str, str]) -> dict[str, Any]:
    """Return the settings in the environment, nested as in a file. Raises UserError that names the variable.

    Other variables with this prefix are ignored. Rules (`permissions`, `rules`) are for the file, and refused here:
    one that is set and not in force would be worse than none.
    """
    values: dict[str, Any] = {}
    given = {name: text for name, text in env.items() if name.startswith(PREFIX) and text}
    if not given:
        return values
    for key in list_setting_names():
        text = given.get(build_variable_name(key))
        if text is None or key in AS_THEY_ARE:
            continue
        if key.startswith("permissions.") or key == "rules":
            message = f"{build_variable_name(key)}: rules are not taken from the environment"
            raise UserError(Fault.CONFIGURATION, message, "Put them into your settings.toml.")
        each: dict[str, Any] = {}
        *tables, name = key.split(".")
        inner = each
        for table in tables:
            inner = inner.setdefault(table, {})
        inner[name] = parse_value(text)
        try:
            check_values(each, None)
        except UserError as error:
            raise UserError(error.fault, f"{build_variable_name(key)}: {error.message}", error.hint) from None
        values = merge_layers(values, each)
    return values


def merge_layers(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Merge two layers: tables key by key, an MCP server as a whole: no layer's keys reach another one's address."""
    found = dict(below)
    for key, value in above.items():
        there = found.get(key)
        nested = isinstance(there, Mapping) and isinstance(value, Mapping)
        if nested and there is not None:
            found[key] = {**there, **value} if key == "mcp" else merge_layers(there, value)
        else:
            found[key] = value
    return found
