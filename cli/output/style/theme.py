"""Themes: SGR parameters (ECMA-48 §8.3.117) of each style."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Literal

_TERMINAL: Mapping[str, str] = {
    "bold": "1",
    "dim": "2",
    "red": "31",
    "green": "32",
    "yellow": "33",
    "blue": "34",
    "magenta": "35",
    "cyan": "36",
    "added": "1;4;32",
    "removed": "1;4;31",
    "said": "48;5;237;38;5;255",
    "code.comment": "2",
    "code.keyword": "35",
    "code.type": "36",
    "code.builtin": "36",
    "code.function": "34",
    "code.string": "32",
    "code.number": "33",
}

THEMES: Mapping[str, Mapping[str, str]] = {
    "terminal": _TERMINAL,
    "dark": {
        **_TERMINAL,
        "dim": "90",
        "red": "91",
        "green": "92",
        "yellow": "93",
        "blue": "94",
        "magenta": "95",
        "cyan": "96",
        "added": "1;4;92",
        "removed": "1;4;91",
        "code.comment": "90",
        "code.keyword": "95",
        "code.function": "94",
    },
    "light": {
        **_TERMINAL,
        "yellow": "35",
        "cyan": "34",
        "dim": "90",
        "said": "48;5;254;38;5;235",
        "code.comment": "90",
        "code.number": "35",
    },
    "blue-orange": {**_TERMINAL, "green": "34", "red": "33", "added": "1;4;34", "removed": "1;4;33"},
    "mono": {
        **dict.fromkeys(_TERMINAL, "0"),
        "bold": "1",
        "dim": "2",
        "red": "1",
        "yellow": "1",
        "added": "1;4",
        "removed": "1;4",
        "code.comment": "2",
        "code.keyword": "1",
    },
}
"""`terminal` uses the terminal's own sixteen colours: readable on a light and on a dark background. `dark` and
`light` are for terminals whose own colours are hard to read there; `blue-orange` distinguishes added from removed
for red-green colour blindness; `mono` needs no colour."""


class _Theme:
    """The theme in use, which the settings decide at its first use unless it is chosen before."""

    name = ""
    styles: Mapping[str, str] = {}


def choose_theme(theme: str) -> None:
    """Use a theme from now on in the whole process.

    With NO_COLOR (no-color.org) that is `mono`: no colours, but bold and underline remain.
    """
    _Theme.name = "mono" if os.environ.get("NO_COLOR") else theme
    _Theme.styles = THEMES[_Theme.name]


def get_theme() -> str:
    """Return the name of the theme in use."""
    _get_styles()
    return _Theme.name


def _get_styles() -> Mapping[str, str]:
    if not _Theme.name:
        choose_theme(_read_own_theme())
    return _Theme.styles


def _read_own_theme() -> str:
    """Return the theme of the user's settings, for a command that opens no conversation."""
    from agent.app_dirs import Home
    from cli.settings.terminal_settings import TerminalSettings, read_terminal_settings
    from sandbox.errors import UserError

    try:
        return read_terminal_settings(Home.from_environment().config, plain=False).theme
    except UserError:  # no folder of settings: an error of its own says so
        return TerminalSettings().theme


_BACKGROUNDS = {"dark": "dark", "light": "light"}
"""Of the themes that are made for one; otherwise the terminal may tell."""


def get_background() -> str:
    """Return "dark" or "light", "" if it is not known or there are no colours."""
    if not has_colours():
        return ""
    named = next((name for name in _BACKGROUNDS if _get_styles() == THEMES[name]), "")
    return named or _detect_background(os.environ)


def set_background(background: Literal["dark", "light"]) -> None:
    """Note the background that the terminal has told."""
    _told[:] = [background]


def forget_background() -> None:
    """Forget what the terminal told."""
    _told.clear()


_told: list[str] = []


def get_hues() -> str:
    """Return the hues that distinguish added from removed: "red-green" or "blue-orange"."""
    return "blue-orange" if _get_styles()["green"] == THEMES["blue-orange"]["green"] else "red-green"


def _detect_background(env: Mapping[str, str]) -> str:
    """Return the background that the terminal told, or by COLORFGBG ("15;0": white on black), which several set."""
    if _told:
        return _told[0]
    number = env.get("COLORFGBG", "").rpartition(";")[2]
    if not number.isdecimal():
        return ""
    return "dark" if int(number) in (0, 1, 2, 3, 4, 5, 6, 8) else "light"


def has_colours() -> bool:
    """Return whether the theme has any colours."""
    return _get_styles()["red"] != THEMES["mono"]["red"]


def get_sgr_parameters(style: str, *, on_dark: bool = False) -> str:
    """Return the SGR parameters of a style in the current theme; on_dark: one that is readable on a dark ground."""
    return (THEMES["dark"] if on_dark else _get_styles())[style]


def apply_style(text: str, style: str) -> str:
    """Return `text` in a style; unchanged if there is none."""
    if not (style and text) or (parameters := _get_styles()[style]) == "0":
        return text
    return f"\x1b[{parameters}m{text}\x1b[0m"
