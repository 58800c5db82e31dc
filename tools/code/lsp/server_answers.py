"""Answers of the tool `code` from a language server, or the reason for falling back to the index."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

from tools.code.lsp.positions import Place
from tools.code.lsp.server_questions import ACTIONS, AskIndex, NamedPlace, build_uses, resolve_target
from tools.core.text import clip, format_count
from tools.shell.server_pipes import ServerGone

if TYPE_CHECKING:
    from tools.code.index.code_index import Index
    from tools.code.index.query_answers import Answer
    from tools.code.lsp.language_server import Server
    from tools.code.lsp.session_servers import Servers
    from tools.core.workspace import Workspace

MOST_UNSURE = 6
"""Places shown that may be uses."""

MAX_CODE = 120
"""Characters of a line of code."""


async def answer_with_server(
    at: Workspace, servers: Servers, ask: AskIndex, action: str, target: str
) -> tuple[Answer | None, str]:
    """Return the language server's answer, or None to fall back to the index, and a note on the reason or ""."""
    if action not in ACTIONS:
        return None, ""
    where = await asyncio.to_thread(ask, lambda index: resolve_target(index, target))
    if where is None or (action == "find" and not where.given):
        return None, ""
    server = servers.get_server(at, where.place.path)
    if server is None:
        return None, ""
    unsure: tuple[Place, ...] = ()
    try:
        if action == "find":
            places = await server.request_definitions(where.place)
        else:
            places, unsure = await _request_all_references(at, servers, server, ask, where)
    except ServerGone as gone:
        return None, await servers.give_up(server, gone)
    if not places:  # it may not have read every file yet; the index has
        return None, ""
    answer = await asyncio.to_thread(ask, lambda index: _format_answer(index, action, where, places, server))
    if unsure:
        shown = ", ".join(f"{each.path}:{each.line}" for each in unsure[:MOST_UNSURE])
        more = f" and {len(unsure) - MOST_UNSURE} more" if len(unsure) > MOST_UNSURE else ""
        note = f"and by name, where {server.name} knows nothing: {shown}{more}"
        answer = replace(answer, text=f"{answer.text}\n{note}")
    return answer, ""


async def _request_all_references(
    at: Workspace, servers: Servers, server: Server, ask: AskIndex, where: NamedPlace
) -> tuple[list[Place], tuple[Place, ...]]:
    """Return the references, completed by the index, and the places that may be some. Raises ServerGone."""
    from tools.code.lsp.symbol_places import find_left_places, load_project

    await load_project(at, servers, server, ask, where)
    places = await server.request_references(where.place)
    left = await find_left_places(server, ask, where, {(each.path, each.line) for each in places})
    return sorted({*places, *left.same}), left.imported


def _format_answer(
    index: Index, action: str, where: NamedPlace, places: list[Place], server: Server
) -> Answer:
    from tools.code.index.query_answers import Answer, format_uses

    place = f"{where.place.path}:{where.place.line}"
    if action != "find":
        told = build_uses(index, where.name, places, calls=action == "callers")
        return format_uses(
            where.name, told, f"of the one at {place}, as {server.name} tells,", calls=action == "callers"
        )
    lines = [f"{where.name} at {place}: {format_count(len(places), 'definition')}, as {server.name} tells"]
    for each in places:
        code = index.read_source(each.path).split("\n")[each.line - 1 : each.line]
        lines.append(f"  {each.path}:{each.line}: {clip(''.join(code).strip(), MAX_CODE)}")
    data = [{"path": each.path, "line": each.line, "column": each.column} for each in places]
    return Answer(text="\n".join(lines), data=data)
