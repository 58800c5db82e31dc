"""Atomic changes of several files: all are made or none, even if the process is killed.

1. An intent is written to the journal: all files, temporary names and folders to be created.
2. Each new content is written to a temporary file in its target's folder, with its final mode and owner.
3. Every target is compared once more with the state that its change expects.
4. The intent is renamed to a commit. This one rename decides.
5. The new files are renamed over the old ones, files to be removed are removed, the record is deleted.

The next process that locks the tree recovers from a kill: before 4 it removes the temporary files and new
folders, from 4 on it does the remaining steps. A single change needs no 4: its own rename decides.

Syncing: a killed process loses nothing that the kernel has accepted, so syncing only guards against a loss of
power. Contents are, before 4, all started and then waited for (200 small files: 30 ms instead of 200); so are
the record and the commit mark when there is more than one change, and at the end the folders.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from sandbox.fs.transaction.execution import (
    check_targets,
    finish_steps,
    is_step_done,
    prepare_files,
    sync_folders,
    undo_steps,
)
from sandbox.fs.transaction.file_changes import Conflict, Recovery, Remove, UnresolvedFile, Write
from sandbox.fs.transaction.journal import Journal
from sandbox.fs.transaction.transaction_plan import plan_transaction
from sandbox.fs.workspace_tree import Tree

__all__ = ["Conflict", "Recovery", "Remove", "Transactions", "UnresolvedFile", "Write"]


class Transactions:
    """Transactions on the files of one tree. Blocking; threads may share it, or have one each.

    journal: a folder outside the tree, the same for all users of the tree; created when needed, mode 0700
    """

    def __init__(self, tree: Tree, journal: Path) -> None:
        self._tree = tree
        self._journal = Journal(journal)
        self._holder: int | None = None

    @contextmanager
    def lock_tree(self) -> Iterator[Recovery | None]:
        """Hold the exclusive lock, across threads and processes, for reading files in order to change them.

        Waits for the lock. First recovers an unfinished transaction of a killed process; yields the outcome
        of that.
        """
        if self._holder == threading.get_ident():
            raise RuntimeError("lock_tree() was entered twice by one thread, which would wait for ever")
        with self._journal.lock():
            try:
                self._holder = threading.get_ident()
                yield self._recover()
            finally:
                self._holder = None

    def commit(self, changes: Sequence[Write | Remove]) -> None:
        """Make all of the changes or none; call it inside `lock_tree()`.

        Raises Conflict if a file is not as its change expects, ValueError for two changes of one file,
        otherwise the errors of `Tree.write` and `Tree.remove`: always with the tree unchanged. An interrupt,
        too, leaves it unchanged or with all changes made. Only if another process changes a file in the
        moment of its replacement are the others written without it: the Conflict says so, and names the file
        with the content.
        """
        if self._holder is None:
            raise RuntimeError("commit() has to be called inside lock_tree()")
        if not changes:
            return
        record = plan_transaction(self._tree, changes)
        several = len(changes) > 1
        try:
            self._journal.write(record, durable=several)
            prepare_files(self._tree, record, changes)
            check_targets(self._tree, record, changes)
            if several:
                self._journal.mark_commit()
            left = finish_steps(self._tree, record)
            if several:
                sync_folders(self._tree, record)
            self._journal.clear()
        except BaseException as error:  # an interrupt, too: the journal decides the outcome
            recovery = self._recover()
            if recovery and recovery.left:
                error.add_note(str(recovery))
            raise
        if left:
            raise Conflict("; ".join(map(str, left)), [each.path for each in left])

    def recover(self) -> Recovery | None:
        """Finish or undo a transaction that a killed process left, if any; waits for the lock."""
        with self.lock_tree() as recovery:
            return recovery

    def _recover(self) -> Recovery | None:
        found = self._journal.find_record()
        if found is None:
            return None
        stage, record = found
        if isinstance(record, ValueError) or not self._tree.root.is_dir():
            why = str(record) if isinstance(record, ValueError) else f"there is no folder {self._tree.root}"
            place = self._journal.set_aside(stage)
            return Recovery(outcome="abandoned", reason=f"{why} (kept as {place})")
        paths = tuple(step.path for step in record.steps)
        if stage == "commit":
            left = finish_steps(self._tree, record)
            sync_folders(self._tree, record)
            recovery = Recovery(outcome="finished", paths=paths, left=left)
        else:
            alone = len(record.steps) == 1  # then the file's own rename was the commit
            done = alone and is_step_done(self._tree, record.steps[0])
            left = undo_steps(self._tree, record)
            recovery = Recovery(outcome="finished" if done else "undone", paths=paths, left=left)
        self._journal.clear()
        return recovery
