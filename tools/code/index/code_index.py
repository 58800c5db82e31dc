"""The index of one workspace, brought up to date with the files before each query."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterable, Sequence, Set
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from sandbox.fs.private_files import create_private_folder
from tools.code.index import file_listing
from tools.code.index.file_listing import Stamp
from tools.code.index.index_store import Store, delete_database, get_time_ns, lock_database
from tools.code.index.parse_worker import Task, decode_text
from tools.code.index.parsing.document_outline import is_document
from tools.code.index.parsing.name_uses import find_name_lines
from tools.code.index.segment_format import ENTRY, NAME, NOTHING, Outline, unpack_facts, unpack_prose_ranges
from tools.code.index.worker_pool import read_segments
from tools.code.languages import Language

Answered = TypeVar("Answered")

FEW, SELDOM = 4, 16
"""A store with more changes than FEW is tidied at once, otherwise on every SELDOM-th generation."""


class Index:
    """Index of the definitions, uses, imports and words of a workspace's files. Use it as a context, or close it.

    root: the workspace, an absolute path
    database: its path; None keeps it in memory
    hidden: options for ripgrep that exclude files
    """

    def __init__(self, root: Path, database: Path | None, hidden: Sequence[str] = ()) -> None:
        self.root = root
        self._root = str(root)
        self._database = database
        self._hidden = hidden
        self.store = Store(database)
        try:
            self._generation = self.store.generation()
        except BaseException:  # a damaged database: the caller recreates it
            self.store.close()
            raise
        self.others: Sequence[str] = ()

    @cached_property
    def _files(self) -> dict[str, tuple[Stamp, int, int]]:
        """The stored state of each file. Read after the generation, so that concurrent changes are checked again."""
        return self.store.files()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        self.store.close()

    # ── keeping up ─────────────────────────────────────────────────────────────────────────────────

    def refresh(self, only: Sequence[str] | None = None) -> int:
        """Check the files and index those that changed. Returns their number.

        only: paths to check; None for all. Files created or removed elsewhere are then not noticed.
        """
        known: Set[str]
        if only is None:
            there = file_listing.Listing(self.root, self.store.count_files(), self._hidden)
            try:  # the folders are walked meanwhile
                known = self._files.keys()
                changed, gone = self._compare_stamps(known)
            finally:
                names = there.collect_names()
            wanted = dict(file_listing.filter_indexed(names))
            self.others = [name for name in names if name not in wanted]
        else:
            wanted = dict(file_listing.filter_indexed(only))
            known = self._files.keys() & set(only)
            changed, gone = self._compare_stamps(known)
        gone |= known - wanted.keys()
        changed = {path: stamp for path, stamp in changed.items() if path in wanted}
        for path in wanted:
            if path not in known and (stamp := file_listing.read_stamp(self._root, path)) is not None:
                changed[path] = stamp
        if not (changed or gone):
            return 0
        with lock_database(self._database):
            return self._index_changes(
                dict(sorted(changed.items())), gone, {path: wanted[path] for path in changed}
            )

    def _compare_stamps(self, paths: Iterable[str]) -> tuple[dict[str, Stamp], set[str]]:
        """Return known files that may have changed, with their stamps, and those that no longer exist."""
        changed: dict[str, Stamp] = {}
        gone: set[str] = set()
        for path in paths:
            stamp = file_listing.read_stamp(self._root, path)
            before, read, _ = self._files[path]
            if stamp is None:
                gone.add(path)
            elif before != stamp or not stamp.is_settled(read):
                changed[path] = stamp
        return changed, gone

    def _index_changes(
        self, changed: dict[str, Stamp], gone: set[str], languages: dict[str, Language]
    ) -> int:
        if self.store.generation() != self._generation:  # another session changed the database
            self._reload()
        read = get_time_ns()
        files: dict[str, tuple[Stamp, int, int]] = {}
        keys: dict[str, tuple[str, Stamp]] = {}
        for path, stamp in changed.items():
            data = file_listing.read_content(self._root, path)
            if data is None:
                gone = gone | {path}
            else:
                keys[path] = (file_listing.compute_text_key(languages[path], data), stamp)
        numbers = self.store.find_text_numbers({key for key, _ in keys.values()})
        tasks: dict[str, tuple[Task, int]] = {}
        for path, (key, stamp) in keys.items():
            if key not in numbers and key not in tasks:
                tasks[key] = ((0, languages[path].name, key, path), stamp.size)
        numbers.update(self._read_texts(list(tasks.values())))
        for path, (key, stamp) in keys.items():
            if key in numbers:
                files[path] = (stamp, read, numbers[key])
        before = {path: self._files[path][2] for path in files if path in self._files}
        count = sum(number != before.get(path) for path, (_, _, number) in files.items())
        gone = {path for path in gone if path in self._files}
        with self.store.transaction():
            self.store.put_files(files, gone)
            self._tidy_occasionally(len(files) + len(gone))
        for path in gone:
            del self._files[path]
        self._files.update(files)
        self._generation = self.store.generation()
        self._drop_views()
        return count + len(gone)

    def _tidy_occasionally(self, changes: int) -> None:
        """Tidy the store occasionally: counting all texts takes longer than indexing one edit."""
        if changes > FEW or self.store.generation() % SELDOM == 0:
            self.store.tidy()

    def _read_texts(self, tasks: list[tuple[Task, int]]) -> dict[str, int]:
        """Return numbers of new texts, by their keys; each segment is stored as it arrives."""
        if not tasks:
            return {}
        start = self.store.next_number()
        numbered = [
            ((start + at, language, key, path), size)
            for at, ((_, language, key, path), size) in enumerate(tasks)
        ]
        keys = {task[0]: task[2] for task, _ in numbered}
        found: dict[str, int] = {}
        for segment in read_segments(self._root, numbered):
            with self.store.transaction():
                self.store.add_segment(segment, keys)
            found.update((keys[each.blob], each.blob) for each in segment.texts)
        return found

    def _reload(self) -> None:
        """Reload the in-memory state from the database."""
        self._generation = self.store.generation()
        self._files = self.store.files()
        self._drop_views()

    def _drop_views(self) -> None:
        for name in ("by_text", "code", "code_by_text", "counts", "paths"):
            self.__dict__.pop(name, None)

    # ── contents ───────────────────────────────────────────────────────────────────────────────────

    @cached_property
    def paths(self) -> Sequence[str]:
        """Every indexed file, sorted."""
        return sorted(self._files)

    @cached_property
    def code(self) -> Sequence[str]:
        """Indexed files except documents and data."""
        return [path for path in self.paths if not is_document(path)]

    @property
    def generation(self) -> int:
        """A number that grows with every change."""
        return self._generation

    def __contains__(self, path: str) -> bool:
        return path in self._files

    def get_text_number(self, path: str) -> int:
        """Return the number of the file's text. Raises KeyError."""
        return self._files[path][2]

    @cached_property
    def by_text(self) -> dict[int, list[str]]:
        """Text → the files that have it."""
        found: dict[int, list[str]] = {}
        for path, (_, _, number) in self._files.items():
            found.setdefault(number, []).append(path)
        return found

    @cached_property
    def code_by_text(self) -> dict[int, list[str]]:
        """Text → its files, without documents and data."""
        found: dict[int, list[str]] = {}
        for path in self.code:
            found.setdefault(self._files[path][2], []).append(path)
        return found

    @cached_property
    def counts(self) -> dict[int, tuple[int, int, int]]:
        """Text → numbers of words in its symbols' names, its code and its prose."""
        return self.store.read_word_counts()

    def outline(self, path: str) -> Outline:
        """Return the symbols and imports of a file; empty if it is not indexed."""
        return self.outlines([path]).get(path, NOTHING)

    def outlines(self, paths: Sequence[str]) -> dict[str, Outline]:
        """Return the outlines of several files."""
        wanted = {path: self._files[path][2] for path in paths if path in self._files}
        found = {number: unpack_facts(data) for number, data in self.store.read_facts(set(wanted.values()))}
        return {path: found[number] for path, number in wanted.items() if number in found}

    def find_uses(self, path: str, only: str = "") -> dict[str, list[int]]:
        """Return name → lines, of the current file (see `find_name_lines`). only: restricts the search to one name"""
        if path not in self._files:
            return {}
        for language, said in self.store.read_prose_ranges(self._files[path][2]):
            return find_name_lines(language, self.read_source(path), unpack_prose_ranges(said), only)
        return {}

    def find_files_with_name(self, name: str) -> list[tuple[str, int, int, int]]:
        """Return code files with a name, sorted by path: path, numbers of definitions, uses and calls."""
        found = []
        for number, defined, used, called in self.store.read_postings(NAME + name):
            found += [(path, defined, used, called) for path in self.by_text.get(number, ())]
        return sorted(found)

    def find_documents(self, name: str) -> list[str]:
        """Return documents that have a heading or key of this name, sorted."""
        return sorted(
            path
            for number, *_ in self.store.read_postings(ENTRY + name)
            for path in self.by_text.get(number, ())
        )

    def find_word(self, word: str) -> list[tuple[int, int, int, int]]:
        """Return texts with a word: number, occurrences in symbols' names, in code, in prose."""
        return [each for each in self.store.read_postings(word) if each[0] in self.by_text]

    def read_source(self, path: str) -> str:
        """Return the file's current text, "" if it cannot be read."""
        data = file_listing.read_content(self._root, path)
        return decode_text(data).replace("\r\n", "\n").replace("\r", "\n") if data is not None else ""


def ask_index(
    root: Path, cache: Path, hidden: Sequence[str], question: Callable[[Index], Answered]
) -> Answered:
    """Bring the workspace's index up to date and return the question's answer.

    A damaged database is recreated; if the cache is not writable, the index is in memory.
    cache: Patchwright's cache folder; hidden: options for ripgrep that exclude files
    """
    try:
        database = _prepare_database_path(root, cache)
    except OSError:
        return _ask_once(root, None, hidden, question)
    try:
        return _ask_once(root, database, hidden, question)
    except sqlite3.OperationalError:  # a full disk, or a read-only folder
        return _ask_once(root, None, hidden, question)
    except sqlite3.DatabaseError:
        delete_database(database)
        return _ask_once(root, database, hidden, question)


def _ask_once(
    root: Path, database: Path | None, hidden: Sequence[str], question: Callable[[Index], Answered]
) -> Answered:
    with Index(root, database, hidden) as index:
        index.refresh()
        return question(index)


def _prepare_database_path(root: Path, cache: Path) -> Path:
    import hashlib
    import os

    folder = cache / "index"
    create_private_folder(folder)
    return folder / f"{hashlib.sha256(os.fsencode(root)).hexdigest()[:16]}.sqlite"
