"""The documents that a server holds open: their texts, what it said of them, and its view of the files on the disk."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from sandbox.lazy_dataclass import dataclass
from tools.code.lsp.positions import build_uri, uri_to_path
from tools.code.lsp.watched_files import FileEvent

MOST_OPEN = 96
"""Files that it holds open; the least recently used one is closed."""

Notify = Callable[[str, Mapping[str, Any]], None]


@dataclass(slots=True)
class OpenDocument:
    """A file as last sent to the server.

    said: diagnostics that were published of this version; heard: set once there are some
    versioned: whether the server names the version that it publishes for, so that an answer is surely of this text
    """

    version: int
    text: str
    said: Sequence[Any] = ()
    heard: asyncio.Event = field(default_factory=asyncio.Event)
    versioned: bool = True


class OpenDocuments:
    """Open documents of one server. notify: sends a notification to it"""

    def __init__(self, root: Path, notify: Notify) -> None:
        self._root = root
        self._notify = notify
        self._opened: OrderedDict[str, OpenDocument] = OrderedDict()

    def __iter__(self) -> Iterator[str]:
        return iter(list(self._opened))

    def get(self, path: str) -> OpenDocument:
        """Return an open document."""
        return self._opened[path]

    def sync(self, path: str, text: str) -> OpenDocument:
        """Send a file's text to the server if it has another one."""
        there = self._opened.get(path)
        if there is None:
            there = self._opened[path] = OpenDocument(1, text)
            about = {**self._name(path), "languageId": _get_language_id(path), "version": 1, "text": text}
            self._notify("textDocument/didOpen", {"textDocument": about})
            if len(self._opened) > MOST_OPEN:
                self.close(next(iter(self._opened)))
        elif there.text != text:
            there = self._opened[path] = OpenDocument(there.version + 1, text)
            self._notify(
                "textDocument/didChange",
                {
                    "textDocument": {**self._name(path), "version": there.version},
                    "contentChanges": [{"text": text}],
                },
            )
        self._opened.move_to_end(path)
        return there

    def close(self, path: str) -> None:
        """Let the server take a file from the disk again."""
        if self._opened.pop(path, None) is not None:
            self._notify("textDocument/didClose", {"textDocument": self._name(path)})

    def report_saved(self, paths: Collection[str]) -> None:
        """Say that the texts of open files are those on the disk."""
        for path in paths:
            if path in self._opened:
                self._notify("textDocument/didSave", {"textDocument": self._name(path)})

    def report_events(self, events: Sequence[FileEvent]) -> None:
        """Say which files have changed on the disk."""
        if events:
            changes = [{"uri": build_uri(self._root, path), "type": kind} for path, kind in events]
            self._notify("workspace/didChangeWatchedFiles", {"changes": changes})

    def take_published(self, parameters: object) -> None:
        """Keep published diagnostics with the version of the file that they are of; those of an older one are not."""
        if not isinstance(parameters, dict):
            return
        path = uri_to_path(self._root, parameters.get("uri"))
        opened = self._opened.get(path) if path is not None else None
        version, said = parameters.get("version"), parameters.get("diagnostics")
        if opened is not None and isinstance(said, list) and version in (None, opened.version):
            opened.said, opened.versioned = said, version is not None
            opened.heard.set()

    def has_heard(self) -> bool:
        """Return whether diagnostics of any open file were published."""
        return any(each.heard.is_set() for each in self._opened.values())

    def _name(self, path: str) -> dict[str, Any]:
        return {"uri": build_uri(self._root, path)}


def _get_language_id(path: str) -> str:
    """Return the protocol's identifier of the file's language."""
    from tools.code.languages import match_languages

    found = match_languages(path)
    name = found[-1].name if found else path.rpartition(".")[2]
    return {"tsx": "typescriptreact", "bash": "shellscript"}.get(name, name)
