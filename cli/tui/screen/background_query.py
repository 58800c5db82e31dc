"""Question to the terminal for its background (OSC 11): faint colours must fit it, and most themes do not know it."""

from __future__ import annotations

from cli.output.diff.diff_colours import find_colour_depth
from cli.output.style.theme import get_background, has_colours, set_background
from sandbox.lazy_pattern import compile_lazily

QUESTION = "\x1b]11;?\x1b\\"

DARK = 0.5
"""Luminance below which a background is dark."""


class BackgroundQuery:
    """One question and its reply, which comes among the keys. Terminals that do not know it stay silent."""

    def __init__(self) -> None:
        self._waits = False
        self._held = ""

    def ask(self) -> str:
        """Return the question; "" if the background is known, or would not be used."""
        self._waits = bool(has_colours() and not get_background() and find_colour_depth())
        return QUESTION if self._waits else ""

    def take_reply(self, keys: str) -> str:
        """Return the keys without the reply; its beginning is held back until the rest arrives."""
        if not self._waits:
            return keys
        keys, self._held = self._held + keys, ""
        if match := _REPLY.search(keys):
            self._waits = False
            red, green, blue = (int(part, 16) / (16 ** len(part) - 1) for part in match.groups())
            set_background("dark" if 0.2126 * red + 0.7152 * green + 0.0722 * blue < DARK else "light")
            return keys[: match.start()] + keys[match.end() :]
        if match := _BEGUN.search(keys):
            self._held = match[0]
            return keys[: match.start()]
        return keys


_PART = r"([0-9a-fA-F]{1,4})"
_REPLY = compile_lazily(rf"\x1b\]11;rgba?:{_PART}/{_PART}/{_PART}(?:/[0-9a-fA-F]{{1,4}})?(?:\x07|\x1b\\)")
_BEGUN = compile_lazily(r"\x1b\]1(?:1(?:;[rgba:/0-9a-fA-F]{0,32}\x1b?)?)?$")
"""Not a lone Esc, nor Alt-]: those are keys."""
