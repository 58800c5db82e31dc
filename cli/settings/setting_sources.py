"""`patchwright config`: each setting with its value and source; and setting one."""

from __future__ import annotations

import os
import stat
from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

from agent.app_dirs import Home, make_private_folder
from cli.settings.environment import build_variable_name
from cli.settings.layers import FLAG_KEYS, load_settings
from cli.settings.settings_checks import check_file
from cli.settings.settings_files import FILE, PROJECT_FILE, parse_value, read_settings_file
from cli.settings.settings_types import get_setting, list_setting_names
from sandbox.errors import Fault, UserError
from sandbox.fs.private_files import write_private_file
from sandbox.fs.regular_file import SETTINGS, read_regular_file, read_regular_text
from sandbox.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingRow:
    """One setting. `source`: "built-in", a file and its line, a variable of the environment, or an option."""

    key: str
    value: Any
    source: str

    @property
    def formatted_value(self) -> str:
        """Value in TOML syntax; "(none)" for None."""
        if self.value is None:
            return "(none)"
        if isinstance(self.value, bool):
            return str(self.value).lower()
        if isinstance(self.value, int | float):
            return f"{self.value:g}" if isinstance(self.value, float) else str(self.value)
        if isinstance(self.value, str):
            return f'"{self.value}"'
        import json

        return json.dumps(self.value, ensure_ascii=False, default=str)


def explain_settings(
    home: Home,
    root: Path | None,
    env: Mapping[str, str] = os.environ,
    flags: Mapping[str, Any] = MappingProxyType({}),
) -> list[SettingRow]:
    """Return every setting of a session here. Raises UserError.

    flags: those set on its command line (`Settings.flags`)
    """
    settings = load_settings(home, root, flags, env)
    options = {FLAG_KEYS.get(name, name): f"--{_OPTIONS.get(name, name).replace('_', '-')}" for name in flags}
    return [
        SettingRow(
            key=key,
            value=get_setting(settings, key),
            source=options.get(key) or _find_source(key, home, root, env),
        )
        for key in list_setting_names()
    ]


_OPTIONS = {"test_command": "tests"}
"""Flags whose names differ from the option's."""


def store_setting(home: Home, key: str, text: str) -> Path:
    """Set a key in the user's file, leaving comments and everything else unchanged.

    text: a TOML value; bare words are taken as text. Raises UserError if the key or the value is invalid, and
    then the file is unchanged.
    """
    return _set_in_file(home.config / FILE, key, text)


def store_project_setting(root: Path, key: str, text: str) -> Path:
    """Set a key in the project's file, as `store_setting` does in the user's. Raises UserError."""
    return _set_in_file(_require_project_file(root), key, text)


def unset_setting(home: Home, key: str) -> Path:
    """Remove a key from the user's file, so that its built-in value applies. Raises UserError if it is not there."""
    return _unset_in_file(home.config / FILE, key)


def unset_project_setting(root: Path, key: str) -> Path:
    """Remove a key from the project's file. Raises UserError if it is not there."""
    return _unset_in_file(_require_project_file(root), key)


def _require_project_file(root: Path) -> Path:
    """Return the project's file, which is written only where it is: a repository's link leads anywhere."""
    path = root / PROJECT_FILE
    if path.is_symlink():
        raise UserError(Fault.CONFIGURATION, f"{str(path)!r} is a link: change the file that it names")
    return path


def _set_in_file(path: Path, key: str, text: str) -> Path:
    import tomlkit

    _check_known_key(key)
    document = _read_document(path)
    table: Any = document
    *tables, name = key.split(".")
    for each in tables:
        if each not in table:
            table[each] = tomlkit.table()
        table = table[each]
    table[name] = parse_value(text)
    return _write_document(path, tomlkit.dumps(document))


def _unset_in_file(path: Path, key: str) -> Path:
    import tomlkit

    document = _read_document(path)
    table: Any = document
    *tables, name = key.split(".")
    for each in tables:
        table = table.get(each, {})
    if name not in table:
        raise UserError(Fault.CONFIGURATION, f"{str(path)!r} does not set {key!r}", "See: patchwright config")
    del table[name]
    return _write_document(path, tomlkit.dumps(document))


def _check_known_key(key: str) -> None:
    known = [*list_setting_names(), "terminal.keys"]
    if key not in known and not key.startswith(("terminal.keys.", "language_servers.", "mcp.")):
        import difflib

        near = difflib.get_close_matches(key, known, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else "All of them: patchwright config"
        raise UserError(Fault.CONFIGURATION, f"unknown setting {key!r}", hint)


def _read_document(path: Path) -> Any:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        content = read_regular_file(path, SETTINGS)
        return tomlkit.document() if content is None else tomlkit.parse(content.decode("utf-8"))
    except (TOMLKitError, UnicodeDecodeError) as error:
        raise UserError(Fault.CONFIGURATION, f"{str(path)!r} is not valid TOML: {error}") from None


def _write_document(path: Path, text: str) -> Path:
    """Replace the file, after checking that it can be loaded.

    A link (into a folder of dotfiles, say) stays one: its target is replaced, with its permissions.
    """
    if path.name == FILE:
        make_private_folder(path.parent)
    target = Path(os.path.realpath(path))
    draft = target.with_name(f".{path.name}.{os.getpid()}")
    try:
        write_private_file(draft, text.encode())
        if target.exists():
            draft.chmod(stat.S_IMODE(target.stat().st_mode))
        check_file(draft)
        os.replace(draft, target)
    except UserError as error:
        raise UserError(error.fault, error.message.replace(str(draft), str(path)), error.hint) from None
    except OSError as error:
        raise UserError(Fault.CONFIGURATION, f"cannot write {str(path)!r}: {error.strerror}") from None
    finally:
        draft.unlink(missing_ok=True)
    return path


def _find_source(key: str, home: Home, root: Path | None, env: Mapping[str, str]) -> str:
    if env.get(variable := build_variable_name(key)):
        return variable
    from cli.settings.toml_lines import find_line

    for path in ([root / PROJECT_FILE] if root else []) + [home.config / FILE]:
        value: Any = read_settings_file(path)
        for part in key.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        if value is not None:
            return f"{path}:{find_line(read_regular_text(path, SETTINGS) or '', key)}"
    return "built-in"
