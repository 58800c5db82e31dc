"""The reply that a detached run is receiving: its deltas, in a file beside the log until the message is logged."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from agent.events import End, Event, MessageEvent
from agent.model.protocol import Delta, ReasoningDelta, TextDelta
from sandbox.fs.private_files import open_private
from sandbox.parsed_data import parse_json

NAME = "reply.jsonl"


class ReplyWriter:
    """Writer of the deltas of one session. The first line of a file names the message before it."""

    def __init__(self, session: Path) -> None:
        self._path = session / NAME
        self._descriptor: int | None = None
        self._previous = ""
        self._remove()  # that of a process that was killed

    def handle_delta(self, delta: Delta) -> None:
        """Write a delta of text or reasoning; a full disk costs only the view."""
        if not isinstance(delta, TextDelta | ReasoningDelta) or not delta.text:
            return
        with suppress(OSError):
            if self._descriptor is None:
                flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND
                self._descriptor = open_private(str(self._path), flags)
                self._write({"after": self._previous})
            self._write({"text" if isinstance(delta, TextDelta) else "reasoning": delta.text})

    def handle_event(self, event: Event) -> None:
        """Remove the file when its message is logged, or its turn is over."""
        if isinstance(event, MessageEvent):
            self._previous = event.id
        if isinstance(event, MessageEvent | End):
            self._remove()

    def _write(self, line: dict[str, str]) -> None:
        assert self._descriptor is not None
        os.write(self._descriptor, json.dumps(line).encode() + b"\n")

    def _remove(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None
        with suppress(OSError):
            self._path.unlink()


class ReplyReader:
    """Reader of the deltas that another process writes, in the order of the log's messages."""

    def __init__(self, session: Path) -> None:
        self._path = session / NAME
        self._file: BinaryIO | None = None
        self._previous = ""
        self._text = ""  # read since the last message

    def __enter__(self) -> ReplyReader:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._close()

    def read_deltas(self) -> Iterator[Delta]:
        """Yield the deltas that have come since the last look; none of a message whose predecessor was not seen."""
        if self._file is None and not self._open():
            return
        assert self._file is not None
        while (line := self._read_line()) is not None:
            if "reasoning" in line:
                yield ReasoningDelta(text=line["reasoning"])
            elif "text" in line:
                self._text += line["text"]
                yield TextDelta(text=line["text"])

    def complete_reply(self, event: MessageEvent | End) -> Iterator[Delta]:
        """Leave the reply that a logged event ends; yield the part that was not read as deltas, where others were."""
        self._close()
        shown, self._text = self._text, ""
        if isinstance(event, End):
            return
        self._previous = event.id
        if shown and len(event.text) > len(shown) and event.text.startswith(shown):
            yield TextDelta(text=event.text[len(shown) :])

    def _open(self) -> bool:
        try:
            self._file = self._path.open("rb")
        except OSError:
            return False
        header = self._read_line()
        if header is None or header.get("after") not in ("", self._previous):
            self._close()  # the log is behind, or the header is half-written: with the next look
            return False
        return True

    def _read_line(self) -> dict[str, str] | None:
        """Return the next line; None if it is not there, or not whole yet."""
        assert self._file is not None
        start = self._file.tell()
        line = self._file.readline()
        if not line.endswith(b"\n"):
            self._file.seek(start)
            return None
        try:
            found = parse_json(line)
        except ValueError:  # a full disk cut a line short, and the next one follows on it
            return {}
        return found if isinstance(found, dict) else {}

    def _close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
