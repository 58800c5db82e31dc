"""Errors of the interface for Python programs."""

from __future__ import annotations


class PatchwrightError(Exception):
    """A session could not be started, or ended before its turn did. `exit_code`: of its process, None if it runs."""

    def __init__(self, message: str, exit_code: int | None = None) -> None:
        super().__init__(message)
        self.exit_code = exit_code
