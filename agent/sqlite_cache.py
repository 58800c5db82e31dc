"""Caches in SQLite that can be made again at any time: opened, and started over when they are damaged."""

from __future__ import annotations

import sqlite3
from pathlib import Path


def open_cache(path: Path, schema: str, patience: float) -> sqlite3.Connection:
    """The cache at `path`, with the tables of `schema`; a damaged one is deleted and begun again.

    patience: seconds to wait for another process that writes. Raises sqlite3.OperationalError when the file is in use
    or not ours to write: no reason to delete it.
    """
    try:
        return connect_with_schema(path, schema, patience)
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError:
        path.unlink(missing_ok=True)
        return connect_with_schema(path, schema, patience)


def connect_with_schema(path: Path | str, schema: str, patience: float = 0.0) -> sqlite3.Connection:
    """A connection (":memory:" for one that nobody else sees) that has the tables of `schema`."""
    db = sqlite3.connect(path, timeout=patience)
    try:
        db.executescript(schema)
    except sqlite3.Error:
        db.close()
        raise
    return db
