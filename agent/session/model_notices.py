"""Notices of models in a session's log."""

from __future__ import annotations

from collections.abc import Callable

from agent.events import Signal
from agent.session.log import Session


def make_notice_callback(session: Session) -> Callable[[str], None]:
    """Return a callback for models: one quiet line for the user (a retry, a fallback), logged as a signal."""

    def log_notice(text: str) -> None:
        session.append(Signal(name="model", detail=text))

    return log_notice
