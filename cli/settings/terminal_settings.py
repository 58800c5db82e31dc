"""Types of the terminal settings."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path
from typing import Literal, get_args

from cli.settings.settings_files import FILE, parse_value, read_settings_file
from sandbox.errors import UserError
from sandbox.lazy_dataclass import dataclass
from sandbox.settings_validation import FORBID_UNKNOWN

Theme = Literal["terminal", "dark", "light", "blue-orange", "mono"]
Editing = Literal["emacs", "vi"]
Notify = Literal["bell", "osc9", "off"]


@dataclass(kw_only=True)
class TerminalSettings:
    """The interactive session.

    notify: how it calls when it waits or is done after a while
    pause: seconds without a key after which the keys answer a question that came while something was typed
    footer: template of the line below the prompt, "" for the built-in one
    links: whether paths are links to their files in terminals that open them
    """

    __pydantic_config__ = FORBID_UNKNOWN

    theme: Theme = "terminal"
    editing: Editing = "emacs"
    notify: Notify = "bell"
    pause: float = 0.8
    footer: str = ""
    links: bool = True
    plain: bool = False
    """Lines only, nothing redrawn: for screen readers."""
    keys: dict[str, list[str]] = field(default_factory=dict)
    """Keys by action (`patchwright config keys` lists both), such as `unfold = ["c-o", "f2"]`."""


def read_terminal_settings(
    config: Path, *, plain: bool, env: Mapping[str, str] = os.environ
) -> TerminalSettings:
    """Return the terminal settings of the environment and the user's file in the folder `config`, before validation.

    The prompt is drawn with them. Invalid ones keep their built-in values: the load of all settings, which
    follows, reports them and ends the program.
    """
    found = TerminalSettings(plain=plain)
    try:
        stored = read_settings_file(config / FILE).get("terminal")
    except UserError:
        return found
    said = {**(stored if isinstance(stored, Mapping) else {}), **_read_variables(env)}
    for name, words in _WORDS.items():
        if said.get(name) in words:
            setattr(found, name, said[name])
    pause = said.get("pause")
    if isinstance(pause, int | float) and not isinstance(pause, bool) and pause >= 0:
        found.pause = float(pause)
    found.links = said.get("links") is not False
    found.plain = plain or said.get("plain") is True
    keys = said.get("keys")
    for action, each in keys.items() if isinstance(keys, Mapping) else ():
        if isinstance(each, list) and all(isinstance(key, str) for key in each):
            found.keys[action] = each
    return found


def _read_variables(env: Mapping[str, str]) -> dict[str, object]:
    """Return the values of `PATCHWRIGHT_TERMINAL__THEME=dark` and the like, by name."""
    given = {
        name.removeprefix(_PREFIX).lower(): text for name, text in env.items() if name.startswith(_PREFIX)
    }
    return {name: parse_value(text) for name, text in given.items() if text}


_SECTION = "TERMINAL"
_PREFIX = f"PATCHWRIGHT_{_SECTION}__"

_WORDS: Mapping[str, tuple[object, ...]] = {
    "theme": get_args(Theme),
    "editing": get_args(Editing),
    "notify": get_args(Notify),
}
