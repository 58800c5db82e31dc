"""Requests to one language server: definitions, references, rename, diagnostics."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from sandbox.lazy_dataclass import dataclass
from sandbox.process.command_line import CommandLine
from sandbox.secrets.known_values import register_secrets
from tools.code.lsp.positions import Place, build_uri, count_letters, count_utf16_units, uri_to_path
from tools.code.lsp.server_process import ServerProcess
from tools.core.surroundings import Surroundings
from tools.shell.server_pipes import ServerGone

START = 30.0
"""Seconds for startup: large programs load large libraries."""

ANSWER = 15.0
"""Seconds for a request; after that the index answers instead."""

MOST_OPEN = 64
"""Files that it holds open; the least recently used one is closed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """line: from 1; severity: 1 for an error, 2 for a warning"""

    line: int
    severity: int
    message: str


@dataclass(slots=True)
class _OpenDocument:
    """A file as last sent to the server. heard: set when diagnostics (said) of this version arrived"""

    version: int
    text: str
    said: Sequence[Any] = ()
    heard: asyncio.Event = field(default_factory=asyncio.Event)


class Server:
    """One language server of a workspace, started by `ensure_started`."""

    def __init__(self, at: Surroundings, name: str, line: CommandLine) -> None:
        self.name = name
        self._at = at
        self._line = line
        register_secrets(line.environment)
        self._process = ServerProcess(at, self._handle_notification)
        self._starting: asyncio.Task[None] | None = None
        self._opened: OrderedDict[str, _OpenDocument] = OrderedDict()
        self._can: Mapping[str, Any] = {}

    async def ensure_started(self) -> None:
        """Start the server once; a cancelled caller does not cancel the start. Raises ServerGone."""
        if self._starting is None:
            self._starting = asyncio.create_task(self._start())
        await asyncio.shield(self._starting)

    @property
    def alive(self) -> bool:
        return self._process.alive

    async def close(self) -> None:
        """End the server and its child processes."""
        if self._starting is not None and not self._starting.done():
            self._starting.cancel()
            await asyncio.wait([self._starting])
        if self._starting is not None and not self._starting.cancelled():
            self._starting.exception()  # retrieve the exception of a failed start that no caller awaited
        await self._process.close()

    async def request_definitions(self, place: Place) -> list[Place]:
        """Return the definitions, in the workspace, of the name at a place. Raises ServerGone."""
        return await self._request_places("textDocument/definition", place, {})

    async def request_references(self, place: Place) -> list[Place]:
        """Return the uses of the symbol at a place, without its definition. Raises ServerGone."""
        return await self._request_places(
            "textDocument/references", place, {"context": {"includeDeclaration": False}}
        )

    async def request_rename(self, place: Place, to: str) -> Mapping[str, Any] | None:
        """Return the edit that renames the symbol at a place, as a protocol `WorkspaceEdit`. Raises ServerGone."""
        found = await self._request_at("textDocument/rename", place, {"newName": to})
        return found if isinstance(found, dict) else None

    async def request_diagnostics(self, path: str, text: str) -> list[Diagnostic]:
        """Return the server's diagnostics for a file with this text. Raises ServerGone; has no timeout."""
        await self.ensure_started()
        opened = self._sync_document(path, text)
        if self._can.get("diagnosticProvider"):
            answer = await self._process.request(
                "textDocument/diagnostic", {"textDocument": {"uri": build_uri(self._at.root, path)}}, ANSWER
            )
            said = answer.get("items", ()) if isinstance(answer, dict) else ()
        else:
            await opened.heard.wait()
            said = opened.said
        return [found for each in said if (found := _parse_diagnostic(each))]

    async def _start(self) -> None:
        await self._process.start(self._line)
        root = build_uri(self._at.root, "")
        answer = await self._process.request(
            "initialize",
            {
                "processId": None,  # it runs in a PID namespace of its own
                "rootUri": root,
                "workspaceFolders": [{"uri": root, "name": self._at.root.name}],
                "capabilities": _CAPABILITIES,
            },
            START,
        )
        can = answer.get("capabilities") if isinstance(answer, dict) else None
        self._can = can if isinstance(can, dict) else {}
        self._process.notify("initialized", {})

    async def _request_places(self, method: str, place: Place, more: Mapping[str, Any]) -> list[Place]:
        found = await self._request_at(method, place, more)
        wanted = found if isinstance(found, list) else [found] if isinstance(found, dict) else []
        places = {told for each in wanted if (told := self._parse_location(each))}
        return sorted(places)

    async def _request_at(self, method: str, place: Place, more: Mapping[str, Any]) -> Any:
        await self.ensure_started()
        text = self._read_text(place.path)
        self._sync_open_documents()
        self._sync_document(place.path, text)
        lines = text.split("\n")
        line = lines[place.line - 1] if place.line <= len(lines) else ""
        position = {"line": place.line - 1, "character": count_utf16_units(line, place.column)}
        document = {"uri": build_uri(self._at.root, place.path)}
        return await self._process.request(
            method, {"textDocument": document, "position": position, **more}, ANSWER
        )

    def _parse_location(self, location: object) -> Place | None:
        """Return the place of a `Location` or `LocationLink`, None outside the workspace."""
        if not isinstance(location, dict):
            return None
        path = uri_to_path(self._at.root, location.get("uri", location.get("targetUri")))
        range_: Any = location.get("range", location.get("targetSelectionRange"))
        try:
            line, character = int(range_["start"]["line"]), int(range_["start"]["character"])
            lines = self._read_text(path).split("\n") if path is not None else []
        except (KeyError, TypeError, ValueError, ServerGone):
            return None
        if path is None or not 0 <= line < len(lines):
            return None
        return Place(path=path, line=line + 1, column=count_letters(lines[line], max(character, 0)))

    def _read_text(self, path: str) -> str:
        """Return the current text of the file. Raises ServerGone."""
        try:
            return self._at.files.read(path).decode("utf-8", "replace")
        except (OSError, ValueError) as error:
            raise ServerGone(f"{path} cannot be read: {error}") from None

    def _sync_document(self, path: str, text: str) -> _OpenDocument:
        """Send a file's text to the server if it changed."""
        there = self._opened.get(path)
        document = {"uri": build_uri(self._at.root, path)}
        if there is None:
            there = self._opened[path] = _OpenDocument(1, text)
            about = {**document, "languageId": _get_language_id(path), "version": 1, "text": text}
            self._process.notify("textDocument/didOpen", {"textDocument": about})
            if len(self._opened) > MOST_OPEN:
                old, _ = self._opened.popitem(last=False)
                self._process.notify(
                    "textDocument/didClose", {"textDocument": {"uri": build_uri(self._at.root, old)}}
                )
        elif there.text != text:
            there = self._opened[path] = _OpenDocument(there.version + 1, text)
            self._process.notify(
                "textDocument/didChange",
                {"textDocument": {**document, "version": there.version}, "contentChanges": [{"text": text}]},
            )
        self._opened.move_to_end(path)
        return there

    def _sync_open_documents(self) -> None:
        """Synchronize every open file: edits and commands change them meanwhile."""
        for path in list(self._opened):
            try:
                self._sync_document(path, self._read_text(path))
            except ServerGone:  # the file no longer exists
                del self._opened[path]
                document = {"uri": build_uri(self._at.root, path)}
                self._process.notify("textDocument/didClose", {"textDocument": document})

    def _handle_notification(self, method: str, parameters: object) -> None:
        if method != "textDocument/publishDiagnostics" or not isinstance(parameters, dict):
            return
        path = uri_to_path(self._at.root, parameters.get("uri"))
        opened = self._opened.get(path) if path is not None else None
        version, said = parameters.get("version"), parameters.get("diagnostics")
        if opened is not None and isinstance(said, list) and version in (None, opened.version):
            opened.said = said
            opened.heard.set()


def _parse_diagnostic(told: object) -> Diagnostic | None:
    if not isinstance(told, dict):
        return None
    try:
        line = int(told["range"]["start"]["line"]) + 1
    except (KeyError, TypeError, ValueError):
        return None
    severity = told.get("severity")
    message = " ".join(str(told.get("message", "")).split())
    return Diagnostic(line=line, severity=severity if isinstance(severity, int) else 1, message=message)


def _get_language_id(path: str) -> str:
    """Return the protocol's identifier of the file's language."""
    from tools.code.languages import match_languages

    found = match_languages(path)
    name = found[-1].name if found else path.rpartition(".")[2]
    return {"tsx": "typescriptreact", "bash": "shellscript"}.get(name, name)


_CAPABILITIES: Mapping[str, Any] = {
    "general": {"positionEncodings": ["utf-16"]},
    "textDocument": {
        "synchronization": {"dynamicRegistration": False},
        "definition": {"linkSupport": True},
        "references": {},
        "rename": {"prepareSupport": False},
        "publishDiagnostics": {"versionSupport": True},
    },
    "workspace": {
        "workspaceFolders": True,
        "configuration": True,
        "workspaceEdit": {"documentChanges": True},
    },
}
