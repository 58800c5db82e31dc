"""Several patches in one reply: the prompt is paid for once, and each patch is tried by an attempt of its own."""

from __future__ import annotations

import re
from pathlib import Path

from agent.events import MessageEvent
from agent.session.log import read_events
from sandbox.lazy_pattern import compile_lazily

SEPARATOR = "=== NEXT PATCH ==="

_LINE = compile_lazily(rf"^[ \t]*{re.escape(SEPARATOR)}[ \t]*\r?$", re.MULTILINE)

ASK = (
    "Give {number} patches, each complete in itself, that differ in what they take for the cause; the likeliest first. "
    f"Put the line `{SEPARATOR}` between them."
)
"""Asks for several patches."""


def split_patches(text: str) -> list[str]:
    """Return the patches of a reply, the whole reply if it has no separator."""
    return [each for each in _LINE.split(text) if each.strip()] or [text]


def read_patches(session: Path) -> list[str]:
    """Return the patches of the first reply in the log of a session; none if it cannot be read. Blocking."""
    try:
        for event in read_events(session):
            if isinstance(event, MessageEvent) and event.text.strip():
                return split_patches(event.text)
    except OSError:  # its log was deleted since
        pass
    return []
