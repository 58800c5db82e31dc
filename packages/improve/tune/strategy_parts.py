"""Parts of which a strategy is composed: settings of a session, each with the values to choose from.

A strategy is settings alone, as lines of TOML (`strategy.name = "tree"`): one of the known ways to make a turn, with
attempts, plan, checks, thresholds and routing. What a session may touch is no part, so that no choice loosens it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from agent.session_settings import SessionSettings
from cli.settings.settings_checks import check_values
from cli.settings.settings_types import Settings, get_setting, replace_setting
from sandbox.errors import Fault, UserError
from sandbox.parsed_data import parse_toml

Parts = Mapping[str, Sequence[str]]
"""Values by the name of their setting, both as TOML writes them."""

PARTS: Parts = {
    "strategy.name": ('"single"', '"pipeline"', '"sample"', '"tree"', '"evolve"', '"team"'),
    "strategy.attempts": ("2", "3", "5", "8"),
    "strategy.judge": ("true", "false"),
    "strategy.temperatures": ("[0.0]", "[0.0, 0.8]", "[0.8]"),
    "discipline.phases": ('"log"', '"guide"', '"enforce"'),
    "discipline.rules": ('"off"', '"remind"', '"enforce"'),
    "verify.requirements": ('"off"', '"auto"', '"code"', '"model"'),
    "verify.spec_check": ('"off"', '"code"', '"model"'),
    "verify.review": ("true", "false"),
    "verify.rubric": ("true", "false"),
    "verify.reproduce": ("true", "false"),
    "verify.lint": ("true", "false"),
    "lead.when": ('"auto"', '"always"', '"never"'),
    "lead.after": ("2", "3", "5"),
    "context.recent": ("1500", "2500", "5000"),
    "models.profile": ('"auto"', '"generic"', '"small"'),
    "actions": ('"tools"', '"code"', '"hybrid"'),
    "agents.delegate": ("true", "false"),
}

TABLES: Mapping[str, frozenset[str]] = {
    "strategy": frozenset((*(key.partition(".")[0] for key in PARTS), "edit")),
    "prompts": frozenset({"prompts"}),
    "descriptions": frozenset({"descriptions"}),
}
"""Settings and tables that may be parts, by what is tuned."""

_SEVERAL = frozenset(('"pipeline"', '"sample"', '"tree"', '"evolve"', '"team"', '"auto"'))

RELEVANT: Mapping[str, frozenset[str]] = {
    "strategy.attempts": _SEVERAL,
    "strategy.judge": frozenset(('"tree"', '"evolve"', '"auto"')),
    "strategy.temperatures": _SEVERAL - {'"team"'},
}
"""Settings that only some strategies read: others with them would be the same strategy once more."""


def parse_parts(text: str, kind: str = "strategy") -> Parts:
    """Return the parts of a TOML file, in which each setting has a list of values. Raises UserError."""
    try:
        found = dict(_flatten(parse_toml(text)))
    except ValueError as problem:
        raise UserError(Fault.USAGE, f"the parts are no TOML: {problem}") from None
    for key, values in found.items():
        if key.partition(".")[0] not in TABLES[kind] or not isinstance(values, list) or not values:
            known = ", ".join(sorted(TABLES[kind]))
            raise UserError(Fault.USAGE, f"no part: {key!r}", f"A list of values for a setting of: {known}.")
    parts = {key: [json.dumps(each, ensure_ascii=False) for each in values] for key, values in found.items()}
    for key, values in parts.items():
        for each in values:
            read_lines([f"{key} = {each}"])
    return parts


def _flatten(table: Mapping[str, Any], above: str = "") -> list[tuple[str, Any]]:
    found = []
    for key, value in table.items():
        found += _flatten(value, f"{above}{key}.") if isinstance(value, Mapping) else [(above + key, value)]
    return found


def read_lines(lines: Sequence[str]) -> Settings:
    """Return built-in settings with those of the lines. Raises UserError for what is no setting."""
    return check_values(parse_toml("\n".join(lines)), None)


def add_lines(session: SessionSettings, lines: Sequence[str]) -> SessionSettings:
    """Return a session's settings with those of a strategy."""
    made, found = replace(Settings(), session=session), read_lines(lines)
    for key in (each.partition(" = ")[0] for each in lines):
        made = replace_setting(made, key, get_setting(found, key))
    return made.session


def leave_out_known(parts: Parts, session: SessionSettings) -> tuple[Parts, str]:
    """Return the parts without values that the session has already, and the name of its strategy."""
    known = replace(Settings(), session=session)
    left: dict[str, list[str]] = {}
    for key, value in ((key, each) for key, values in parts.items() for each in values):
        if get_setting(read_lines([f"{key} = {value}"]), key) != get_setting(known, key):
            left.setdefault(key, []).append(value)
    return left, json.dumps(session.strategy.name)
