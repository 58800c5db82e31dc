"""Messages on the pipes: one JSON object per line."""

from __future__ import annotations

import fcntl
import json
import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Json = dict[str, Any]
    Send = Callable[[Json], None]

# Characters of a message that are enough to recognise a failure.
MESSAGE = 2000


class Channel:
    """Replies of one mode. Several processes may share the descriptor: whole lines are written, one at a time."""

    def __init__(self, descriptor: int, lock: int, mode: str) -> None:
        self._descriptor, self._lock, self._mode = descriptor, lock, mode

    def send(self, message: Json) -> None:
        line = json.dumps({**message, "from": self._mode}).encode() + b"\n"
        fcntl.lockf(self._lock, fcntl.LOCK_EX)
        try:
            write_all(self._descriptor, line)
        finally:
            fcntl.lockf(self._lock, fcntl.LOCK_UN)


def write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
