"""`rename`: rename a symbol and all its uses with the language server of its file."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, TypeVar

from sandbox.errors import UserError
from tools.code.lsp.positions import resolve_position, uri_to_path
from tools.core.action import Observation, ToolFailure
from tools.core.registry import tool
from tools.core.workspace import Workspace
from tools.shell.server_pipes import ServerGone

if TYPE_CHECKING:
    from tools.code.index.code_index import Index
    from tools.code.lsp.language_server import Server
    from tools.code.lsp.positions import Place
    from tools.code.lsp.server_questions import NamedPlace
    from tools.code.lsp.session_servers import Servers
    from tools.edit.edit_model import Update

Answered = TypeVar("Answered")

ATTEMPTS = 2
"""Times that a server is asked whose answer leaves places out."""

MOST_LEFT, MOST_COUNTED = 6, 500
"""Remaining places of the old name that are shown, and that are counted."""


@tool(effect="write")
async def rename(name: str, to: str, *, at: Workspace) -> Observation:
    """Rename a function, class, variable and all uses of that very one, in all files.

    name: "Cart.total", or with a line that contains it: "cart.py:12 total"
    """
    from tools.code.code_tool import query_index
    from tools.code.lsp.server_questions import resolve_target
    from tools.edit.apply.execute import execute_changes

    if not to.isidentifier():
        raise ToolFailure(f"rename: no change: {to!r} is no name")
    try:
        where = await asyncio.to_thread(query_index, at, lambda index: resolve_target(index, name))
    except UserError as error:
        raise ToolFailure(f"rename: no change: {error.message}") from None
    if where is None:
        raise ToolFailure(
            f"rename: no change: {name!r} has no definition here, or several. Name a line that it stands on "
            '("cart.py:12 total")'
        )
    servers = at.servers
    server = servers.get_server(at, where.place.path) if servers is not None else None
    if servers is None or server is None:
        raise ToolFailure(
            f"rename: no change: no language server runs for {where.place.path}; edit the places"
        )
    try:
        texts = await _rename_everywhere(at, servers, server, where, to)
    except ServerGone as gone:
        raise ToolFailure(f"rename: no change: the language server {server.name} says: {gone}") from None
    if kept := [path for path in texts if servers.spared(path)]:
        raise ToolFailure(
            f"rename: no change: {kept[0]} would have to change, which a rule of the user's forbids"
        )
    if not texts:
        raise ToolFailure(f"rename: no change: {server.name} finds nothing to rename at {name!r}")
    done = await execute_changes(at, "rename", [_build_update(path, *texts[path]) for path in texts])
    left = await asyncio.to_thread(query_index, at, lambda index: _find_remaining_uses(index, where.name))
    return replace(done, text="\n".join([done.text, *left])) if left else done


async def _rename_everywhere(
    at: Workspace, servers: Servers, server: Server, where: NamedPlace, to: str
) -> dict[str, tuple[str, str]]:
    """Return the old and new texts of all files that a rename changes.

    Raises ServerGone, and ToolFailure where places are left of which the server knows nothing.
    """
    from tools.code.code_tool import query_index
    from tools.code.lsp.symbol_places import find_left_places, load_project

    def ask(question: Callable[[Index], Answered]) -> Answered:
        return query_index(at, question)

    await load_project(at, servers, server, ask, where)
    for _ in range(ATTEMPTS):
        edit = await server.request_rename(where.place, to)
        texts = dict(_apply_edit(at, edit or {}))
        if not texts:
            return {}
        left = await find_left_places(server, ask, where, _list_changed_lines(texts))
        if not (left.same or left.imported):
            return texts
        await server.wait_until_quiet()  # it may still read the project
    if left.imported:
        places = ", ".join(f"{each.path}:{each.line}" for each in left.imported[:MOST_LEFT])
        raise ToolFailure(
            f"rename: no change: {server.name} knows nothing of {places}, where the name is imported from "
            f"{where.place.path}. It may not have read the project yet: try again, or edit the places"
        )
    for each in reversed(left.same):
        old, new = texts.get(each.path) or (_read_text(at, each.path),) * 2
        texts[each.path] = (old, _replace_name(new, each, where.name, to))
    return texts


def _list_changed_lines(texts: Mapping[str, tuple[str, str]]) -> set[tuple[str, int]]:
    """Return paths and lines that a rename changes; a rename adds no line."""
    return {
        (path, number)
        for path, (old, new) in texts.items()
        for number, (line, now) in enumerate(zip(old.split("\n"), new.split("\n"), strict=False), 1)
        if line != now
    }


def _replace_name(text: str, place: Place, name: str, to: str) -> str:
    lines = text.split("\n")
    line = lines[place.line - 1]
    lines[place.line - 1] = f"{line[: place.column]}{to}{line[place.column + len(name) :]}"
    return "\n".join(lines)


def _find_remaining_uses(index: Index, name: str) -> list[str]:
    """Report where the old name remains: a server that has not read every file renames too little."""
    from itertools import islice

    from tools.code.index.symbol_queries import find_definitions, find_references

    places = [(each.path, each.symbol.line) for each in find_definitions(index, name)]
    places += [(each.path, each.line) for each in islice(find_references(index, name), MOST_COUNTED)]
    if not places:
        return []
    shown = ", ".join(f"{path}:{line}" for path, line in sorted(places)[:MOST_LEFT])
    more = f" and {len(places) - MOST_LEFT} more places" if len(places) > MOST_LEFT else ""
    return [f"the name still stands at {shown}{more}: look whether the same is meant there"]


def _build_update(path: str, old: str, new: str) -> Update:
    from tools.edit.edit_model import Replace, Update

    return Update(path=path, edits=(Replace(old=_normalize_newlines(old), new=_normalize_newlines(new)),))


def _apply_edit(at: Workspace, edit: Mapping[str, Any]) -> Iterator[tuple[str, tuple[str, str]]]:
    """Yield path, old and new text of each file that the server's edit changes.

    Raises ToolFailure for a change that is not allowed.
    """
    for address, edits in _group_by_file(edit):
        path = uri_to_path(at.root, address)
        if path is None:
            raise ToolFailure(f"rename: no change: it would change {address}, outside of the workspace")
        old = _read_text(at, path)
        new = apply_server_edits(old, edits)
        if new != old:
            yield path, (old, new)


def _read_text(at: Workspace, path: str) -> str:
    try:
        return at.files.read(path).decode("utf-8")
    except (OSError, ValueError) as error:
        raise ToolFailure(f"rename: no change: {path}: {error}") from None


def _group_by_file(edit: Mapping[str, Any]) -> Iterator[tuple[object, list[Any]]]:
    """Yield address and edits from either of the protocol's two forms."""
    documents = edit.get("documentChanges")
    if isinstance(documents, list):
        for each in documents:
            if not isinstance(each, dict) or "textDocument" not in each:
                raise ToolFailure("rename: no change: the server would create, move or delete files")
            yield each["textDocument"].get("uri"), each.get("edits", [])
    else:
        changes = edit.get("changes")
        yield from (changes if isinstance(changes, dict) else {}).items()


def apply_server_edits(text: str, edits: list[Any]) -> str:
    """Apply a server's edits, all relative to the original text. Raises ToolFailure if one is invalid."""
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    places: list[tuple[int, int, str]] = []
    try:
        for each in edits:
            (first, column), (last, end) = (
                resolve_position(lines, each["range"][side]) for side in ("start", "end")
            )
            places.append((starts[first] + column, starts[last] + end, str(each["newText"])))
    except (KeyError, TypeError, ValueError):
        raise ToolFailure("rename: no change: the server's answer makes no sense") from None
    places.sort()
    if any(start > end for start, end, _ in places) or any(
        end > start for (_, end, _), (start, _, _) in pairwise(places)
    ):
        raise ToolFailure("rename: no change: the server's changes lie over each other")
    for start, end, new in reversed(places):
        text = text[:start] + new + text[end:]
    return text


def _normalize_newlines(text: str) -> str:
    return text.replace("\r\n", "\n")
