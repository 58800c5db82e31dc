"""`patchwright sessions import AGENT`: sessions of another agent as sessions of this project."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from agent.app_dirs import Home
from agent.events import (
    AskedAction,
    End,
    MessageEvent,
    ObservationEvent,
    Prompt,
    SessionStart,
    Signal,
)
from agent.session.log import Session
from packages.setup.sessions.foreign_turns import (
    MOST_BYTES,
    Answered,
    ForeignSession,
    Replied,
    Said,
    Step,
)
from patchwright.version import VERSION
from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass
from tools.core.text import clip, format_count

AGENTS = {
    "claude": "Claude Code",
    "codex": "Codex",
    "gemini": "Gemini CLI",
    "opencode": "opencode",
    "atif": "ATIF",
}

MOST_SHOWN = 50_000
"""Characters of a result that are taken over."""

SIGNAL = "imported"
"""Name of the notice in a session's log that says where it came from."""

NO_RESULT = "(no result in the log that was imported)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """One session of ours. left: what was not taken over, in words"""

    id: str
    prompts: int
    actions: int
    left: str


def import_sessions(home: Home, root: Path, agent: str, source: str = "") -> Iterator[Imported]:
    """Write the sessions of an agent as ours, and yield each; those that were imported before are left out.

    source: a log; "" for those that the agent stored of work in this folder
    Raises UserError for an unknown agent, and where there is nothing to read.
    """
    if agent not in AGENTS:
        raise UserError(
            Fault.USAGE, f"no sessions of {agent!r} can be imported", f"Known: {', '.join(AGENTS)}."
        )
    sessions = home.get_project_folder(root) / "sessions"
    known = _list_imported(sessions)
    for each in _read_sessions(agent, root, source):
        name = f"{agent}:{each.key}"
        if name not in known and any(isinstance(step, Said) for step in each.steps):
            known.add(name)
            yield _write_session(sessions, root, agent, each)


def _read_sessions(agent: str, root: Path, source: str) -> Iterator[ForeignSession]:
    reader = importlib.import_module(f"packages.setup.sessions.{agent}_sessions")
    paths: Sequence[Path] = [Path(source).expanduser()] if source else reader.find_logs()
    for path in paths:
        if not path.is_file() or path.stat().st_size > MOST_BYTES:
            raise UserError(
                Fault.USAGE, f"cannot read {str(path)!r}: it is no file, or too large", "Name one log."
            )
        for each in reader.read_sessions(path):
            if source or (each.folder and _is_same_folder(each.folder, root)):
                yield each


def _is_same_folder(folder: str, root: Path) -> bool:
    found = Path(folder).resolve()
    return found == root.resolve() or root.resolve() in found.parents


def _list_imported(sessions: Path) -> set[str]:
    """Return the names of sessions that were imported, from the beginnings of our logs."""
    found = set()
    for log in sessions.glob("*/log.jsonl"):
        with log.open("rb") as file:
            head = file.read(4_096).decode("utf-8", "replace")
        found |= set(re.findall(rf'"name":"{SIGNAL}","detail":"([^"]+)"', head))
    return found


def _write_session(sessions: Path, root: Path, agent: str, foreign: ForeignSession) -> Imported:
    session = Session.create(sessions)
    try:
        start = SessionStart(
            session=session.id, project=str(root), model="", mode="workspace", version=VERSION
        )
        session.append(start)
        session.append(Signal(name=SIGNAL, detail=f"{agent}:{foreign.key}"))
        prompts, actions = _write_steps(session, agent, foreign)
        first = next(each.text for each in foreign.steps if isinstance(each, Said))
        date = foreign.started[:10] if "-" in foreign.started else ""
        title = " ".join(filter(None, (f"({AGENTS[agent]}", f"{date})" if date else ")")))
        session.rename(clip(f"{title.replace(' )', ')')} {first.splitlines()[0]}", 100))
    finally:
        session.close()
    kinds = [f"{format_count(number, kind)}" for kind, number in sorted(foreign.left.items()) if number]
    return Imported(id=session.id, prompts=prompts, actions=actions, left=", ".join(kinds))


def _write_steps(session: Session, agent: str, foreign: ForeignSession) -> tuple[int, int]:
    """Append the steps so that each action has its result, and each turn its end. Return the prompts and actions."""
    results = {each.call: each for each in foreign.steps if isinstance(each, Answered)}
    prompts = actions = 0
    for step in _merge_replies(foreign.steps):
        if isinstance(step, Said):
            if prompts:
                _end_turn(session, agent)
            session.append(Prompt(text=step.text))
            prompts += 1
        elif isinstance(step, Replied) and prompts:
            asked = [
                AskedAction(
                    id=f"i{actions + number}", tool=_spell_tool(each.tool), arguments=dict(each.arguments)
                )
                for number, each in enumerate(step.actions, 1)
            ]
            session.append(MessageEvent(text=step.text, actions=asked, model=step.model))
            for ours, theirs in zip(asked, step.actions, strict=True):
                _write_result(session, ours, results.get(theirs.call), foreign)
            actions += len(asked)
    _end_turn(session, agent, foreign.exit_code)
    return prompts, actions


def _merge_replies(steps: Sequence[Step]) -> Iterator[Step]:
    for step in steps:
        if isinstance(step, Said) or (isinstance(step, Replied) and (step.text or step.actions)):
            yield step


def _write_result(
    session: Session, asked: AskedAction, result: Answered | None, foreign: ForeignSession
) -> None:
    text = result.text if result is not None else NO_RESULT
    if len(text) > MOST_SHOWN:
        foreign.left["end of a long result"] += 1
    session.append(
        ObservationEvent(
            call=asked.id,
            tool=asked.tool,
            text=clip(text, MOST_SHOWN),
            failed=result is None or result.failed,
        )
    )


def _end_turn(session: Session, agent: str, exit_code: int = 0) -> None:
    session.append(End(outcome="imported", exit_code=exit_code, summary=f"a turn of {AGENTS[agent]}"))


def _spell_tool(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9_-]", "_", name)[:64] or "tool"
