"""The session log: append-only, one event per line, repaired on open. Everything else is a view of it."""

from __future__ import annotations

import asyncio
import errno
import fcntl
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from agent.app_dirs import make_private_folder
from agent.events import (
    Event,
    MessageEvent,
    ObservationEvent,
    Prompt,
    Rewind,
    Title,
    render_event,
)
from agent.session.branch_history import History
from agent.session.log_index import CHECKPOINT, LogIndex, load_index, parse_event_id
from sandbox.errors import Fault, UserError
from sandbox.secrets.child_environment import redact, redact_values

Subscriber = Callable[[Event], None]

INTERRUPTED = (
    "interrupted: the program ended before this action's result was recorded; it may have taken effect"
)
# Seconds for which taking the lock is retried.
LEFT_BEHIND = 0.5


class Session:
    """An open log. Exactly one process holds it; each event is flushed when written, and synced once per step."""

    def __init__(
        self, folder: Path, descriptor: int, index: LogIndex, proceed: Callable[[], None] = lambda: None
    ) -> None:
        self.folder = folder
        self.id = folder.name
        self.replayed = History(folder / "log.jsonl", index, proceed)
        """The events of the present branch, read lazily from the log."""
        self._descriptor = descriptor
        self._index = index
        self._subscribers: list[tuple[Subscriber, Callable[[], None] | None]] = []
        self._syncing: asyncio.Future[None] | None = None

    @classmethod
    def create(cls, sessions: Path) -> Session:
        """Create a log in a new folder below `sessions`."""
        stamp = time.strftime("%Y%m%d-%H%M%S")
        make_private_folder(sessions)
        folder = sessions / f"{stamp}-{os.urandom(2).hex()}"
        try:
            while not _make_new_folder(folder):  # of a hundred children in a second, two may draw the same
                folder = sessions / f"{stamp}-{os.urandom(2).hex()}"
            descriptor = _open_locked(folder / "log.jsonl", os.O_CREAT | os.O_EXCL)
        except OSError as error:
            raise _convert_storage_error(error, folder) from error
        return cls(folder, descriptor, LogIndex(folder / "log.index"))

    @classmethod
    def open(cls, folder: Path, proceed: Callable[[], None] = lambda: None) -> Session:
        """Open an existing log: a torn last line is removed, orphaned actions are answered.

        proceed: see `History`; its exceptions leave the log closed
        Raises UserError when there is no such session, or another process has it open.
        """
        from agent.session.session_preview import NO_SUCH

        path = folder / "log.jsonl"
        try:
            descriptor = _open_locked(path, 0)
        except OSError as error:
            if error.errno in NO_SUCH:
                raise UserError(
                    Fault.USAGE, f"no session {folder.name!r}", "List them: patchwright sessions"
                ) from None
            raise _convert_storage_error(error, folder) from error
        try:
            session = cls(folder, descriptor, _repair_log(path, descriptor, proceed), proceed)
        except BaseException:  # on any exception the log is released, then the exception is raised again
            os.close(descriptor)
            raise
        session.answer_orphans()
        return session

    def subscribe(
        self,
        subscriber: Subscriber,
        *,
        replay: bool = False,
        restart: Callable[[], None] | None = None,
    ) -> None:
        """Call `subscriber` with each event from now on (and, with `replay`, with the existing ones).

        restart: called when the session is rewound; `subscriber` is then given the events of the branch from
        the first. Without it, it only sees the `Rewind`.
        """
        if replay:
            for event in self.replayed:
                subscriber(event)
        self._subscribers.append((subscriber, restart))

    def unsubscribe(self, subscriber: Subscriber) -> None:
        """Call a subscriber no more."""
        self._subscribers = [each for each in self._subscribers if each[0] != subscriber]

    def answer_orphans(self) -> None:
        """Append an observation for each action that a kill or a full disk left without one."""
        for call, tool in list(self._index.unanswered.items()):
            self.append(ObservationEvent(call=call, tool=tool, text=INTERRUPTED, failed=True))

    def list_prompts(self) -> list[Prompt]:
        """Return the prompts of the present branch, the possible targets of a rewind (`rewind(to=prompt.parent)`)."""
        return list(self.replayed.select_events(Prompt))

    def rewind(self, to: str) -> Rewind:
        """Continue from event `to`, of this branch or another; later events stay in the log.

        Subscribers with a `restart` start over; files of the workspace are left unchanged. Actions of `to`'s
        batch that were answered only later are answered as interrupted. Raises UserError if there is no such
        event.
        """
        if self.replayed.get_event(to) is None:
            raise UserError(Fault.USAGE, f"session {self.id!r} has no event {to!r}", "Events are e1, e2, …")
        self._index.unanswered = self.replayed.find_unanswered_calls(parse_event_id(to))
        event = Rewind(to=to)
        self._write_event(event, to)
        for subscriber, restart in list(self._subscribers):
            if restart is None:
                subscriber(event)
                continue
            restart()
            for each in self.replayed:
                subscriber(each)
        self.answer_orphans()
        return event

    def rename(self, title: str) -> None:
        """Set the session's title."""
        self.append(Title(text=" ".join(title.split())[:200]))

    def append(self, event: Event) -> Event:
        """Write an event with secrets redacted, then notify subscribers: only logged text is shown or sent.

        Raises UserError when the disk is full.
        """
        self._write_event(event, f"e{self._index.count}" if self._index.count else "")
        self.notify_subscribers(event)
        return event

    def announce(self, event: Event) -> None:
        """Write an event as `append` does; if the disk refuses it, notify the subscribers anyway."""
        try:
            self.append(event)
        except UserError:
            self.notify_subscribers(event)

    def notify_subscribers(self, event: Event) -> None:
        """Notify the subscribers of an event without writing it (the final event when the disk is full)."""
        for subscriber, _ in list(self._subscribers):
            subscriber(event)

    def _write_event(self, event: Event, parent: str) -> None:
        """Write an event as the next one of the log."""
        _redact_event(event)
        event.id = f"e{self._index.count + 1}"
        event.parent = parent
        event.time = round(time.time(), 3)
        line = render_event(event)
        self._write_line(line)
        self._index.add_event(event, line)
        if not self._subscribers:
            self.replayed.fresh[self._index.count] = event
        if self._index.count % CHECKPOINT == 0:
            self._index.save()

    async def sync(self) -> None:
        """Start syncing the log to disk in the background, so that the wait falls into the next model call."""
        await self.wait_for_sync()
        self._syncing = asyncio.get_running_loop().run_in_executor(None, os.fsync, self._descriptor)

    async def wait_for_sync(self) -> None:
        """Wait for the last `sync`. Raises UserError when the disk turns out to be full."""
        if self._syncing is None:
            return
        syncing, self._syncing = self._syncing, None
        try:
            await syncing
        except OSError as error:
            raise _convert_storage_error(error, self.folder) from error

    def close(self) -> None:
        """Sync and release the log. Safe to call twice."""
        if self._descriptor >= 0:
            descriptor, self._descriptor = self._descriptor, -1
            with suppress(OSError):  # a full disk was reported by the turn's own sync
                os.fsync(descriptor)
            self._index.save()
            with suppress(OSError):  # a child between fork and exec would hold the lock after the close
                fcntl.flock(descriptor, fcntl.LOCK_UN)
            os.close(descriptor)

    def _write_line(self, line: bytes) -> None:
        """Write an event in one call; a short write (full disk) is truncated, so that the log stays intact."""
        try:
            written = os.write(self._descriptor, line)
            if written < len(line):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        except OSError as error:
            os.ftruncate(self._descriptor, self._index.size)
            raise _convert_storage_error(error, self.folder) from error


def read_events(folder: Path, *, only: Sequence[bytes] = ()) -> Iterator[Event]:
    """Yield the events of a log that another process may have open; a torn last line is skipped.

    only: whole lines with none of these bytes are not parsed, and so not yielded; all are if empty

    Raises FileNotFoundError when there is no such log, UserError when it is damaged.
    """
    from agent.session.session_preview import NO_SUCH

    path = folder / "log.jsonl"
    try:
        file = path.open("rb")
    except OSError as error:
        if error.errno in NO_SUCH:
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path)) from None
        raise
    with file:
        yield from (event for event, _ in _read_whole_lines(path, file, only))


def _make_new_folder(folder: Path) -> bool:
    """Make a folder; return False if it exists."""
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        return False
    return True


def _redact_event(event: Event) -> None:
    if isinstance(event, MessageEvent):  # signed, so kept whole or not at all
        event.kept = [part for part in event.kept if redact_values(part) is part]
    fields = {
        name: value
        for name, value in vars(event).items()
        if isinstance(value, str | dict | list) and name != "kept"
    }
    asked = event.actions if isinstance(event, MessageEvent) else []
    whole = {**fields, "actions": [[each.arguments, each.raw] for each in asked]} if asked else fields
    if redact_values(whole) is whole:
        return
    for name, value in fields.items():
        setattr(event, name, redact_values(value))
    for each in asked:
        each.arguments = {key: redact_values(value) for key, value in each.arguments.items()}
        each.raw = redact(each.raw)


def _open_locked(path: Path, flags: int) -> int:
    descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CLOEXEC | flags, 0o600)
    # A child that a killed process had forked, but that had not yet called exec, keeps its lock a moment
    # longer.
    until = time.monotonic() + LEFT_BEHIND
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return descriptor
        except BlockingIOError:
            if time.monotonic() < until:
                time.sleep(LEFT_BEHIND / 20)
                continue
            os.close(descriptor)
            raise UserError(
                Fault.USAGE,
                f"session {path.parent.name!r} is open in another process",
                "End that one first, or start a new session.",
            ) from None


def _repair_log(path: Path, descriptor: int, proceed: Callable[[], None]) -> LogIndex:
    """Index the lines written since the last save of the index; remove a torn last line."""
    with path.open("rb") as file:
        index = load_index(path, file)
        file.seek(index.size)
        known = len(index.rewinds)
        for event, line in _read_whole_lines(path, file):
            proceed()
            index.add_event(event, line)
    if len(index.rewinds) > known:
        index.unanswered = History(path, index, proceed).find_unanswered_calls(index.count)
    if index.size < os.fstat(descriptor).st_size:
        os.ftruncate(descriptor, index.size)
    return index


def _read_whole_lines(
    path: Path, file: BinaryIO, only: Sequence[bytes] = ()
) -> Iterator[tuple[Event, bytes]]:
    """Yield the events of all whole lines from the file's position, with the lines themselves; see `read_events`."""
    from agent.session.log_lines import DamagedLog, parse_log_line

    whole = file.tell()
    while line := file.readline():
        if not line.endswith(b"\n"):
            return
        if only and line[:1] == b"{" and line[-2:] == b"}\n" and not any(map(line.__contains__, only)):
            whole += len(line)
            continue
        try:
            event = parse_log_line(line, path, whole)
        except DamagedLog:
            if file.read(1):  # not the last line: damage, not a torn write
                raise
            return
        whole += len(line)
        yield event, line


def _convert_storage_error(error: OSError, folder: Path) -> UserError:
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return UserError(
            Fault.STORAGE_FULL,
            f"no space left to write the session log in {str(folder)!r}",
            "Free some space and resume: nothing logged so far is lost.",
        )
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return UserError(
            Fault.READ_ONLY,
            f"cannot write the session log in {str(folder)!r}: {error.strerror}",
            "Set PATCHWRIGHT_HOME to a folder that can be written.",
        )
    raise error
