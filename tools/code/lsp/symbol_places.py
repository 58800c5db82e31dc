"""All places of one symbol: what a server says of them, compared with the places where the index has its name.

A server that has not read the project yet knows only open files. So the files that have the name are opened first, and
each place that its answer leaves out is asked about alone: is it the same symbol?
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING

from sandbox.lazy_dataclass import dataclass
from tools.code.lsp.positions import Place
from tools.code.lsp.server_process import ServerRefusal
from tools.code.lsp.server_questions import AskIndex, NamedPlace

if TYPE_CHECKING:
    from tools.code.index.code_index import Index
    from tools.code.lsp.language_server import Server
    from tools.code.lsp.session_servers import Servers
    from tools.core.surroundings import Surroundings

MOST_OPENED = 40
"""Files with the name that are opened: others are looked at only by servers that read the project themselves."""

MOST_COUNTED = 500
"""Places of a name that the index counts."""

MOST_ASKED, ASK_SECONDS = 60, 10.0
"""Places that are asked about one by one, and the seconds for all of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftPlaces:
    """Places of a name that a server's answer leaves out.

    same: those of which the server says, when asked one by one, that they are the same symbol
    imported: those of which it knows nothing although they import the name from the symbol's file
    """

    same: tuple[Place, ...]
    imported: tuple[Place, ...]


async def load_project(
    at: Surroundings, servers: Servers, server: Server, ask: AskIndex, where: NamedPlace
) -> None:
    """Let the server read the project, and the files that have the name. Raises ServerGone."""
    names = await asyncio.to_thread(ask, lambda index: _list_files(index, where.name))
    paths = [each for each in names if each != where.place.path and servers.get_server(at, each) is server]
    await server.load([where.place.path, *paths[: MOST_OPENED - 1]])


async def find_left_places(
    server: Server, ask: AskIndex, where: NamedPlace, told: Collection[tuple[str, int]]
) -> LeftPlaces:
    """Return what an answer leaves out, of the places that the index has. Raises ServerGone.

    told: paths and lines of the answer
    """
    known = await asyncio.to_thread(ask, lambda index: _list_places(index, where))
    asked = [each for each in known if (each.path, each.line) not in told][:MOST_ASKED]
    if not asked:
        return LeftPlaces(same=(), imported=())
    targets = {where.place}
    answers: dict[Place, list[Place]] = {}
    with suppress(TimeoutError):  # the others are not known
        async with asyncio.timeout(ASK_SECONDS):
            targets |= set(await _request_definitions(server, where.place))
            for each in asked:
                answers[each] = await _request_definitions(server, each)
    same = _follow_definitions(answers, targets)
    unknown = [each for each in asked if not answers.get(each)]
    imports = await asyncio.to_thread(ask, lambda index: _list_imports(index, where, unknown))
    return LeftPlaces(same=tuple(each for each in asked if each in same), imported=tuple(imports))


async def _request_definitions(server: Server, place: Place) -> list[Place]:
    try:
        return await server.request_definitions(place)
    except ServerRefusal:
        return []


def _follow_definitions(answers: Mapping[Place, Sequence[Place]], targets: Collection[Place]) -> set[Place]:
    """Return the places that lead to a target, also by way of an import that leads there."""
    ends = {(each.path, each.line) for each in targets}
    same: set[Place] = set()
    while more := {
        each
        for each, found in answers.items()
        if each not in same and any((one.path, one.line) in ends for one in found)
    }:
        same |= more
        ends |= {(each.path, each.line) for each in more}
    return same


def _list_files(index: Index, name: str) -> list[str]:
    from tools.code.index.symbol_queries import is_test

    return sorted(
        (path for path, *_ in index.find_files_with_name(name)), key=lambda path: (is_test(path), path)
    )


def _list_places(index: Index, where: NamedPlace) -> list[Place]:
    """Return the places where the name is used, one for each time that a line has it."""
    from tools.code.index.symbol_queries import find_references

    word = re.compile(rf"(?<!\w){re.escape(where.name)}(?!\w)")
    found: list[Place] = []
    for use in islice(find_references(index, where.name), MOST_COUNTED):
        lines = index.read_source(use.path).split("\n")
        line = lines[use.line - 1] if use.line <= len(lines) else ""
        found += [Place(path=use.path, line=use.line, column=each.start()) for each in word.finditer(line)]
    return found


def _list_imports(index: Index, where: NamedPlace, places: Sequence[Place]) -> list[Place]:
    """Return the places at which a file imports the name from the file that defines it."""
    if not places:
        return []
    from tools.code.index.module_resolution import Modules

    modules = Modules(index.code)
    found = []
    for each in places:
        for imported in index.outline(each.path).imports:
            has_name = where.name in imported.names if imported.names else imported.line == each.line
            if has_name and where.place.path in modules.resolve(imported.module, imported.names, each.path):
                found.append(each)
                break
    return found
