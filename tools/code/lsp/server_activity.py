"""What a server is at: its announced progress, how long it has been silent, and what it registered."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any

QUIET = 0.25
"""Seconds without a word of a server, and without progress, after which it is taken to have finished."""

POLL = 0.05

MOST_TOKENS = 1_000
"""Progress that is begun and never ended: more is not kept."""

DIAGNOSTIC = "textDocument/diagnostic"
_REFRESH = "workspace/diagnostic/refresh"


class ServerActivity:
    """Activity of one server.

    identifiers: of the pulls of diagnostics that it registered; None stands for one without a name
    """

    def __init__(self) -> None:
        self._tokens: set[object] = set()
        self._heard = time.monotonic()
        self._registered: dict[str, tuple[str, str | None]] = {}

    @property
    def is_busy(self) -> bool:
        """Whether it has announced progress that has not ended."""
        return bool(self._tokens)

    @property
    def identifiers(self) -> list[str | None]:
        return list(dict.fromkeys(name for method, name in self._registered.values() if method == DIAGNOSTIC))

    def note_message(self, method: str, parameters: object) -> None:
        """Note a notification or a request of the server."""
        given = parameters if isinstance(parameters, dict) else {}
        if method == "$/progress":
            self._note_progress(given)
        elif method == "client/registerCapability":
            for each in _list_entries(given, "registrations"):
                options = each.get("registerOptions")
                name = options.get("identifier") if isinstance(options, dict) else None
                self._registered[str(each.get("id"))] = (str(each.get("method")), _text_or_none(name))
        elif method == "client/unregisterCapability":
            # The protocol spells the key so.
            for each in _list_entries(given, "unregisterations"):
                self._registered.pop(str(each.get("id")), None)
        elif method not in (_REFRESH, "textDocument/publishDiagnostics"):
            return  # logs and telemetry say nothing of the state
        self._heard = time.monotonic()

    async def wait_until_quiet(self, is_answered: Callable[[], bool] = lambda: True) -> None:
        """Wait until it has answered and no progress is at work. Has no time limit."""
        start = time.monotonic()
        while self._tokens or not is_answered() or time.monotonic() - max(self._heard, start) < QUIET:
            await asyncio.sleep(POLL)

    def _note_progress(self, given: Mapping[str, Any]) -> None:
        value, token = given.get("value"), given.get("token")
        kind = value.get("kind") if isinstance(value, dict) else None
        if not isinstance(token, str | int):
            return
        if kind == "begin" and len(self._tokens) < MOST_TOKENS:
            self._tokens.add(token)
        elif kind == "end":
            self._tokens.discard(token)


def _list_entries(given: Mapping[str, Any], key: str) -> list[Mapping[str, Any]]:
    entries = given.get(key)
    return [each for each in entries if isinstance(each, dict)] if isinstance(entries, list) else []


def _text_or_none(value: object) -> str | None:
    return value if isinstance(value, str) else None
