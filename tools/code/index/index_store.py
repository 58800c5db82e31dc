"""The index on disk: one SQLite database per workspace, in the user's cache. It can be deleted at any time.

Texts are keyed by the hash of their content, so that switching back to a branch needs no parsing. Postings are kept
in segments, as in search engines: a segment is written once and never changed; small ones are merged when there are
many, and texts that no file has any more are dropped when there are many of them.
"""

from __future__ import annotations

import os
import sqlite3
import time
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import groupby
from pathlib import Path

from sandbox.fs.private_files import open_private
from tools.code.index.file_listing import Stamp
from tools.code.index.segment_format import Segment, unpack_postings

VERSION = 12
"""Version of the tables and of the extracted facts. A database of another version is recreated."""

SMALL = 16
"""Texts in a segment that counts as small."""

MANY = 48
"""Small segments above which they are merged."""

SPARE = 2_000
"""Unreferenced texts that are kept, in addition to twice the number of referenced ones."""

_SCHEMA = """
CREATE TABLE texts (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, segment INTEGER NOT NULL,
    facts BLOB NOT NULL, said BLOB NOT NULL, named INTEGER NOT NULL, code INTEGER NOT NULL, prose INTEGER NOT NULL
);
CREATE TABLE files (
    path BLOB PRIMARY KEY, size INTEGER NOT NULL, mtime INTEGER NOT NULL, ctime INTEGER NOT NULL,
    read INTEGER NOT NULL, text INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE postings (
    term TEXT NOT NULL, segment INTEGER NOT NULL, data BLOB NOT NULL, PRIMARY KEY (term, segment)
) WITHOUT ROWID;
CREATE TABLE kept (name TEXT PRIMARY KEY, generation INTEGER NOT NULL, data BLOB NOT NULL);
CREATE TABLE state (generation INTEGER NOT NULL);
INSERT INTO state VALUES (0);
"""


class Store:
    """An open database. Close it."""

    def __init__(self, path: Path | None) -> None:
        """path: None for one in memory. Raises sqlite3.Error, OSError."""
        self._path = path
        self._connection = self._open()

    def _open(self) -> sqlite3.Connection:
        try:
            return self._connect()
        except sqlite3.DatabaseError as error:
            if self._path is None or isinstance(error, sqlite3.OperationalError):
                raise
            delete_database(self._path)  # not a database, or a damaged one: it can be rebuilt
            return self._connect()

    def _connect(self) -> sqlite3.Connection:
        if self._path:
            with suppress(OSError):  # sqlite says what is wrong with it
                os.close(open_private(str(self._path), os.O_RDWR | os.O_CREAT))
        connection = sqlite3.connect(
            str(self._path) if self._path else ":memory:",
            timeout=30,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            connection.executescript(
                "PRAGMA journal_mode=WAL; PRAGMA synchronous=OFF; PRAGMA cache_size=-16000;"
            )
            [(version,)] = connection.execute("PRAGMA user_version")
            if version != VERSION:
                self._create_tables(connection)
        except BaseException:  # close the connection on any error, and re-raise
            connection.close()
            raise
        return connection

    def _create_tables(self, connection: sqlite3.Connection) -> None:
        connection.execute("BEGIN IMMEDIATE")
        [(version,)] = connection.execute("PRAGMA user_version")
        if version != VERSION:  # no other process created them meanwhile
            for name in ("texts", "files", "postings", "kept", "state"):
                connection.execute(f"DROP TABLE IF EXISTS {name}")
            for statement in _SCHEMA.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.execute("COMMIT")

    def close(self) -> None:
        self._connection.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """One atomic transaction, also if the process is killed."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:  # roll back on any error, and re-raise
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")

    # ── files ──────────────────────────────────────────────────────────────────────────────────────

    def generation(self) -> int:
        """Return a number that grows with every change of the files."""
        [(number,)] = self._connection.execute("SELECT generation FROM state")
        return int(number)

    def count_files(self) -> int:
        [(count,)] = self._connection.execute("SELECT count(*) FROM files")
        return int(count)

    def files(self) -> dict[str, tuple[Stamp, int, int]]:
        """Return path → stamp, time when it was read (ns), number of its text."""
        rows = self._connection.execute(
            "SELECT path, size, mtime, ctime, read, text FROM files ORDER BY path"
        )
        return {
            path.decode("utf-8", "surrogateescape"): (Stamp(size, mtime, ctime), read, text)
            for path, size, mtime, ctime, read, text in rows
        }

    def put_files(self, files: Mapping[str, tuple[Stamp, int, int]], gone: Iterable[str]) -> None:
        """Store files, and delete others."""
        self._connection.executemany(
            "DELETE FROM files WHERE path = ?", [(_encode_path(path),) for path in gone]
        )
        self._connection.executemany(
            "INSERT OR REPLACE INTO files VALUES (?, ?, ?, ?, ?, ?)",
            [
                (_encode_path(path), stamp.size, stamp.mtime, stamp.ctime, read, text)
                for path, (stamp, read, text) in files.items()
            ],
        )
        self._connection.execute("UPDATE state SET generation = generation + 1")

    # ── texts ──────────────────────────────────────────────────────────────────────────────────────

    def find_text_numbers(self, keys: Iterable[str]) -> dict[str, int]:
        """Return key → number, of the stored texts."""
        found: dict[str, int] = {}
        for chunk in _split_chunks(list(keys)):
            marks = ",".join("?" * len(chunk))
            found.update(self._connection.execute(f"SELECT key, id FROM texts WHERE key IN ({marks})", chunk))
        return found

    def next_number(self) -> int:
        [(number,)] = self._connection.execute("SELECT coalesce(max(id), 0) + 1 FROM texts")
        return int(number)

    def add_segment(self, segment: Segment, keys: Mapping[int, str]) -> None:
        """Add texts, whose keys are given by number, with their postings."""
        [(number,)] = self._connection.execute("SELECT coalesce(max(segment), 0) + 1 FROM texts")
        self._connection.executemany(
            "INSERT INTO texts VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
            [
                (each.blob, keys[each.blob], number, each.facts, each.text_spans, *each.counts)
                for each in segment.texts
            ],
        )
        self._connection.executemany(
            "INSERT INTO postings VALUES (?, ?, ?)", [(term, number, data) for term, data in segment.postings]
        )

    def read_facts(self, texts: Iterable[int]) -> Iterator[tuple[int, bytes]]:
        """Yield number and packed facts."""
        for chunk in _split_chunks(list(texts)):
            marks = ",".join("?" * len(chunk))
            yield from self._connection.execute(f"SELECT id, facts FROM texts WHERE id IN ({marks})", chunk)

    def read_prose_ranges(self, text: int) -> Iterator[tuple[str, bytes]]:
        """Yield a text's language and packed prose ranges; nothing if it is not stored."""
        for key, data in self._connection.execute("SELECT key, said FROM texts WHERE id = ?", (text,)):
            yield key.partition(":")[0], data

    def read_word_counts(self) -> dict[int, tuple[int, int, int]]:
        """Return number → word counts of its symbols' names, its code and its prose."""
        rows = self._connection.execute("SELECT id, named, code, prose FROM texts")
        return {number: (named, code, prose) for number, named, code, prose in rows}

    # ── postings ───────────────────────────────────────────────────────────────────────────────────

    def read_postings(self, term: str) -> Iterator[tuple[int, int, int, int]]:
        """Yield the postings of a term: text number and three counts (see `segment_format`)."""
        for (data,) in self._connection.execute("SELECT data FROM postings WHERE term = ?", (term,)):
            yield from unpack_postings(data)

    def find_terms(self, start: str, limit: int) -> list[str]:
        """Return terms with a prefix."""
        rows = self._connection.execute(
            "SELECT DISTINCT term FROM postings WHERE term >= ? AND term < ? LIMIT ?",
            (start, start + "\U0010ffff", limit),
        )
        return [term for (term,) in rows]

    def iter_names(self) -> Iterator[tuple[str, list[tuple[int, int, int, int]]]]:
        """Yield every name with its postings."""
        rows = self._connection.execute("SELECT term, data FROM postings WHERE term >= '=' AND term < '>'")
        for term, group in groupby(rows, key=lambda row: row[0]):
            yield term[1:], [posting for _, data in group for posting in unpack_postings(data)]

    # ── computed data ───────────────────────────────────────────────────────────────────────────────

    def load_computed(self, name: str) -> tuple[int, bytes] | None:
        """Return computed data and the generation that it was computed from."""
        for generation, data in self._connection.execute(
            "SELECT generation, data FROM kept WHERE name = ?", (name,)
        ):
            return generation, data
        return None

    def save_computed(self, name: str, generation: int, data: bytes) -> None:
        self._connection.execute("INSERT OR REPLACE INTO kept VALUES (?, ?, ?)", (name, generation, data))

    # ── tidying ────────────────────────────────────────────────────────────────────────────────────

    def tidy(self) -> None:
        """Merge segments if there are many small ones; drop unreferenced texts if they outnumber the others."""
        sizes = self._connection.execute("SELECT segment, count(*) FROM texts GROUP BY segment").fetchall()
        [(dead,)] = self._connection.execute(
            "SELECT count(*) FROM texts WHERE id NOT IN (SELECT text FROM files)"
        )
        total = sum(count for _, count in sizes)
        if dead > 2 * (total - dead) + SPARE:
            self._connection.execute("DELETE FROM texts WHERE id NOT IN (SELECT text FROM files)")
            self._merge_segments([segment for segment, _ in sizes])
        elif len(small := [segment for segment, count in sizes if count <= SMALL]) > MANY:
            self._merge_segments(small)

    def _merge_segments(self, segments: Sequence[int]) -> None:
        alive = {number for (number,) in self._connection.execute("SELECT id FROM texts")}
        marks = ",".join(map(str, segments))
        target = segments[-1]
        rows = self._connection.execute(
            f"SELECT term, data FROM postings WHERE segment IN ({marks}) ORDER BY term, segment"
        ).fetchall()
        merged = []
        for term, group in groupby(rows, key=lambda row: row[0]):
            numbers = array("I")
            for _, data in group:
                numbers.frombytes(data)
            left = array("I")
            for at in range(0, len(numbers), 2):
                if numbers[at] in alive:
                    left.extend(numbers[at : at + 2])
            if left:
                merged.append((term, target, left.tobytes()))
        self._connection.execute(f"DELETE FROM postings WHERE segment IN ({marks})")
        self._connection.executemany("INSERT INTO postings VALUES (?, ?, ?)", merged)
        self._connection.execute(f"UPDATE texts SET segment = {target} WHERE segment IN ({marks})")


@contextmanager
def lock_database(path: Path | None) -> Iterator[None]:
    """Lock the database for one session; the system releases the lock of a killed one. None needs no lock."""
    if path is None:
        yield
        return
    import fcntl

    with open(f"{path}.lock", "wb", opener=open_private) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def delete_database(path: Path) -> None:
    """Delete a database with its WAL files."""
    for each in (path, path.with_name(path.name + "-wal"), path.with_name(path.name + "-shm")):
        each.unlink(missing_ok=True)


def get_time_ns() -> int:
    """Return nanoseconds since 1970, on the clock of the files' stamps."""
    return time.time_ns()


def _encode_path(path: str) -> bytes:
    return path.encode("utf-8", "surrogateescape")


def _split_chunks(items: list[str] | list[int]) -> Iterator[list[str] | list[int]]:
    for at in range(0, len(items), 500):  # SQLite's limit of parameters is 999 in old versions
        yield items[at : at + 500]
