"""Lock of the user's index, as git takes it: who holds it knows that no git command changes the index meanwhile."""

from __future__ import annotations

import fcntl
import os
import time
from contextlib import suppress

from sandbox.fs.regular_file import SOURCE, read_regular_file
from tools.core.action import ToolFailure
from tools.git.broker import Broker

_PATIENCE = 2.0
"""Seconds to wait for a lock: editors and shell prompts hold it briefly; longer means a waiting command, or a crash."""

_POLL = 0.01
"""Seconds from one look at a lock to the next."""

_MARK = b"locked by patchwright\n"
"""Content of our locks. git's hold an index, or nothing."""


class IndexLock:
    """`index.lock` in a work tree's git folder: a context, which may be entered again while it is held.

    A lock that a kill left behind is recognized by its content and by the lock of the system that died with us.

    consequence: what does not happen while somebody else holds the lock, the beginning of the message
    """

    def __init__(self, broker: Broker, consequence: str = "git_commit: nothing was committed: ") -> None:
        self._consequence = consequence
        self._index = broker.folder / "index"
        self._path = broker.folder / "index.lock"
        self._depth = 0
        self._handle = -1

    def __enter__(self) -> IndexLock:
        if not self._depth:
            self._acquire()
        self._depth += 1
        return self

    def __exit__(self, *_: object) -> None:
        self._depth -= 1
        if not self._depth:
            self._path.unlink(missing_ok=True)
            os.close(self._handle)

    def wait_until_free(self) -> None:
        """Wait until nobody else holds the lock. Raises ToolFailure."""
        deadline = time.monotonic() + _PATIENCE
        while not self._depth and self._path.exists() and not self._remove_leftover():
            if time.monotonic() > deadline:
                raise ToolFailure(
                    f"{self._consequence}{str(self._path)!r} exists: another git command is running "
                    "here, or one crashed. If none runs, the user removes that file. Your changes stay in place."
                )
            time.sleep(_POLL)

    def replace_index(self, content: bytes | None, times: tuple[int, int]) -> None:
        """Replace the index; None removes it. The lock must be held.

        times: of access and change, in ns: git compares files as young as the index by content
        """
        if content is None:
            self._index.unlink(missing_ok=True)
            return
        new = self._index.with_name("patchwright-index")
        mode = self._index.stat().st_mode if self._index.exists() else self._path.stat().st_mode
        new.unlink(missing_ok=True)  # of a killed process, or a planted link
        try:
            with new.open("xb") as file:
                file.write(content)
            new.chmod(mode & 0o777)
            os.utime(new, ns=times)
            new.replace(self._index)
        except OSError:
            new.unlink(missing_ok=True)
            raise

    def read_index(self) -> bytes | None:
        """Return the bytes of the index, None if there is none."""
        return read_regular_file(self._index, SOURCE)

    def _acquire(self) -> None:
        while True:
            self.wait_until_free()
            with suppress(FileExistsError):
                self._handle = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666)
                break
        with suppress(OSError):  # a file system without locks: a leftover is then the user's to remove
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        try:
            os.write(self._handle, _MARK)
        except OSError:  # disk full
            self._path.unlink()
            os.close(self._handle)
            raise

    def _remove_leftover(self) -> bool:
        """Remove a lock of ours whose process was killed; return whether there is none any more."""
        try:
            handle = os.open(self._path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except OSError:
            return not self._path.exists()
        try:
            if os.read(handle, len(_MARK) + 1) != _MARK:
                return False
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not os.path.samestat(os.fstat(handle), self._path.lstat()):  # already replaced by another
                return False
            self._path.unlink()
        except OSError:  # its process lives, or it is gone
            return False
        finally:
            os.close(handle)
        return True
