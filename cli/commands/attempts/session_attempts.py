"""The session whose attempts a command is about, and their tree."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from agent.app_dirs import Home
from agent.workspace_root import find_workspace_root
from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from agent.strategy.person.attempt_tree import AttemptTree


class NoAttempts(UserError):
    """No session has made attempts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionAttempts:
    """The attempts of one session. root: of its workspace; folder: of the session; is_open: a process has it open"""

    root: Path
    folder: Path
    tree: AttemptTree
    is_open: bool

    def read_patch(self, number: int) -> bytes:
        """Return the change of an attempt, b"" if it has none or its file is gone. Raises UserError"""
        from tools.core.artifacts import Artifacts

        candidate = self.tree.get_node(number).candidate
        ref = candidate.patch if candidate is not None else ""
        return Artifacts(self.folder / "artifacts").read(ref) or b""


def load_session_attempts(folder: Path, session: str) -> SessionAttempts:
    """Return the attempts of a session of this project, "" for the newest that has made some.

    session: its id, or the beginning or end of it. Raises UserError if there is no such session; NoAttempts
    """
    from agent.session.log import read_events
    from agent.session.session_preview import is_child_session
    from agent.session.session_pruning import is_open
    from agent.strategy.person.attempt_tree import AttemptTree

    root, _ = find_workspace_root(folder, need_git=False)
    sessions = Home.from_environment().get_project_folder(root) / "sessions"
    for place in [_find_named(sessions, session)] if session else _list_newest_first(sessions):
        if not session and is_child_session(place):
            continue
        runs = is_open(place)  # asked first: one that ends meanwhile is read to its end
        try:
            tree = AttemptTree.from_events(read_events(place))
        except FileNotFoundError:  # it was removed meanwhile
            continue
        if tree:
            return SessionAttempts(root=root, folder=place, tree=tree, is_open=runs)
    named = f"session {session!r}" if session else "no session of this project"
    raise NoAttempts(
        Fault.USAGE,
        f"{named} has made {'no ' if session else ''}attempts",
        "Make some: patchwright run PROMPT --attempts 3",
    )


def _list_newest_first(sessions: Path) -> list[Path]:
    from agent.session.session_preview import list_logs

    logs = [(path.stat().st_mtime_ns, path.parent) for path in list_logs(sessions)]
    return [place for _, place in sorted(logs, reverse=True)]


def _find_named(sessions: Path, name: str) -> Path:
    from agent.session.session_preview import list_logs

    places = [path.parent for path in list_logs(sessions)]
    fitting = [each for each in places if each.name == name] or [
        each for each in places if each.name.startswith(name) or each.name.endswith(name)
    ]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        names = ", ".join(sorted(each.name for each in fitting)[:5])
        raise UserError(Fault.USAGE, f"{name!r} may be any of {names}", "Give more of the id.")
    raise UserError(Fault.USAGE, f"no session {name!r} in this project", "List them: patchwright sessions")
