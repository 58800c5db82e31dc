"""Frame of a code block: a bar at the left, and its language above."""

from __future__ import annotations

from cli.output.style.terminal import truncate_text
from cli.output.style.theme import apply_style
from sandbox.sanitize import sanitize_text

CODE_INDENT = "  "
"""Takes the place of the bar without colours: a screen reader would read a bar on every line."""


def draw_code_title(language: str, width: int, *, colour: bool) -> str:
    """Return the line above a block; "" without a language."""
    if not (colour and language):
        return ""
    name = sanitize_text(language).replace("\n", " ").replace("\t", " ")
    return apply_style(truncate_text(f"╭ {name}", width), "dim")


def draw_code_line(painted: str, *, colour: bool) -> str:
    """Return a line of a block, which may be broken into rows, behind the bar."""
    bar = apply_style("│", "dim") + " " if colour else CODE_INDENT
    if "\n" not in painted:
        return f"{bar}{painted}".rstrip(" ")
    return "\n".join([f"{bar}{row}".rstrip(" ") for row in painted.split("\n")])
