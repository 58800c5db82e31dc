"""Changes of several files that are made wholly or not at all, also when the process is killed midway.

1. An intent is put down in the journal: every file, every temporary name, every folder to be made.
2. Each new content is written beside its target, with the mode and the owner that it is to have.
3. Every target is compared once more with what the change expects of it.
4. The intent is renamed to a commit. This one rename decides.
5. The new files are renamed over the old ones, files that are to go are removed, the record is dropped.

Whoever next asks for the tree ends what a killed process left: before 4 it takes away the temporary files
and the new folders, from 4 on it does the rest. One change alone needs no 4: its own rename decides.

What is synced: a killed process loses nothing that the system has taken, so that this is for a loss of power
only. Contents are, before 4, all started and then waited for (200 small files: 30 ms instead of 200); so are
the record and the mark when there is more than one change, and at the end the folders.
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
    """The way to change files of one tree. Blocking; threads may share it, or have one each.

    journal: a folder of ours outside the tree, the same for all who work on the tree; made when needed, 0700
    """

    def __init__(self, tree: Tree, journal: Path) -> None:
        self._tree = tree
        self._journal = Journal(journal)
        self._holder: int | None = None

    @contextmanager
    def lock_tree(self) -> Iterator[Recovery | None]:
        """Be the only one, of all threads and processes, who reads files in order to change them.

        Waits for its turn. Ends first what a killed process left: gives what was done about it.
        """
        if self._holder == threading.get_ident():
            raise RuntimeError("exclusive() was entered twice by one thread, which would wait for ever")
        with self._journal.lock():
            try:
                self._holder = threading.get_ident()
                yield self._recover()
            finally:
                self._holder = None

    def commit(self, changes: Sequence[Write | Remove]) -> None:
        """Make all of the changes or none; to be called inside `exclusive()`.

        Raises Conflict when a file is not as its change expects it, ValueError for two changes of one file,
        otherwise what `Tree.write` and `Tree.remove` raise: always with the tree as it was. An interrupt, too,
        leaves it as it was, or with all changes made. Only when somebody else changes a file in the moment
        of its replacement are the others written without it: the Conflict says so, and where the content is.
        """
        if self._holder is None:
            raise RuntimeError("commit() has to be called inside exclusive()")
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
        except BaseException as error:  # an interrupt, too: the journal says which way out is right
            recovery = self._recover()
            if recovery and recovery.left:
                error.add_note(str(recovery))
            raise
        if left:
            raise Conflict("; ".join(map(str, left)), [each.path for each in left])

    def recover(self) -> Recovery | None:
        """Finish or undo what a killed process left, if any; waits for those who are at work."""
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
            alone = len(record.steps) == 1  # then the file's own rename was what decided
            done = alone and is_step_done(self._tree, record.steps[0])
            left = undo_steps(self._tree, record)
            recovery = Recovery(outcome="finished" if done else "undone", paths=paths, left=left)
        self._journal.clear()
        return recovery
