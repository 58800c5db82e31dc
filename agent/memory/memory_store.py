"""Store of one repository's memory: SQLite with full-text search, safe under many sessions at once.

Each call opens the file, works in one transaction and closes it: nothing is held while a session thinks. A file that
SQLite finds damaged is set aside, and a new one begun.
"""

from __future__ import annotations

import contextlib
import functools
import json
import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Concatenate, ParamSpec, TypeVar

from agent.app_dirs import make_private_folder
from agent.memory.records import Case, CaseSource, Lesson, Use
from agent.memory.store_rows import (
    clean_text,
    delete_case,
    insert_case,
    parse_case,
    parse_lesson,
    parse_use,
    read_lessons,
    render_record,
    write_lessons,
)
from agent.memory.store_schema import VERSION, migrate_tables, open_empty_tables
from sandbox.errors import Fault, UserError
from sandbox.fs.private_files import open_private

PATIENCE = 5.0
"""Seconds to wait for another session that writes."""

MOST_CASES = 20_000
"""Cases of one repository; beyond them the oldest go, those of the history first."""

_ASIDE, _UNSCRUBBED = ".damaged-", ".unscrubbed"
"""Ends of the names of a damaged file, and of the mark that what was forgotten may still have bytes in the file."""

_P = ParamSpec("_P")
_R = TypeVar("_R")

_DAMAGE = frozenset((sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB))


class _DamagedFile(Exception):
    """The file was found damaged and set aside. The message is a line for a person."""


def _begin_anew(
    method: Callable[Concatenate[MemoryStore, _P], _R],
) -> Callable[Concatenate[MemoryStore, _P], _R]:
    """Return a method, one transaction, that is called again on the new file if it finds the present one damaged."""

    @functools.wraps(method)
    def call(self: MemoryStore, /, *args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return method(self, *args, **kwargs)
        except _DamagedFile as found:
            self.notices.append(str(found))
            return method(self, *args, **kwargs)

    return call


class MemoryStore:
    """The store at `path`, which need not exist yet. notices: what a person should hear of, one line each"""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.notices: list[str] = []

    @property
    def exists(self) -> bool:
        """Whether anything was ever stored."""
        return self.path.is_file()

    # ── Cases ──────────────────────────────────────────────────────────────────────────────────────

    def add_case(self, case: Case) -> int:
        """Store a case, redacted; return its number, that of the present one if it is stored already."""
        return self.add_cases([case])[0]

    @_begin_anew
    def add_cases(self, cases: Sequence[Case]) -> list[int]:
        """Store cases in one transaction, redacted; return their numbers."""
        with self._write() as db:
            numbers = [insert_case(db, each) for each in cases]
            surplus = db.execute("select count(*) from cases").fetchone()[0] - MOST_CASES
            if surplus > 0:
                db.execute(
                    "delete from cases where id in (select id from cases order by source = 'turn', time limit ?)",
                    (surplus,),
                )
            return numbers

    @_begin_anew
    def list_cases(self, limit: int = -1, source: CaseSource | None = None) -> list[Case]:
        """Return cases, newest first. source: only those of turns, or of the history"""
        with self._read() as db:
            rows = db.execute(
                "select * from cases where ?1 is null or source = ?1 order by time desc, id desc limit ?2",
                (source, limit),
            )
            return [parse_case(row) for row in rows]

    @_begin_anew
    def get_case(self, number: int) -> Case | None:
        """Return one case."""
        with self._read() as db:
            row = db.execute("select * from cases where id = ?", (number,)).fetchone()
            return parse_case(row) if row else None

    @_begin_anew
    def search_cases(self, words: Sequence[str], limit: int = 5) -> list[tuple[Case, float]]:
        """Return the cases that share most with the words, best first, with BM25 scores (higher is better)."""
        if not words:
            return []
        query = " OR ".join(f'"{each}"' for each in words if '"' not in each)
        with self._read() as db:
            rows = db.execute(
                "select cases.*, -found.rank as score from (select rowid, rank from case_words where case_words match ?"
                " and rank match 'bm25(4.0, 4.0, 1.0, 4.0)' order by rank limit ?) as found"
                " join cases on cases.id = found.rowid order by score desc",
                (query, limit),
            ).fetchall()
            return [(parse_case(row), float(row["score"])) for row in rows]

    @_begin_anew
    def search_places(self, phrases: Sequence[str], limit: int) -> dict[str, list[Case]]:
        """Return the newest cases with a place in which the words of a phrase follow each other, for each phrase."""
        search = (
            "select * from cases where id in (select rowid from case_words where case_words match ?"
            " order by rowid desc limit ?)"
        )
        with self._read() as db:
            return {
                each: [parse_case(row) for row in db.execute(search, (f'places : "{each}"', limit))]
                for each in phrases
                if '"' not in each
            }

    @_begin_anew
    def count_word_cases(self, words: Sequence[str], most: int) -> dict[str, int]:
        """Return how many cases contain each word; stems count, as the search has them.

        most: where the count of a word ends, since a word in many cases has a long list of them
        """
        with self._read() as db:
            count = "select count(*) from (select 1 from case_words where case_words match ? limit ?)"
            return {
                each: db.execute(count, (f'"{each}"', most)).fetchone()[0]
                for each in words
                if '"' not in each
            }

    @_begin_anew
    def count_cases(self, source: CaseSource | None = None) -> int:
        """Return how many cases there are. source: see `list_cases`"""
        with self._read() as db:
            count = "select count(*) from cases"  # by an index: a condition would read every case
            if source is not None:
                return int(db.execute(f"{count} where source = ?", (source,)).fetchone()[0])
            return int(db.execute(count).fetchone()[0])

    # ── Lessons ────────────────────────────────────────────────────────────────────────────────────

    @_begin_anew
    def list_lessons(self, *, replaced: bool = False) -> list[Lesson]:
        """Return lessons, the last confirmed first. replaced: those, too, whose place another one took"""
        with self._read() as db:
            return read_lessons(db, replaced=replaced)

    @_begin_anew
    def get_lesson(self, name: str) -> Lesson | None:
        """Return one lesson."""
        with self._read() as db:
            row = db.execute("select * from lessons where id = ?", (clean_text(name),)).fetchone()
            return parse_lesson(row) if row else None

    @_begin_anew
    def put_lessons(self, lessons: Sequence[Lesson]) -> None:
        """Store lessons, redacted, each in place of the one with its id."""
        if not lessons:
            return
        with self._write() as db:
            write_lessons(db, lessons)

    @_begin_anew
    def update_lessons(self, decide: Callable[[list[Lesson]], Sequence[Lesson]]) -> list[Lesson]:
        """Store what `decide` makes of the lessons that there are, replaced ones too; return those as they were.

        One transaction: what another session stores meanwhile is neither lost nor counted once only.
        """
        with self._write() as db:
            with self._refuse_odd_rows(_read_number(self.path)):
                known = read_lessons(db, replaced=True)
            write_lessons(db, decide(known))
            return known

    @_begin_anew
    def add_uses(self, uses: Sequence[Use]) -> None:
        """Record that lessons were shown, and what became of it."""
        if not uses:
            return
        with self._write() as db:
            db.executemany(
                "insert into uses (lesson, session, time, why, used, outcome)"
                " values (:lesson, :session, :time, :why, :used, :outcome)",
                [render_record(each) for each in uses],
            )

    @_begin_anew
    def list_uses(self, lesson: str) -> list[Use]:
        """Return when a lesson was shown, newest first."""
        with self._read() as db:
            rows = db.execute("select * from uses where lesson = ? order by time desc limit 50", (lesson,))
            return [parse_use(row) for row in rows]

    @_begin_anew
    def count_failure(self, line: str, cause: str) -> int:
        """Count that a command failed for a cause; return how often in a row it failed so."""
        line, cause = clean_text(line), clean_text(cause)
        with self._write() as db:
            row = db.execute("select cause, count from failures where line = ?", (line,)).fetchone()
            count = row["count"] + 1 if row and row["cause"] == cause else 1
            db.execute(
                "insert or replace into failures values (?, ?, ?, ?)", (line, cause, count, time.time())
            )
            return int(count)

    @_begin_anew
    def clear_failure(self, line: str) -> None:
        """Forget the failures of a command that now ended well."""
        with self._write() as db:
            db.execute("delete from failures where line = ?", (clean_text(line),))

    @_begin_anew
    def list_failures(self, least: int) -> dict[str, tuple[str, int]]:
        """Return commands that failed in the same way at least so often in a row: (cause, count) by line."""
        with self._read() as db:
            rows = db.execute("select line, cause, count from failures where count >= ?", (least,))
            return {row["line"]: (row["cause"], row["count"]) for row in rows}

    # ── Removal ────────────────────────────────────────────────────────────────────────────────────

    @_begin_anew
    def forget(self, *, lessons: Sequence[str] = (), cases: Sequence[int] = ()) -> int:
        """Delete records so that no byte of them is left in the file, its index or its log; return how many there were.

        Damaged files set aside may hold them as well, so they are deleted. Raises UserError while others use the file.
        """
        if not self.exists:
            return 0
        self._mark.touch(mode=0o600)
        with self._write() as db:
            count = 0
            for each in lessons:
                db.execute(
                    "delete from failures where line in (select avoid from lessons where id = ?)", (each,)
                )
                count += db.execute("delete from lessons where id = ?", (each,)).rowcount
                db.execute("delete from uses where lesson = ?", (each,))
                db.execute("update lessons set replaced_by = '' where replaced_by = ?", (each,))
            for number in cases:
                row = db.execute("select failures from cases where id = ?", (number,)).fetchone()
                for failure in json.loads(row["failures"]) if row else ():
                    db.execute("delete from failures where line = ?", (failure["line"],))
                count += delete_case(db, number)
        self.scrub()
        return count

    def forget_all(self) -> None:
        """Delete the store with everything that belongs to it."""
        for each in (
            self.path,
            *(Path(f"{self.path}{end}") for end in ("-wal", "-shm", _UNSCRUBBED)),
            *self._list_aside(),
        ):
            each.unlink(missing_ok=True)

    @property
    def is_scrubbed(self) -> bool:
        """Whether no byte is left of what was forgotten; not so after a kill, or while another session was reading."""
        return not self._mark.exists()

    @_begin_anew
    def scrub(self) -> None:
        """Write the file anew: deleted rows leave their words in the index, and pages in the log, until then."""
        for each in self._list_aside():
            each.unlink(missing_ok=True)
        with self._guard(_read_number(self.path)), contextlib.closing(self._open()) as db:
            db.execute("insert into case_words(case_words) values ('rebuild')")
            db.commit()
            db.execute("vacuum")
            busy, _, _ = db.execute("pragma wal_checkpoint(truncate)").fetchone()
        if busy:
            raise UserError(
                Fault.READ_ONLY,
                "it is deleted, but bytes of it are left in the file while another session reads the memory",
                "The next `memory forget`, or the next turn, removes them.",
            )
        self._mark.unlink(missing_ok=True)

    def _list_aside(self) -> list[Path]:
        return sorted(self.path.parent.glob(f"{self.path.name}{_ASIDE}*"))

    # ── The file ───────────────────────────────────────────────────────────────────────────────────

    @property
    def _mark(self) -> Path:
        return Path(f"{self.path}{_UNSCRUBBED}")

    @contextlib.contextmanager
    def _read(self) -> Iterator[sqlite3.Connection]:
        number = _read_number(self.path)
        with (
            self._refuse_odd_rows(number),
            self._guard(number),
            contextlib.closing(self._open() if self.exists else open_empty_tables()) as db,
        ):
            yield db

    @contextlib.contextmanager
    def _write(self) -> Iterator[sqlite3.Connection]:
        with self._guard(_read_number(self.path)), contextlib.closing(self._open()) as db:
            db.execute("begin immediate")
            with db:
                yield db

    @contextlib.contextmanager
    def _refuse_odd_rows(self, number: int) -> Iterator[None]:
        """Raise _DamagedFile for a row that was not written here, and set the file aside."""
        try:
            yield
        except (ValueError, TypeError, LookupError) as error:
            raise self._set_aside(number) from error

    @contextlib.contextmanager
    def _guard(self, number: int) -> Iterator[None]:
        """Raise _DamagedFile for a damaged file, set aside then, and UserError for one that cannot be used now."""
        try:
            yield
        except sqlite3.DatabaseError as error:
            code = getattr(error, "sqlite_errorcode", None)
            undecoded = code is None and isinstance(error, sqlite3.OperationalError)  # text that is no UTF-8
            if undecoded or (code is not None and code & 0xFF in _DAMAGE):
                raise self._set_aside(number) from error
            if not isinstance(error, sqlite3.OperationalError):
                raise
            problem = f"the memory {self.path.name} cannot be used: {error}"
            raise UserError(Fault.READ_ONLY, problem, "Try again later.") from error

    def _set_aside(self, number: int) -> _DamagedFile:
        """Move a damaged file out of the way, for whoever wants to look at it; return the error that says so."""
        aside = self.path.with_name(f"{self.path.name}{_ASIDE}{int(time.time())}")
        if number == _read_number(self.path):  # else another session was quicker, and this is a new file
            with contextlib.suppress(FileNotFoundError):
                os.replace(self.path, aside)
                for end in ("-wal", "-shm"):
                    Path(f"{self.path}{end}").unlink(missing_ok=True)
        notice = f"the memory of this repository was damaged and begins anew; old file: {aside.name}"
        return _DamagedFile(notice)

    def _open(self) -> sqlite3.Connection:
        make_private_folder(self.path.parent)
        with contextlib.suppress(OSError):  # sqlite says what is wrong with it
            os.close(open_private(str(self.path), os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW))
        db = sqlite3.connect(self.path, timeout=PATIENCE, isolation_level=None)
        try:
            db.row_factory = sqlite3.Row
            db.execute("pragma secure_delete = on")
            version = db.execute("pragma user_version").fetchone()[0]
            if version > VERSION:
                raise UserError(
                    Fault.CONFIGURATION,
                    f"the memory of this repository is of a later version ({version}; this program knows {VERSION})",
                    "Use the newer program, or: patchwright memory off",
                )
            if version < VERSION:
                migrate_tables(db)
            return db
        except BaseException:  # a Ctrl-C, too, leaves no connection open
            db.close()
            raise


def _read_number(path: Path) -> int:
    """Return the number of a file, 0 if there is none."""
    try:
        return path.stat().st_ino
    except OSError:
        return 0
