"""Files as the client's user sees them: unsaved text of an editor is read, saved before it is edited, never lost.

The edit engine works on the disk, so that its guarantees hold. Before an action that writes to a file with unsaved
changes, the editor saves it; an action that only reads gets the editor's text. After an edit the editor gets the new
text, unless its user has typed meanwhile: then both are kept, and told.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path

from acp import RequestError
from acp.schema import ReadTextFileRequest, WriteTextFileRequest

from agent.events import Event, ObservationEvent, Signal
from agent.monitor.answers import GO_ON, ActionAnswer, Refuse, RequestAnswer, TellModel
from agent.monitor.monitor import Monitor
from cli.protocols.acp.editor_client import GONE, EditorClient
from sandbox.fs.text_file import BinaryFile, NotInEncoding, TextFile, encode_text
from sandbox.fs.workspace_tree import NotAFile, OutsideWorkspace, Tree
from sandbox.sanitize import quote_name
from tools.core.action_guard import BegunAction
from tools.core.workspace import Workspace

PATIENCE = 5.0
"""Seconds for an answer of the client; after one that did not come it is not asked again."""

MOST_FILES = 20
"""Files of one action that the client is asked for."""

LARGEST = 4 << 20
"""Bytes of a file above which the client is not asked for it."""

_MARK = "\ufeff"
"""A byte-order mark, as a character."""

_UNREADABLE = (OSError, ValueError, BinaryFile, NotAFile, OutsideWorkspace)


class EditorTree(Tree):
    """The files of a workspace, some of them with the unsaved text of an editor.

    buffers: bytes by path, relative to the root
    """

    def __init__(self, root: Path, denied: Callable[[str], bool]) -> None:
        super().__init__(root, denied)
        self.buffers: dict[str, bytes] = {}

    def read(self, path: str) -> bytes:
        """See `Tree.read`."""
        content = super().read(path)  # also checks whether it may be read
        return self.buffers.get(self.resolve_relative(path), content) if self.buffers else content

    def get_size(self, path: str) -> int:
        """See `Tree.get_size`."""
        size = super().get_size(path)
        buffer = self.buffers.get(self.resolve_relative(path)) if self.buffers else None
        return size if buffer is None else len(buffer)

    def read_saved(self, path: str) -> bytes:
        """Return the content of a file on the disk."""
        return super().read(path)


class EditorFiles(Monitor):
    """Keeps the files of a session and the buffers of its client's editor together.

    append: logs an event
    """

    def __init__(
        self, client: EditorClient, session_id: str, workspace: Workspace, append: Callable[[Event], object]
    ) -> None:
        self._client = client
        self._session_id = session_id
        self._append = append
        self._tree = EditorTree(workspace.root, workspace.rules.denies_reading)
        workspace.files = self._tree
        self._is_silent = False  # the client did not answer in time
        self._before: dict[str, str] = {}  # text of each file before the action that may change it
        self._marked: set[str] = set()  # files whose byte-order mark the editor shows as a character
        self._changed: dict[str, None] = {}  # files of which the editor has to get the new text

    async def before_action(self, begun: BegunAction) -> ActionAnswer:
        """Let the editor save what the action writes to; give an action that reads the editor's text."""
        if begun.effect.kind not in ("read", "write", "destructive") or begun.effect.argv:
            return GO_ON
        notes: list[str] = []
        for path in begun.effect.paths[:MOST_FILES]:
            answer = await self._prepare_file(path, writes=begun.effect.kind != "read")
            if isinstance(answer, Refuse):
                return answer
            if isinstance(answer, TellModel):
                notes.append(answer.text)
        return TellModel(text="\n".join(notes)) if notes else GO_ON

    def handle_event(self, event: Event) -> None:
        """Note the files that an action has changed."""
        if isinstance(event, ObservationEvent) and event.data.get("diff"):
            files = event.data.get("files", [event.data.get("path")])
            if isinstance(files, list | tuple):
                self._changed.update(dict.fromkeys(each for each in files if isinstance(each, str)))

    async def before_request(self) -> Sequence[RequestAnswer]:
        """Give the editor the new texts; tell the model where its user has typed meanwhile."""
        return [TellModel(text=each, note=each) for each in await self._update_editor()]

    async def finish_turn(self) -> None:
        """Give the editor the texts of the last edits of a turn."""
        for each in await self._update_editor():
            self._append(Signal(name="editor", detail=each))

    async def _prepare_file(self, path: str, *, writes: bool) -> ActionAnswer:
        try:
            name = self._tree.resolve_relative(path)
            if not self._tree.is_file(name) or self._tree.get_size(name) > LARGEST:
                return GO_ON
            saved = self._tree.decode(name, self._tree.read_saved(name))
        except _UNREADABLE:  # outside, binary, or not to be read: the tool reports it
            return GO_ON
        self._tree.buffers.pop(name, None)
        text = await self._read_buffer(name)
        if text is None:
            return GO_ON
        if writes:
            self._before[name] = text
        if text == saved.text:
            return GO_ON
        return await self._save_buffer(name, text, saved) if writes else self._show_buffer(name, text, saved)

    def _show_buffer(self, name: str, text: str, saved: TextFile) -> ActionAnswer:
        shown = quote_name(name)
        try:
            self._tree.buffers[name] = encode_text(text, saved)
        except NotInEncoding:
            return TellModel(text=f"note: the user's editor has unsaved changes of {shown}; this is the file")
        return TellModel(
            text=f"note: this is {shown} with its unsaved changes in the user's editor; commands see the saved file"
        )

    async def _save_buffer(self, name: str, text: str, saved: TextFile) -> ActionAnswer:
        shown = quote_name(name)
        why = f"{shown} has unsaved changes in the user's editor"
        if not self._client.can_write_files:
            return Refuse(f"{why}: ask the user to save it")
        if not await self._write_buffer(name, _restore_endings(text, saved)):
            return Refuse(f"{why}, which could not be saved: ask the user to save it")
        try:
            now = self._tree.decode(name, self._tree.read_saved(name)).text
        except _UNREADABLE:
            now = ""
        if now != text:  # the editor formats what it saves, or has saved something else
            self._before[name] = now
            return Refuse(f"{why}; saving it changed it: read it again")
        return TellModel(text=f"note: unsaved changes of {shown} in the user's editor were saved first")

    async def _update_editor(self) -> list[str]:
        """Give the editor each changed file; return a line for each that its user has changed meanwhile."""
        conflicts: list[str] = []
        changed, self._changed = list(self._changed), {}
        for name in changed:
            before = self._before.pop(name, None)
            try:
                content = self._tree.read_saved(name)
                saved = self._tree.decode(name, content)
            except _UNREADABLE:  # removed, or moved
                continue
            text = await self._read_buffer(name)
            if text is None or text == saved.text:
                continue
            if text != before:
                conflicts.append(
                    f"the user has changed {quote_name(name)} in the editor while it was edited: their text is"
                    " unsaved, the file has the edit, and saving asks which to keep"
                )
            elif self._client.can_write_files:
                await self._write_buffer(name, _restore_endings(saved.text, saved))
        return conflicts

    async def _read_buffer(self, name: str) -> str | None:
        """Return the text of a file as the editor has it, its line endings as "\\n"; None if it cannot be had."""
        request = ReadTextFileRequest(session_id=self._session_id, path=str(self._tree.root / name))
        answer = await self._request("fs_read_text_file", request)
        text = answer.get("content") if answer is not None else None
        if not isinstance(text, str):
            return None
        if text.startswith(_MARK):
            self._marked.add(name)
        return text.removeprefix(_MARK).replace("\r\n", "\n").replace("\r", "\n")

    async def _write_buffer(self, name: str, text: str) -> bool:
        """Let the editor write a file; return whether it has."""
        path = str(self._tree.root / name)
        text = f"{_MARK}{text}" if name in self._marked else text
        request = WriteTextFileRequest(session_id=self._session_id, path=path, content=text)
        return await self._request("fs_write_text_file", request) is not None

    async def _request(
        self, name: str, request: ReadTextFileRequest | WriteTextFileRequest
    ) -> dict[str, object] | None:
        if self._is_silent:
            return None
        try:
            async with asyncio.timeout(PATIENCE):
                return await self._client.request(name, request)
        except (*GONE, RequestError):  # gone, or it has no such file
            return None
        except TimeoutError:
            self._is_silent = True
            words = f"the editor did not answer within {PATIENCE:g} s: its unsaved changes are not read"
            self._append(Signal(name="editor", detail=words))
            return None


def _restore_endings(text: str, like: TextFile) -> str:
    """Return text with the line endings of a file."""
    return text if like.newline == "\n" else text.replace("\n", like.newline)
