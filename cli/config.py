"""`patchwright config`: each setting, its value, where that comes from; and setting one."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields, is_dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

from agent.home import Home, make_private_folder
from cli.settings.checks import check_file
from cli.settings.environment import variable_of
from cli.settings.files import FILE, PROJECT_FILE, read_file, value_of
from cli.settings.layers import load
from cli.settings.shape import names
from sandbox.errors import Fault, UserError


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One setting. `source`: "built-in", a file and its line, a variable of the environment, or an option."""

    key: str
    value: Any
    source: str

    @property
    def shown(self) -> str:
        """The value as one would write it in the file; what cannot be written as it is said."""
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


def explained(
    home: Home,
    root: Path | None,
    env: Mapping[str, str] = os.environ,
    flags: Mapping[str, Any] = MappingProxyType({}),
) -> list[Row]:
    """Every setting of a session here. Raises UserError.

    flags: what its command line has set (`Settings.flags`)
    """
    settings = load(home, root, flags, env)
    options = {_FLAGGED.get(name, name): f"--{_OPTIONS.get(name, name).replace('_', '-')}" for name in flags}
    return [
        Row(key=key, value=value, source=options.get(key) or _source(key, home, root, env))
        for key, value in _values(settings)
    ]


_FLAGGED = {"test_command": "tests.command", "plain": "terminal.plain"}
_OPTIONS = {"test_command": "tests"}
"""Where a flag's name is not the setting's, or not the option's."""


def store(home: Home, key: str, text: str) -> Path:
    """Set a key in the user's file, leaving comments and everything else as they are.

    text: a TOML value; bare words are taken as text. Raises UserError when the key or the value is wrong, and then
    the file is as it was.
    """
    import tomlkit

    _known(key)
    path = home.config / FILE
    document = _document(path)
    table: Any = document
    *tables, name = key.split(".")
    for each in tables:
        if each not in table:
            table[each] = tomlkit.table()
        table = table[each]
    table[name] = value_of(text)
    return _write(path, tomlkit.dumps(document))


def unset(home: Home, key: str) -> Path:
    """Take a key out of the user's file, so that its built-in value holds. Raises UserError if it is not there."""
    import tomlkit

    path = home.config / FILE
    document = _document(path)
    table: Any = document
    *tables, name = key.split(".")
    for each in tables:
        table = table.get(each, {})
    if name not in table:
        raise UserError(Fault.CONFIGURATION, f"{str(path)!r} does not set {key!r}", "See: patchwright config")
    del table[name]
    return _write(path, tomlkit.dumps(document))


def _known(key: str) -> None:
    known = [*names(), "terminal.keys"]
    if key not in known and not key.startswith("terminal.keys."):
        import difflib

        near = difflib.get_close_matches(key, known, n=1)
        hint = f"Did you mean {near[0]!r}?" if near else "All of them: patchwright config"
        raise UserError(Fault.CONFIGURATION, f"unknown setting {key!r}", hint)


def _document(path: Path) -> Any:
    import tomlkit
    from tomlkit.exceptions import TOMLKitError

    try:
        return tomlkit.parse(path.read_text("utf-8")) if path.exists() else tomlkit.document()
    except (TOMLKitError, UnicodeDecodeError) as error:
        raise UserError(Fault.CONFIGURATION, f"{str(path)!r} is not valid TOML: {error}") from None
    except OSError as error:
        raise UserError(Fault.CONFIGURATION, f"cannot read {str(path)!r}: {error.strerror}") from None


def _write(path: Path, text: str) -> Path:
    """Replace the file, after a look at whether it would be read again. A link (into a folder of dotfiles, say)
    stays one: what it points to is replaced, with the permissions that it has."""
    make_private_folder(path.parent)
    target = Path(os.path.realpath(path))
    draft = target.with_name(f".{path.name}.{os.getpid()}")
    try:
        draft.write_text(text, "utf-8")
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


def _values(settings: Any, prefix: str = "") -> Iterator[tuple[str, Any]]:
    for each in fields(settings):
        if not each.init:
            continue
        value, key = getattr(settings, each.name), f"{prefix}{each.name}"
        if is_dataclass(value) and not isinstance(value, type):
            yield from _values(value, f"{key}.")
        else:
            yield key, value


def _source(key: str, home: Home, root: Path | None, env: Mapping[str, str]) -> str:
    if env.get(variable := variable_of(key)):
        return variable
    from cli.toml_lines import line_of

    for path in ([root / PROJECT_FILE] if root else []) + [home.config / FILE]:
        value: Any = read_file(path)
        for part in key.split("."):
            value = value.get(part) if isinstance(value, Mapping) else None
        if value is not None:
            return f"{path}:{line_of(path.read_text('utf-8'), key)}"
    return "built-in"
