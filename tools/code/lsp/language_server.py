"""Requests to one language server: definitions, references, rename, diagnostics."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from typing import Any

from sandbox.errors import UserError
from sandbox.lazy_dataclass import dataclass
from sandbox.process.command_line import CommandLine
from sandbox.secrets.known_values import register_secrets
from tools.code.lsp.open_documents import OpenDocuments
from tools.code.lsp.positions import Place, build_uri, count_letters, count_utf16_units, uri_to_path
from tools.code.lsp.server_activity import DIAGNOSTIC, ServerActivity
from tools.code.lsp.server_process import ServerProcess, ServerRefusal
from tools.code.lsp.watched_files import CHANGED, CREATED, DELETED, FileEvent, WatchedFiles
from tools.core.surroundings import Surroundings
from tools.shell.server_pipes import ServerGone

START = 30.0
"""Seconds for startup: large programs load large libraries."""

LOAD = 20.0
"""Seconds for a server to read a project before the first answer for which that matters."""

ANSWER = 15.0
"""Seconds for a request; after that the index answers instead."""

ERROR, HINT = 1, 4
"""Severities of the protocol. What has a tag is unnecessary or deprecated, whatever its severity: no error."""

RETRIES, RETRY_SECONDS = 10, 0.2
"""For requests that a server cancels itself, since something changed meanwhile."""

_CANCELLED = (-32801, -32802)
"""Codes of the protocol: content modified, server cancelled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Diagnostic:
    """line: from 1; severity: ERROR to HINT; code: the rule's name, "" without one"""

    line: int
    severity: int
    message: str
    code: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedText:
    """A file of one change. before: "" for a new file; after: None for a removed one"""

    path: str
    before: str
    after: str | None

    def as_event(self) -> FileEvent:
        return FileEvent(self.path, DELETED if self.after is None else CHANGED if self.before else CREATED)


class Server:
    """One language server of a workspace, started by `ensure_started`.

    unanswered: changes in a row about which it had no answer in time
    """

    def __init__(self, at: Surroundings, name: str, line: CommandLine) -> None:
        self.name = name
        self.unanswered = 0
        self._at = at
        self._line = line
        register_secrets(line.environment)
        self._process = ServerProcess(at, self._handle_message)
        self._starting: asyncio.Task[None] | None = None
        self._warming: asyncio.Task[None] | None = None
        self._activity = ServerActivity()
        self._documents = OpenDocuments(at.root, self._process.notify)
        self._files = WatchedFiles(at.root)
        self._turn = asyncio.Lock()
        self._is_loaded = False
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
        for task in (self._warming, self._starting):
            if task is not None and not task.done():
                task.cancel()
                await asyncio.wait([task])
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

    @property
    def is_loaded(self) -> bool:
        """Whether it has read the project, as far as it tells."""
        return self._is_loaded

    async def load(self, paths: Sequence[str]) -> None:
        """Open these files and wait, once, until the server has read the project. Raises ServerGone.

        Servers know before that only of the files that are open, and answer as if there were no others.
        """
        await self.ensure_started()
        async with self._turn:
            await self._sync_files(())
            for path in paths:
                with suppress(ServerGone):  # gone since it was listed
                    self._documents.sync(path, self._read_text(path))
        with suppress(TimeoutError):  # answers are compared with the index all the same
            async with asyncio.timeout(LOAD):
                await self._wait_until_loaded(paths)

    def warm_up(self, path: str) -> None:
        """Start the server and open a first file in the background; a failure is told by the first request."""
        if self._starting is None and self._warming is None:
            self._warming = asyncio.create_task(self._open_first(path))

    async def _open_first(self, path: str) -> None:
        with suppress(ServerGone):
            await self.load([path])

    async def wait_until_quiet(self) -> None:
        """Wait until the server is at nothing more that it tells of, for some seconds at most."""
        with suppress(TimeoutError):
            async with asyncio.timeout(ANSWER):
                await self._activity.wait_until_quiet()

    async def compare_diagnostics(
        self, changes: Sequence[ChangedText]
    ) -> dict[str, tuple[list[Diagnostic], list[Diagnostic]]]:
        """Return for each file of a change its diagnostics before and after it, of all files in one state each.

        Raises ServerGone; has no timeout.
        """
        await self.ensure_started()
        async with self._turn:
            paths = {each.path for each in changes}
            await self._sync_files(paths)
            old = [each.path for each in changes if each.before]
            for each in changes:
                if each.before:
                    self._documents.sync(each.path, each.before)
            await self._wait_until_loaded(old)
            known = await self._collect(old)
            for each in changes:
                if each.after is None:
                    self._documents.close(each.path)
                else:
                    self._documents.sync(each.path, each.after)
            self._documents.report_events([each.as_event() for each in changes])
            if self._takes_saves():
                self._documents.report_saved(paths)
            new = [each.path for each in changes if each.after is not None]
            now = await self._collect(new)
            return {path: (known.get(path, []), now.get(path, [])) for path in new}

    async def repeat_diagnostics(self, paths: Sequence[str]) -> dict[str, list[Diagnostic]]:
        """Return the diagnostics of open files once the server has nothing more to say. Has no timeout."""
        async with self._turn:
            await self._activity.wait_until_quiet()
            return await self._collect(paths)

    async def _start(self) -> None:
        await self._find_changes()  # before it reads a file
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
        async with self._turn:
            await self._sync_files(())
            self._documents.sync(place.path, text)
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

    async def _sync_files(self, own: Collection[str]) -> None:
        """Tell the server what edits and commands changed meanwhile, on the disk and in open files.

        own: paths of a change that is told later
        """
        found = await self._find_changes()
        self._documents.report_events([each for each in found if each.path not in own])
        for path in self._documents:
            if path in own:
                continue
            try:
                self._documents.sync(path, self._read_text(path))
            except ServerGone:  # the file no longer exists
                self._documents.close(path)

    async def _find_changes(self) -> list[FileEvent]:
        try:
            return await asyncio.to_thread(self._files.find_changes)
        except UserError:  # something in the workspace holds the listing up: open files are told all the same
            return []

    async def _wait_until_loaded(self, paths: Sequence[str]) -> None:
        """Wait for the end of its progress and its first diagnostics. Has no timeout."""
        if self._is_loaded:
            return
        pull = self._list_pulls()
        if pull and paths:
            await self._pull(paths[0], pull[0])
        await self._activity.wait_until_quiet(
            lambda: not paths or bool(self._list_pulls()) or self._documents.has_heard()
        )
        self._is_loaded = True

    def _list_pulls(self) -> list[str | None]:
        """Return the identifiers of the diagnostics that are to be asked for; none where they are published."""
        told = self._can.get("diagnosticProvider")
        if isinstance(told, dict):
            name = told.get("identifier")
            return [name if isinstance(name, str) else None]
        return [None] if told else self._activity.identifiers

    async def _collect(self, paths: Sequence[str]) -> dict[str, list[Diagnostic]]:
        """Return the diagnostics of open files as they were last sent. Has no timeout."""
        if pulls := self._list_pulls():
            said = {path: [one for each in pulls for one in await self._pull(path, each)] for path in paths}
        else:
            opened = {path: self._documents.get(path) for path in paths}
            for each in opened.values():
                await each.heard.wait()
            if not all(each.versioned for each in opened.values()):
                await self._activity.wait_until_quiet()  # the first ones may be of the text before
            said = {path: list(each.said) for path, each in opened.items()}
        return {
            path: [found for each in entries if (found := _parse_diagnostic(each))]
            for path, entries in said.items()
        }

    async def _pull(self, path: str, identifier: str | None) -> list[Any]:
        parameters: dict[str, Any] = {"textDocument": {"uri": build_uri(self._at.root, path)}}
        if identifier is not None:
            parameters["identifier"] = identifier
        for _ in range(RETRIES):
            try:
                answer = await self._process.request(DIAGNOSTIC, parameters, ANSWER)
            except ServerRefusal as refusal:
                if refusal.code not in _CANCELLED:
                    raise
                await asyncio.sleep(RETRY_SECONDS)
            else:
                items = answer.get("items") if isinstance(answer, dict) else None
                return items if isinstance(items, list) else []
        raise ServerGone("it has cancelled each request")

    def _takes_saves(self) -> bool:
        sync = self._can.get("textDocumentSync")
        return isinstance(sync, dict) and bool(sync.get("save"))

    def _handle_message(self, method: str, parameters: object) -> None:
        self._activity.note_message(method, parameters)
        if method == "textDocument/publishDiagnostics":
            self._documents.take_published(parameters)


def _parse_diagnostic(told: object) -> Diagnostic | None:
    if not isinstance(told, dict):
        return None
    try:
        line = int(told["range"]["start"]["line"]) + 1
    except (KeyError, TypeError, ValueError):
        return None
    severity, tags = told.get("severity"), told.get("tags")
    message = " ".join(str(told.get("message", "")).split())
    code = told.get("code")
    return Diagnostic(
        line=line,
        severity=HINT if tags else severity if isinstance(severity, int) else ERROR,
        message=message,
        code=str(code) if isinstance(code, str | int) else "",
    )


_CAPABILITIES: Mapping[str, Any] = {
    "general": {"positionEncodings": ["utf-16"]},
    "window": {"workDoneProgress": True},
    "textDocument": {
        "synchronization": {"dynamicRegistration": False, "didSave": True},
        "diagnostic": {"dynamicRegistration": True},
        "definition": {"linkSupport": True},
        "references": {},
        "rename": {"prepareSupport": False},
        "publishDiagnostics": {"versionSupport": True},
    },
    "workspace": {
        "workspaceFolders": True,
        "configuration": True,
        "diagnostics": {"refreshSupport": True},
        "didChangeWatchedFiles": {"dynamicRegistration": True},
        "workspaceEdit": {"documentChanges": True},
    },
}
