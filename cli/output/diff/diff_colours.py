"""Backgrounds of changed lines and words, by the theme and what the terminal can show."""

from __future__ import annotations

import os
from collections.abc import Mapping

from cli.output.style.theme import get_background, get_hues, has_colours
from sandbox.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class DiffColours:
    """SGR parameters of the backgrounds of lines, and of the words that changed in them.

    brings_text: the backgrounds are dark whatever the terminal's is, and come with a light colour of text
    """

    added: str
    removed: str
    added_words: str
    removed_words: str
    brings_text: bool = False


def choose_diff_colours(env: Mapping[str, str] = os.environ) -> DiffColours | None:
    """Return faint backgrounds, dark ones with light text if the terminal's own is not known; None if it has none."""
    depth = find_colour_depth(env)
    if not depth or not has_colours():
        return None
    background = get_background()
    names = _BACKGROUNDS[get_hues(), background or "dark"]
    added, removed, added_words, removed_words = (_format_parameters(each, depth) for each in names)
    if not background:
        added, removed = f"{added};{_LIGHT_TEXT}", f"{removed};{_LIGHT_TEXT}"
    return DiffColours(
        added=added,
        removed=removed,
        added_words=added_words,
        removed_words=removed_words,
        brings_text=not background,
    )


_LIGHT_TEXT = "38;5;254"


Tone = tuple[str, int]
"""A colour as RRGGBB, and the nearest usable one of 256."""

_BACKGROUNDS: Mapping[tuple[str, str], tuple[Tone, Tone, Tone, Tone]] = {
    ("red-green", "dark"): (("12301c", 22), ("3b1719", 52), ("1f6b3a", 28), ("84282d", 88)),
    ("red-green", "light"): (("dafbe1", 194), ("ffebe9", 224), ("a3e8b4", 157), ("ffc1bc", 217)),
    ("blue-orange", "dark"): (("112a4a", 17), ("3d2708", 58), ("1f5596", 25), ("80500f", 94)),
    ("blue-orange", "light"): (("ddf4ff", 195), ("fff1e0", 230), ("b0dfff", 153), ("ffd5a0", 223)),
}
"""Of added lines, removed lines, added words, removed words."""


def _format_parameters(tone: Tone, depth: int) -> str:
    if depth == 256:
        return f"48;5;{tone[1]}"
    red, green, blue = bytes.fromhex(tone[0])
    return f"48;2;{red};{green};{blue}"


_TRUE_COLOUR = ("xterm-kitty", "alacritty", "foot", "wezterm", "xterm-ghostty", "ghostty", "contour")


def find_colour_depth(env: Mapping[str, str] = os.environ) -> int:
    """Return the number of colours that the terminal is known to show: 16 million, 256, or 0 for fewer."""
    term = env.get("TERM", "")
    if env.get("COLORTERM") in ("truecolor", "24bit") or term.startswith(_TRUE_COLOUR):
        return 1 << 24
    return 256 if "256color" in term else 0
