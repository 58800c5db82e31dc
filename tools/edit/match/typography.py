"""Typographic characters in new lines, of which nothing in `old` shows whether they are the model's own."""

from __future__ import annotations

import re
from collections.abc import Iterable

from tools.edit.edit_model import Line
from tools.edit.match.matchers import LOOK_ALIKES, Source
from tools.edit.match.refusal_messages import EditRefused

_BULLET = re.compile(r"\s*([‐‑‒–—―−﹣－])\s")
_PLAIN_BULLET = re.compile(r"^[ \t]*- ", re.MULTILINE)


def refuse_typographic_bullets(source: Source, lines: Iterable[Line]) -> None:
    """Raise EditRefused for a new item with a long dash, in a file whose items have a hyphen: to YAML it is
    no item at all.
    """
    for line in lines:
        bullet = _BULLET.match(line.text) if line.op == "+" and not line.text.isascii() else None
        if bullet and bullet[1] not in source.text and _PLAIN_BULLET.search(source.text):
            raise EditRefused(
                f"`new` begins a line with {bullet[1]!r}, where the lines of the file have '-': "
                "write it as the file does"
            )


def replace_look_alikes(text: str) -> str | None:
    """Replace look-alikes by their ASCII characters; None if there are none."""
    plain = text if text.isascii() else text.translate(LOOK_ALIKES)
    return plain if plain != text else None
