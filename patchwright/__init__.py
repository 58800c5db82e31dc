"""Patchwright, a command-line coding agent: its launcher, and the interface for Python programs (docs/api.md)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from patchwright.version import VERSION as __version__

if TYPE_CHECKING:
    from patchwright.api import events
    from patchwright.api.errors import PatchwrightError
    from patchwright.api.session import Question, Session, Turn, UserQuestion, session
    from patchwright.api.tools import tool

__all__ = [
    "PatchwrightError",
    "Question",
    "Session",
    "Turn",
    "UserQuestion",
    "__version__",
    "events",
    "session",
    "tool",
]

if not TYPE_CHECKING:  # a type checker shall see the names that there are

    def __getattr__(name):
        from patchwright.exports import load_name

        return load_name(name)
