"""New diagnostics of language servers after a change."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from sandbox.errors import UserError
from sandbox.lazy_pattern import compile_lazily
from tools.code.lsp.language_server import ChangedText, Diagnostic
from tools.code.lsp.moved_diagnostics import select_new_diagnostics
from tools.core.text import clip
from tools.shell.server_pipes import ServerGone

_IMPORT = compile_lazily(r"\s*(?:from|import)\s+(\w+)|.*(?:from|import|require\()\s*['\"]([@\w][^'\"]*)['\"]")
"""An import of a module by its name, not by a path: of Python, or of JavaScript."""

if TYPE_CHECKING:
    from tools.code.index.code_index import Index
    from tools.code.lsp.language_server import Server
    from tools.code.lsp.session_servers import Servers
    from tools.core.workspace import Workspace

TIMEOUT, COLD_TIMEOUT = 5.0, 10.0
"""Seconds that a change waits for diagnostics of both versions: of a server that has read the project, and of one that
has not; it continues its start.
"""

PATIENCE, SHORTEST_TIMEOUT = 3, 1.0
"""After so many changes without an answer each next one waits half as long, at least so long."""

INDEX_SECONDS = 3.0
"""Seconds for the index to say which modules other files import."""

MOST = 5
"""Diagnostics reported: a change that breaks something often breaks it in many places."""

MOST_FILES = 40
"""Files of one change that are told to a server; larger sweeps are left to the tests."""

MOST_LETTERS = 200
"""Characters of a message: some servers explain at length."""


async def describe_new_diagnostics(
    at: Workspace, servers: Servers, changes: Sequence[ChangedText]
) -> list[str]:
    """Return lines about the errors that a change introduced, as "cart.py:12: undefined name 'x'".

    They are those of the files as they are after the whole change. What is not certain is left out; a server that
    has no answer is named.
    """
    by_server: dict[str, tuple[Server, list[ChangedText]]] = {}
    for each in changes[:MOST_FILES]:
        server = servers.get_server(at, each.path)
        if server is not None and each.before != each.after:
            by_server.setdefault(server.name, (server, []))[1].append(each)
    found: list[tuple[str, Diagnostic, str]] = []
    notes: list[str] = []
    for server, texts in by_server.values():
        try:
            async with asyncio.timeout(_choose_timeout(server)):
                new = await _find_new(server, texts)
            found += [(path, each, server.name) for path, entries in new.items() for each in entries]
            server.unanswered = 0
        except TimeoutError:
            server.unanswered += 1
            notes.append(f"(no answer yet from the language server {server.name} about this change)")
        except ServerGone as gone:
            notes.append(
                await servers.give_up(server, gone, "(the language server {name} is of no help: {why})")
            )
    if found:
        doubted = await _find_doubted_imports(at, changes, {(path, each.line) for path, each, _ in found})
        found = [entry for entry in found if (entry[0], entry[1].line) not in doubted]
    lines = [
        f"{path}:{each.line}: {clip(each.message, MOST_LETTERS)} ({name})"
        for path, each, name in found[:MOST]
    ]
    return [*(["new for the language server:", *lines] if lines else []), *notes]


def _choose_timeout(server: Server) -> float:
    longest = TIMEOUT if server.is_loaded or server.unanswered else COLD_TIMEOUT
    return max(longest * 0.5 ** max(0, server.unanswered - PATIENCE), SHORTEST_TIMEOUT)


async def _find_new(server: Server, changes: Sequence[ChangedText]) -> dict[str, list[Diagnostic]]:
    """Return the new errors by file. Has no timeout."""
    compared = await server.compare_diagnostics(changes)
    texts = {each.path: each for each in changes}

    def select(path: str, known: Sequence[Diagnostic], now: Sequence[Diagnostic]) -> list[Diagnostic]:
        return select_new_diagnostics(texts[path].before, texts[path].after or "", known, now)

    new = {path: select(path, known, now) for path, (known, now) in compared.items()}
    doubted = [path for path, found in new.items() if found]
    if not doubted:
        return {}
    again = await server.repeat_diagnostics(
        doubted
    )  # an answer may come before it has followed all of a change
    return {path: select(path, compared[path][0], again[path]) for path in doubted}


async def _find_doubted_imports(
    at: Workspace, changes: Sequence[ChangedText], places: Collection[tuple[str, int]]
) -> set[tuple[str, int]]:
    """Return paths and lines that import a module from outside the workspace which other files import, too.

    Whether it is installed is not seen by every server; the change is not at fault. Without an answer of the index in
    time all such lines are in doubt.
    """
    lines = {each.path: (each.after or "").split("\n") for each in changes}
    wanted: dict[str, set[tuple[str, int]]] = {}
    for path, line in places:
        text = lines[path][line - 1] if line <= len(lines[path]) else ""
        if match := _IMPORT.match(text):
            wanted.setdefault(match[1] or match[2], set()).add((path, line))
    if not wanted:
        return set()
    try:
        async with asyncio.timeout(INDEX_SECONDS):
            elsewhere = await asyncio.to_thread(_list_modules_elsewhere, at, tuple(wanted), frozenset(lines))
    except (TimeoutError, UserError):
        elsewhere = list(wanted)
    return {place for module in elsewhere for place in wanted[module]}


def _list_modules_elsewhere(at: Workspace, modules: Sequence[str], own: Collection[str]) -> list[str]:
    """Return the modules that other files import from outside the workspace. Raises UserError."""
    from tools.code.code_tool import query_index
    from tools.code.index.symbol_queries import find_files_importing

    def look_up(index: Index) -> list[str]:
        return [each for each in modules if find_files_importing(index, each).difference(own)]

    return query_index(at, look_up)
