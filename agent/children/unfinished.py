"""Children that a kill of their parent cut off: named when it is resumed, their worktrees removed."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

from agent.events import ActionEvent, ChildEvent, MessageEvent, ObservationEvent, SessionStart, Signal
from agent.session.log import read_events
from sandbox.errors import UserError

if TYPE_CHECKING:
    from agent.app_dirs import Home
    from agent.session.log import Session

NAME = "children"
"""Name of the signal."""


def list_unfinished_children(session: Session) -> list[ChildEvent]:
    """Return the beginnings of the children that no event says have ended."""
    running: dict[str, ChildEvent] = {}
    for event in session.replayed.select_events(ChildEvent):
        if event.state == "started":
            running[event.child] = event
        else:
            running.pop(event.child, None)
    return list(running.values())


def recover_children(session: Session, root: Path, home: Home) -> Signal | None:
    """Remove the leftovers of a resumed session's children; return a signal that names those that a kill ended."""
    if next((home.cache / "worktrees").glob("*"), None):  # a kill may come before anything is logged of them
        from agent.children.places import remove_leftover_worktrees

        remove_leftover_worktrees(root, home)
    if not (session.replayed.find_newest_place("child") and (found := list_unfinished_children(session))):
        return None
    parts = [_describe_child(session.folder.parent / each.child, each, root, home) for each in found]
    detail = f"cut off with this session: {'; '.join(parts)}"
    newest = session.replayed.find_newest_place("child")
    told = session.replayed.select_events(Signal, after=f"e{newest}")
    if any(each.name == NAME and each.detail == detail for each in told):
        return None
    return Signal(name=NAME, detail=detail)


def read_cut_off_notice(session: Session) -> str:
    """Return the notice of `recover_children` if the session was just opened with one, else ""."""
    for event in reversed(session.replayed):
        if isinstance(event, Signal) and event.name == NAME:
            return event.detail
        if not isinstance(event, Signal | ObservationEvent):
            break
    return ""


def _describe_child(folder: Path, begun: ChildEvent, root: Path, home: Home) -> str:
    """Describe how far a child came, and remove the data kept for a worktree that is gone."""
    steps, running = 0, {}
    try:
        for event in read_events(folder):
            match event:
                case SessionStart():
                    if event.project != str(root) and not Path(event.project).exists():
                        shutil.rmtree(home.get_project_folder(Path(event.project)), ignore_errors=True)
                case MessageEvent():
                    steps += 1
                case ActionEvent():
                    running[event.call] = event.tool
                case ObservationEvent():
                    running.pop(event.call, None)
    except (OSError, UserError):  # removed, or damaged: what was read counts
        pass
    task = " ".join(begun.prompt.split())[:60]
    told = f"child {folder.name} ({task}), after {steps} step{'' if steps == 1 else 's'}"
    if running:
        told += f", during {', '.join(running.values())}, which may have taken effect"
    return told
