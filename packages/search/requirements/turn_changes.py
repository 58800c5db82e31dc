"""Contents of the files that a turn changed, before and after it, those that it committed included."""

from __future__ import annotations

from dataclasses import field

from agent.events import Event, ObservationEvent
from agent.verify.suite_evidence import read_current_content
from sandbox.lazy_dataclass import dataclass
from tools.core.workspace import Workspace


@dataclass(slots=True, kw_only=True)
class TurnChanges:
    """Follower of a turn's events. Changes of earlier turns, committed or not, do not count."""

    workspace: Workspace
    _before: dict[str, bytes | None] = field(default_factory=dict)
    _at_start: dict[str, bytes | None] = field(default_factory=dict)

    def reset(self) -> None:
        """Forget the turn. In one that is resumed, all uncommitted changes of the session count from then on."""
        self._before.clear()
        self._at_start = {}

    def begin_turn(self) -> None:
        """Remember the files that earlier turns left changed."""
        self._before.clear()
        self._at_start = {path: read_current_content(self.workspace, path) for path in self.workspace.changes}

    def track_event(self, event: Event) -> None:
        """Remember the contents before of what was just changed: a commit drops the record of the session."""
        if isinstance(event, ObservationEvent):
            self._collect()

    def list_changed_files(self) -> list[str]:
        """Return the paths whose content differs from that at the start of the turn, sorted."""
        self._collect()
        return sorted(
            path
            for path, before in self._before.items()
            if before != read_current_content(self.workspace, path)
        )

    def read_before(self, path: str) -> str | None:
        """Return the text of a file at the start of the turn; None if there was none."""
        self._collect()
        if path in self._before:
            return _decode(self._before[path])
        return self.read_after(path)

    def read_after(self, path: str) -> str | None:
        """Return the text of a file now; None if there is none."""
        return _decode(read_current_content(self.workspace, path))

    def format_diff(self) -> str:
        """Return the changes of the turn as a unified diff."""
        from difflib import unified_diff

        return "".join(
            line if line.endswith("\n") else f"{line}\n"
            for path in self.list_changed_files()
            for line in unified_diff(
                (self.read_before(path) or "").splitlines(keepends=True),
                (self.read_after(path) or "").splitlines(keepends=True),
                f"a/{path}",
                f"b/{path}",
            )
        )

    def _collect(self) -> None:
        for path, original in self.workspace.changes.originals.items():
            self._before.setdefault(path, self._at_start.get(path, original))


def _decode(content: bytes | None) -> str | None:
    return None if content is None else content.decode("utf-8", "replace")
