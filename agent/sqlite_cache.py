"""SQLite caches that can be rebuilt at any time; a damaged one is deleted and recreated."""

from __future__ import annotations

import os
import sqlite3
from contextlib import suppress
from pathlib import Path

from sandbox.fs.private_files import open_private


def open_cache(path: Path, schema: str, patience: float) -> sqlite3.Connection:
    """Open the cache at `path` with the tables of `schema`; a damaged one is deleted and recreated.

    patience: seconds to wait for another process that writes. Raises sqlite3.OperationalError if the file is
    in use or not writable: no reason to delete it.
    """
    try:
        return connect_with_schema(path, schema, patience)
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError:
        path.unlink(missing_ok=True)
        return connect_with_schema(path, schema, patience)


def connect_with_schema(path: Path | str, schema: str, patience: float = 0.0) -> sqlite3.Connection:
    """Return a connection (":memory:" for a private one) that has the tables of `schema`."""
    if path != ":memory:":
        with suppress(OSError):  # sqlite says what is wrong with it
            os.close(open_private(str(path), os.O_RDWR | os.O_CREAT))
    db = sqlite3.connect(path, timeout=patience)
    try:
        db.executescript(schema)
    except sqlite3.Error:
        db.close()
        raise
    return db
