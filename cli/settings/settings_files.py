"""The files that hold settings: where they are, what they hold, and the line on which a setting stands."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from sandbox.errors import Fault, UserError

FILE, PROJECT_FILE = "settings.toml", "patchwright.toml"
"""In the configuration folder, and at the top of a project."""


def read_settings_file(path: Path) -> dict[str, Any]:
    """What a TOML file holds; {} if there is none. Raises UserError."""
    try:
        text = path.read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return {}
    except OSError as error:
        raise UserError(Fault.CONFIGURATION, f"cannot read {str(path)!r}: {error.strerror}") from None
    import tomllib

    try:
        return tomllib.loads(text.decode("utf-8"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(Fault.CONFIGURATION, f"{str(path)!r} is not valid TOML: {error}") from None


def locate_setting(path: Path, key: str) -> str:
    """A file, and the line in it where a setting stands."""
    from cli.settings.toml_lines import find_line

    try:
        line = find_line(path.read_text("utf-8"), key)
    except (OSError, UnicodeDecodeError):  # it has just been read, and is gone
        line = None
    return f"{str(path)!r}, line {line}" if line else f"{str(path)!r}"


def parse_value(text: str) -> Any:
    """A value as it is written outside of a file: as in TOML; bare words, as one writes them in a shell, are text."""
    import tomllib

    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text
