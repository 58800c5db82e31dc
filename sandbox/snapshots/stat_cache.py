"""Cache of a workspace's stat data between two processes: the first snapshot of a session reads only changed files.

It is kept next to the objects (0700): if it is missing, torn or of another version, everything is read again.
"""

from __future__ import annotations

import marshal
import os
import sys
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

from sandbox.fs.private_files import write_private_file

NAME = "stat-cache"

_MARK = b"patchwright stat-cache 2 %d.%d\n" % sys.version_info[:2]
"""marshal's format depends on the Python version."""


def save_cache(store: Path, facts: tuple[Any, ...]) -> None:
    """Write facts: of tuples, lists, sets, dicts, texts, bytes and numbers. On a full disk the old ones stay."""
    content = marshal.dumps(facts)
    temporary = store / f"{NAME}-{os.getpid()}"
    with suppress(OSError):
        write_private_file(temporary, _MARK + zlib.crc32(content).to_bytes(4, "big") + content)
        temporary.replace(store / NAME)


def load_cache(store: Path) -> tuple[Any, ...] | None:
    """Return the facts saved last; None if there are none or they are unreliable."""
    try:
        data = (store / NAME).read_bytes()
    except OSError:
        return None
    start = len(_MARK) + 4
    content = data[start:]
    if not data.startswith(_MARK) or data[len(_MARK) : start] != zlib.crc32(content).to_bytes(4, "big"):
        return None
    found = marshal.loads(content)
    return found if isinstance(found, tuple) else None


def delete_cache(store: Path) -> None:
    """Delete the cache: the objects it names are about to be deleted."""
    with suppress(FileNotFoundError):
        (store / NAME).unlink()
