"""Logging of a protocol's package: a line for each problem, without a traceback, on standard error."""

from __future__ import annotations

import logging
import time

from cli.output.standard_streams import write_error
from sandbox.sanitize import sanitize_text

MOST_LINES, PERIOD = 30, 60.0
"""Lines in so many seconds: a client that floods the server must not flood the terminal, too."""

LONGEST = 500
"""Characters of a line."""


def log_on_one_line(name: str) -> None:
    """Print warnings and errors of all packages as a line each. name: of the server"""
    logging.getLogger().addHandler(_OneLine(name))


class _OneLine(logging.Handler):
    def __init__(self, name: str) -> None:
        super().__init__(logging.WARNING)
        self._name = name
        self._began = 0.0
        self._count = 0

    def emit(self, record: logging.LogRecord) -> None:
        """Print a record, unless there were too many."""
        now = time.monotonic()
        if now - self._began > PERIOD:
            self._began, self._count = now, 0
        self._count += 1
        if self._count > MOST_LINES:
            return
        error = record.exc_info[1] if record.exc_info else None
        why = f": {type(error).__name__}: {error}" if error else ""
        text = sanitize_text(record.getMessage() + why).replace("\n", " ")[:LONGEST]
        more = " (more such lines are not shown)" if self._count == MOST_LINES else ""
        write_error(f"patchwright: {self._name}: {text}{more}\n")
