"""Frame of a code block: the name of its language above. Nothing stands beside the code, which can so be copied."""

from __future__ import annotations

from cli.output.style.terminal import truncate_text
from cli.output.style.theme import apply_style
from sandbox.sanitize import sanitize_text


def draw_code_title(language: str, width: int, *, colour: bool) -> str:
    """Return the line above a block; "" without a language."""
    if not (colour and language):
        return ""
    name = sanitize_text(language).replace("\n", " ").replace("\t", " ")
    return apply_style(truncate_text(name, width), "dim")
