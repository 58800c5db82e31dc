"""Retry policy: which failures to retry, and how long to wait."""

from __future__ import annotations

import time
from collections.abc import Mapping
from random import uniform

TRIES = 4
"""One call and three retries: enough for a restart or a burst limit, while a real outage is reported soon."""

PATIENCE = 60.0
"""Seconds of waiting in all. A server that asks for more is out of quota, which waiting does not fix."""

PASSING = frozenset({408, 409, 425, 429, 500, 502, 503, 504, 520, 522, 524, 529})
"""Statuses worth a retry."""

_PAUSES = (0.5, 2.0, 8.0)


class TransientError(Exception):
    """A failure that a retry may cure.

    asked: seconds to wait, as requested by the server; tries: after this many a further one is no use, 0: no limit
    kind: the reason in a few words
    hint: what the person can do, "" for the usual
    """

    def __init__(
        self, reason: str, asked: float | None = None, tries: int = 0, *, kind: str, hint: str = ""
    ) -> None:
        super().__init__(reason)
        self.reason = reason
        self.kind = kind
        self.hint = hint
        self.asked = asked
        self.tries = tries


class RetryBudget:
    """Retries and waiting time left for one request."""

    def __init__(self) -> None:
        self.tries = 1
        self._left = PATIENCE

    def next_pause(self, asked: float | None = None) -> float | None:
        """Return seconds to wait before the next try, None to give up.

        asked: the server's Retry-After in seconds, None if absent
        """
        if self.tries >= TRIES:
            return None
        # Jitter, so that clients that were disconnected together don't return together.
        pause = _PAUSES[self.tries - 1] * uniform(0.75, 1.25) if asked is None else asked
        if pause > self._left:
            return None
        self.tries += 1
        self._left -= pause
        return pause


def parse_retry_after(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that `Retry-After` (seconds or a date) or `retry-after-ms` asks for.

    headers: names in lower case
    """
    try:
        return max(0.0, float(headers["retry-after-ms"]) / 1000)
    except (KeyError, ValueError):  # absent, or not a number: try the standard header
        pass
    value = headers.get("retry-after", "").strip()
    try:
        return max(0.0, float(value))
    except ValueError:  # a date, or nothing
        return _seconds_until(value)


def _seconds_until(date: str) -> float | None:
    from email.utils import parsedate_to_datetime

    try:
        return max(0.0, parsedate_to_datetime(date).timestamp() - time.time())
    except ValueError:  # neither: the default pauses apply
        return None
