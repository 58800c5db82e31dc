"""A person's prompt among what was printed: a band across the width, or a sign below a rule where there are no colours.

The same in a running session, in a resumed one, and in the transcript.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from cli.output.style.paint import get_mark
from cli.output.style.terminal import measure_columns, wrap_hanging
from cli.output.style.theme import apply_style, get_sgr_parameters

_FILL = "\x1b[K"
"""Erase to the end of the row, in the band's background: unlike spaces, it is not copied with the text."""


def format_prompt_echo(
    text: str, width: int, *, colour: bool, unicode: bool, pads: bool = False
) -> list[str]:
    """Return the rows of a prompt, safe to show.

    pads: fill the band with spaces, where the rows are not written to a terminal as they are
    """
    sign, indent = get_mark("you", unicode=unicode), "  "
    lines = [f"{indent if index else f'{sign} '}{line}" for index, line in enumerate(text.split("\n"))]
    if not colour:
        return lines
    # One column is left free: erasing in the last one would take its character away.
    rows = [row for line in lines for row in wrap_hanging(line.replace("\t", "    "), width - 1, indent)]
    band = get_sgr_parameters("said")
    if band == "0" or not has_many_colours():
        return [apply_style("─" * width if unicode else "-" * width, "dim"), *rows]
    return [
        f"\x1b[{band}m{row}{' ' * (width - measure_columns(row)) if pads else _FILL}\x1b[0m" for row in rows
    ]


def has_many_colours(env: Mapping[str, str] = os.environ) -> bool:
    """Return whether the terminal says that it knows the colours of the band; one that does not may blink instead."""
    return "256color" in env.get("TERM", "") or bool(env.get("COLORTERM")) or env.get("TERM", "") in _MODERN


_MODERN = {"xterm-kitty", "xterm-ghostty", "alacritty", "foot", "wezterm"}
