"""New diagnostics of a language server after an edit."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import TYPE_CHECKING

from tools.code.lsp.language_server import Diagnostic
from tools.core.text import clip
from tools.shell.server_pipes import ServerGone

if TYPE_CHECKING:
    from tools.core.workspace import Workspace

TIMEOUT = 5.0
"""Seconds that an edit waits for diagnostics of both versions together; a slower server continues its start.
"""

MOST = 5
"""Diagnostics reported: a change that breaks something often breaks it in many places."""

MOST_LETTERS = 200
"""Characters of a message: some servers explain at length."""

WARNING = 2
"""Severities above this are hints."""


async def find_new_diagnostics(at: Workspace, path: str, before: str, after: str) -> list[str]:
    """Return the errors and warnings that the edit introduced, as "cart.py:12: undefined name 'x'".

    before: "" for a new file
    Empty if no server is configured for the file, or on timeout.
    """
    server = at.servers.get_server(at, path) if at.servers is not None else None
    if server is None or before == after:
        return []
    try:
        async with asyncio.timeout(TIMEOUT):
            known = await server.request_diagnostics(path, before) if before else []
            now = await server.request_diagnostics(path, after)
    except (TimeoutError, ServerGone):  # diagnostics are not worth a failure, nor a longer wait
        return []
    return [
        f"{path}:{each.line}: {clip(each.message, MOST_LETTERS)} ({server.name})"
        for each in _filter_new(known, now)
    ][:MOST]


def _filter_new(known: list[Diagnostic], now: list[Diagnostic]) -> list[Diagnostic]:
    """Return diagnostics absent before, on any line: an edit moves the lines after it."""
    left = Counter(each.message for each in known if each.severity <= WARNING)
    found = []
    for each in sorted(now, key=lambda one: (one.severity, one.line)):
        if each.severity > WARNING:
            continue
        if left[each.message]:
            left[each.message] -= 1
        else:
            found.append(each)
    return found
