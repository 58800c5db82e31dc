"""What goes over the pipes: one JSON object a line."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    Json = dict[str, Any]
    Send = Callable[[Json], None]

# Enough of a message to recognise a failure by.
MESSAGE = 2000


def write_all(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]
