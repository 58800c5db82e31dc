"""Settings files: their locations, their content, and the line of a setting."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from agent.app_dirs import SETTINGS_FILE
from sandbox.errors import Fault, UserError
from sandbox.fs.regular_file import SETTINGS, UnsafeFileError, read_regular_file
from sandbox.fs.untrusted_file import read_workspace_file

FILE, PROJECT_FILE = SETTINGS_FILE, "patchwright.toml"
"""Names of the user's file in the configuration folder, and of the project's at its top."""

SERVER_FILE = ".mcp.json"
"""File of a project's MCP servers, which other agents read, too."""

RULES_FILE = ".patchwright/rules.toml"
"""File of a project's rules, in the folder that only the user changes."""


def read_settings_file(path: Path) -> dict[str, Any]:
    """Return the content of a TOML file; {} if there is none. Raises UserError.

    A project's file is read if it is in the project: a link may not lead out of it.
    """
    if path.name == PROJECT_FILE:
        text = read_workspace_file(path.parent, path.name, SETTINGS)
    elif path.match(f"*/{RULES_FILE}"):
        text = read_workspace_file(path.parents[1], RULES_FILE, SETTINGS)
    else:
        text = read_regular_file(path, SETTINGS)
    if text is None:
        return {}
    from sandbox.parsed_data import parse_toml

    try:
        return parse_toml(text.decode("utf-8"))
    except ValueError as error:  # UnicodeDecodeError is one
        message = f"{str(path)!r} is not valid TOML: {error}"
        raise UserError(
            Fault.CONFIGURATION, message, _find_hint(text.decode("utf-8", "replace"), str(error))
        ) from None


def _find_hint(text: str, problem: str) -> str:
    """Return what is usually wrong where TOML cannot be read, "" if nothing usual is seen."""
    found = re.search(r"at line ([0-9]+)", problem)
    lines = text.splitlines()
    numbers = [int(found[1])] if found else range(1, len(lines) + 1)
    for number in numbers:
        line = lines[number - 1].strip() if number <= len(lines) else ""
        key, _, value = (part.strip() for part in line.partition("="))
        if value[:1] in ("'", '"') and value.count(value[0]) == 1:
            return f"Close the quote in line {number}: {line}"
        if found and value in ("True", "False"):
            return f"TOML writes it in lower case: {key} = {value.lower()}"
        if found and re.fullmatch(r"[A-Za-z][\w./ -]*", value) and value not in ("true", "false"):
            return f'Put the text in quotes: {key} = "{value}"'
    return ""


def locate_setting(path: Path, key: str) -> str:
    """Return a file, and the line in it that sets a key."""
    from cli.settings.toml_lines import find_line

    try:
        line = find_line((read_regular_file(path, SETTINGS) or b"").decode("utf-8"), key)
    except (UnsafeFileError, UnicodeDecodeError):  # changed since it was read
        line = None
    return f"{str(path)!r}, line {line}" if line else f"{str(path)!r}"


def parse_value(text: str) -> Any:
    """Parse a value from a command line or variable: TOML; bare words, as in a shell, are text."""
    from sandbox.parsed_data import parse_toml

    try:
        return parse_toml(f"value = {text}")["value"]
    except ValueError:
        return text
