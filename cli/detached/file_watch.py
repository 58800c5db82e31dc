"""Watch of files by their times and sizes: a run is due when somebody else than the run itself changed one."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import field
from pathlib import Path

from agent.events import ActionEvent, End, Event, ObservationEvent
from cli.detached.log_tail import LogTail
from sandbox.lazy_dataclass import dataclass
from tools.core.untrusted_output import quote_words

SKIPPED = frozenset(("__pycache__", "node_modules", "target", "build", "dist"))
"""Folders that tools write into whenever they run; those with a leading dot are skipped, too."""

SUFFIXES = (".pyc", "~", ".swp", ".tmp")
"""Ends of the names of files that editors and interpreters write beside those that are meant."""

MOST_NAMED = 50
"""Changed files that a prompt names."""

Stamp = tuple[int, int, int]


class OwnFiles:
    """Follower of a run's log: the files that the run itself has changed, and whether an action is at work."""

    def __init__(self, session: Path) -> None:
        self.paths: set[str] = set()
        self._tail = LogTail(session)
        self._open: set[str] = set()

    @property
    def is_acting(self) -> bool:
        """Whether a change may be that of an action whose result is not logged yet."""
        return bool(self._open)

    def update(self) -> None:
        """Read the events that were logged since the last time."""
        for event in self._tail.read_events():
            self._handle_event(event)

    def close(self) -> None:
        """Close the log."""
        self._tail.close()

    def _handle_event(self, event: Event) -> None:
        match event:
            case ActionEvent():
                self._open.add(event.call)
                if event.effect == "write":
                    self.paths.update(event.paths)
            case ObservationEvent():
                self._open.discard(event.call)
                self.paths.update(map(str, event.data.get("changed", ())))
                self.paths.update(map(str, event.data.get("files", ())))
            case End():
                self._open.clear()
                self.paths.update(event.files)


@dataclass(slots=True, kw_only=True)
class FileWatch:
    """A run is due when a file below `paths` changed and has been left alone since the look before. A `Trigger`.

    root: the workspace, to which names are relative; select_ignored: returns those of some that git ignores
    """

    root: Path
    paths: Sequence[Path]
    select_ignored: Callable[[Collection[str]], Collection[str]] = lambda names: ()
    changed: tuple[str, ...] = ()
    _seen: dict[str, Stamp] = field(default_factory=dict)
    _last: dict[str, Stamp] = field(default_factory=dict)
    _own: OwnFiles | None = None

    def __post_init__(self) -> None:
        self._seen = self._last = self._scan()

    def is_due(self, session: Path | None) -> bool:
        """See `Trigger.is_due`."""
        if session is not None and self._own is None:
            self._own = OwnFiles(session)
        now, last = self._scan(), self._last
        self._last = now
        if now != last or now == self._seen:
            return False
        if self._own is not None:
            self._own.update()
            if self._own.is_acting:
                return False
        return self._take_changes(now)

    def end_run(self, session: Path) -> bool:
        """See `Trigger.end_run`: changes of others meanwhile make another run due."""
        own, self._own = self._own or OwnFiles(session), None
        own.update()
        own.close()
        self._own = own
        try:
            return self._take_changes(self._scan())
        finally:
            self._own, self._last = None, self._seen

    def format_prompt(self, prompt: str) -> str:
        """Return the prompt with `{files}` replaced by the changed ones, as words of others."""
        return prompt.replace("{files}", quote_words(self.changed[:MOST_NAMED]))

    def _take_changes(self, now: dict[str, Stamp]) -> bool:
        """Compare with the last scan, and remember this one; return whether others changed something."""
        names = now.keys() | self._seen.keys()
        changed = {name for name in names if now.get(name) != self._seen.get(name)}
        self._seen = now
        if self._own is not None:
            changed -= self._own.paths
        if changed:
            changed -= set(self.select_ignored(changed))
        if changed:
            self.changed = tuple(sorted(changed))
        return bool(changed)

    def _scan(self) -> dict[str, Stamp]:
        return {os.path.relpath(entry.path, self.root): stamp for entry, stamp in self._list_files()}

    def _list_files(self) -> Iterator[tuple[os.DirEntry[str], Stamp]]:
        folders = []
        for path in self.paths:
            if path.is_dir():
                folders.append(str(path))
            else:
                yield from self._read_folder(str(path.parent), [], only=path.name)
        while folders:
            yield from self._read_folder(folders.pop(), folders)

    def _read_folder(
        self, folder: str, below: list[str], only: str = ""
    ) -> Iterator[tuple[os.DirEntry[str], Stamp]]:
        try:
            entries = list(os.scandir(folder))
        except OSError:  # removed meanwhile, or closed to us
            return
        for entry in entries:
            if only and entry.name != only:
                continue
            try:
                if entry.is_dir(follow_symlinks=False):
                    if not only and entry.name not in SKIPPED and not entry.name.startswith("."):
                        below.append(entry.path)
                elif only or not (entry.name.endswith(SUFFIXES) or entry.name.startswith(".#")):
                    info = entry.stat(follow_symlinks=False)
                    yield entry, (info.st_mtime_ns, info.st_size, info.st_ino)
            except OSError:  # removed meanwhile
                continue
