"""State of the runs of a project or of all: running, waiting, ended or died."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from agent.app_dirs import Home
from agent.events import End
from agent.session.log import read_events
from agent.session.session_preview import is_child_session, list_logs, preview_session
from agent.session.session_pruning import is_open
from cli.detached.mailbox import read_question
from cli.detached.run_record import read_record
from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass

State = Literal["running", "waiting", "died", "ended"]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunState:
    """One run, for display.

    detached: it has no terminal; outcome: of its last turn; question: that it waits with
    began: seconds since the epoch
    """

    id: str
    path: Path
    project: str
    state: State
    outcome: str
    detached: bool
    steps: int
    cost: float | None
    title: str
    question: str
    began: float

    @property
    def seconds(self) -> float:
        """Seconds since its process began."""
        return max(time.time() - self.began, 0.0)


def load_run_states(home: Home, root: Path | None, *, ended: bool) -> list[RunState]:
    """Return the runs of a project (None: of all), newest first: those at work, and detached ones that died.

    ended: detached ones that have ended, too
    """
    from agent.session.session_index import load_session_summaries

    found = []
    for each in load_session_summaries(home, root):
        if each.parent:
            continue
        record, runs = read_record(each.path), is_open(each.path)
        if record is None and not runs:
            continue
        question = read_question(each.path) if runs else None
        state = _find_state(each.path, runs=runs, waits=question is not None)
        if state == "ended" and not ended:
            continue
        found.append(
            RunState(
                id=each.id,
                path=each.path,
                project=each.project,
                state=state,
                outcome=each.outcome,
                detached=record is not None,
                steps=each.steps,
                cost=each.cost,
                title=each.title,
                question=question.line if question is not None else "",
                began=record.began if record is not None else each.created,
            )
        )
    return found


def _find_state(session: Path, *, runs: bool, waits: bool) -> State:
    if runs:
        return "waiting" if waits else "running"
    return "died" if preview_session(session).cut_off else "ended"


def find_session(home: Home, name: str) -> Path:
    """Return the folder of the session with this id, or the only one whose id begins or ends so.

    Raises UserError if there is none, or several.
    """
    logs = list_logs(home.data / "projects", "*/sessions/*/log.jsonl")
    folders = [path.parent for path in logs]
    fitting = [each for each in folders if each.name == name] or [
        each for each in folders if name and (each.name.startswith(name) or each.name.endswith(name))
    ]
    fitting = [each for each in fitting if len(fitting) == 1 or not is_child_session(each)]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        names = ", ".join(sorted(each.name for each in fitting)[:5])
        raise UserError(Fault.USAGE, f"{name!r} may be any of {names}", "Give more of the id.")
    raise UserError(Fault.USAGE, f"no session {name!r}", "List them: patchwright ps --ended")


def find_only_run(home: Home, *, ended: bool) -> Path:
    """Return the folder of the only run at work in the project of the working folder.

    ended: the newest background run counts where none is at work. Raises UserError if there is none, or several
    """
    from agent.workspace_root import find_workspace_root

    root = find_workspace_root(Path(), need_git=False)[0]
    found = [each for each in load_run_states(home, root, ended=ended) if each.detached]
    at_work = [each for each in found if each.state in ("running", "waiting")]
    if len(at_work) > 1:
        names = ", ".join(each.id for each in at_work[:5])
        raise UserError(Fault.USAGE, f"{len(at_work)} runs are at work: {names}", "Name one of them.")
    chosen = at_work or (found[:1] if ended else [])
    if not chosen:
        raise UserError(Fault.USAGE, "no run is at work in this project", "List them: patchwright ps --ended")
    return chosen[0].path


def read_last_end(session: Path) -> End | None:
    """Return how the last turn of a session ended, None if none did."""
    ends: Sequence[End] = [event for event in read_events(session) if isinstance(event, End)]
    return ends[-1] if ends else None
