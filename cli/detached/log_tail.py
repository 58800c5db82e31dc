"""The end of a log that another process writes: its events, as they come."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import TracebackType

from agent.events import Event
from agent.session.log_lines import parse_log_line


class LogTail:
    """Reader of a log that grows; a line that is not finished yet is read with the next look."""

    def __init__(self, session: Path) -> None:
        self._path = session / "log.jsonl"
        self._file = self._path.open("rb")

    def __enter__(self) -> LogTail:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the log."""
        self._file.close()

    def read_events(self) -> Iterator[Event]:
        """Yield the events that have come since the last look. Raises UserError where the log is damaged."""
        while True:
            start = self._file.tell()
            line = self._file.readline()
            if not line.endswith(b"\n"):
                self._file.seek(start)
                return
            yield parse_log_line(line, self._path, start)
