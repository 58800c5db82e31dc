"""Time that questions have waited for the person: it is nobody's work, and not counted as such."""

from __future__ import annotations

import time


class WaitingTime:
    """A clock that runs inside its context; several may be open at once."""

    def __init__(self) -> None:
        self._past = 0.0
        self._open = 0
        self._began = 0.0

    def __enter__(self) -> None:
        if not self._open:
            self._began = time.monotonic()
        self._open += 1

    def __exit__(self, *error: object) -> None:
        self._open -= 1
        if not self._open:
            self._past += time.monotonic() - self._began

    @property
    def is_running(self) -> bool:
        """Whether a question waits now."""
        return self._open > 0

    @property
    def seconds(self) -> float:
        """Seconds so far, the question that waits now included."""
        return self._past + (time.monotonic() - self._began if self._open else 0.0)
