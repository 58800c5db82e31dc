"""Permission rules about commands and files: those in the settings, and those stored by "always"."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from agent.app_dirs import Home, make_private_folder
from cli.settings.settings_types import PermissionSettings, RuleSettings
from sandbox.errors import Fault, UserError
from sandbox.fs.private_files import open_private
from sandbox.policy.rules import PERMISSIONS, Permission, Rule, Rules, check_examples, parse_rule

STORED = "allowed-commands.txt"
"""File in the configuration folder: a pattern per line, added by "always", editable by the user. Separate
from the settings, so that no program rewrites the user's own text."""


def read_stored_rules(home: Home) -> tuple[str, ...]:
    """Return the patterns of commands that the user always allows. Raises UserError."""
    path = home.config / STORED
    try:
        lines = path.read_text("utf-8").splitlines()
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(Fault.CONFIGURATION, f"cannot read {str(path)!r}: {error}") from None
    patterns = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    return tuple(_build_rule(RuleSettings(rule=f"shell({each})"), "allow", path).pattern for each in patterns)


def store_rules(home: Home, patterns: Sequence[str]) -> None:
    """Add patterns of commands to those that are always allowed. Raises UserError."""
    known = read_stored_rules(home)
    new = [each for each in patterns if each not in known and "\n" not in each]
    path = make_private_folder(home.config) / STORED
    try:
        with open(path, "a", encoding="utf-8", opener=open_private) as file:
            file.writelines(f"{each}\n" for each in new)
    except OSError as error:
        raise UserError(Fault.CONFIGURATION, f"cannot write {str(path)!r}: {error.strerror}") from None


def build_rules(permissions: PermissionSettings, path: Path) -> Rules:
    found = []
    for verdict in PERMISSIONS:
        entries: list[str | RuleSettings] = getattr(permissions, verdict)
        for entry in entries:
            given = RuleSettings(rule=entry) if isinstance(entry, str) else entry
            found.append(_build_rule(given, verdict, path))
    return Rules(tuple(dict.fromkeys(found)))


def _build_rule(given: RuleSettings, verdict: Permission, path: Path) -> Rule:
    try:
        rule = parse_rule(given.rule, verdict)
        check_examples(rule, given.match, given.no_match)
    except UserError as error:  # it knows the rule, not its file
        raise UserError(error.fault, f"{str(path)!r}: {error.message}", error.hint) from None
    return rule
