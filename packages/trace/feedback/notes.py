"""Notes of people on steps: written into a session's log, read from the logs of a project."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from packages.trace.rows.session_trace import SessionTrace
from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass

if TYPE_CHECKING:
    from agent.session.log import Session
    from agent.session.session_index import SessionSummary
    from packages.trace.rows.trace_rows import Row

USAGE = "Like this: 12 bad edited a test to make it pass. Without a number it is the last step."

LONGEST = 2_000
"""Characters of a note."""

_MARK = b'"feedback"'


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """A note on a step. step: its number; deed: what it did, as its first tool; week: ISO year and week"""

    session: str
    step: int
    week: str
    deed: str
    is_good: bool
    text: str


def give_feedback(session: Session, words: str) -> str:
    """Log a note on a step of an open session; return a line that confirms it. Raises UserError.

    words: "[STEP] good|bad TEXT"
    """
    from agent.events import Feedback

    first, _, rest = words.strip().partition(" ")
    number, (verdict, _, text) = (
        (int(first), rest.strip().partition(" ")) if _is_number(first) else (0, words.strip().partition(" "))
    )
    text = " ".join(text.split())[:LONGEST]
    if verdict not in ("good", "bad") or not text:
        raise UserError(Fault.USAGE, "a note is a step's number, good or bad, and what was so", USAGE)
    steps = _list_steps(session.folder)
    if not steps or number > len(steps) or (number == 0 and _is_number(first)):
        raise UserError(Fault.USAGE, f"the session has {len(steps)} steps, and no step {number}", USAGE)
    number = number or len(steps)
    session.append(Feedback(event=steps[number - 1], good=verdict == "good", text=text))
    return f"noted at step {number}: {verdict}"


def note_in_session(folder: Path, session: str, words: Sequence[str]) -> int:
    """Log a note on a step of a session that no process has open, and print a line. Raises UserError."""
    from agent.session.log import Session
    from packages.trace.session_folder import find_session_folder
    from sandbox.sanitize import sanitize_text

    opened = Session.open(find_session_folder(folder, session))
    try:
        print(sanitize_text(give_feedback(opened, " ".join(words))))
    finally:
        opened.close()
    return 0


def read_notes(summaries: Sequence[SessionSummary]) -> list[Note]:
    """Return the notes in the logs of these sessions, the oldest first."""
    found: list[tuple[float, Note]] = []
    for each in summaries:
        try:
            with (each.path / "log.jsonl").open("rb") as lines:
                is_noted = any(_MARK in line for line in lines)
            if is_noted:
                trace = SessionTrace(each.path)
                trace.read_new_lines()
                found += _read_rows(trace)
        except (OSError, UserError):  # removed meanwhile, or of a newer version
            continue
    return [note for _, note in sorted(found, key=lambda each: each[0])]


def _read_rows(trace: SessionTrace) -> Iterator[tuple[float, Note]]:
    for row in trace.rows:
        if row.kind == "feedback" and (step := trace.find_step(row.detail.get("step", 0))) is not None:
            yield (
                row.time,
                Note(
                    session=trace.id,
                    step=step.number,
                    week=time.strftime("%G-W%V", time.gmtime(row.time)),
                    deed=describe_deed(step),
                    is_good=bool(row.detail.get("good")),
                    text=str(row.detail.get("text", "")),
                ),
            )


def describe_deed(step: Row) -> str:
    """Return what a step did in one word: its first tool, the program of a command, "answer" without a call."""
    calls = step.detail.get("calls", ())
    if not calls:
        return "answer"
    words = str(calls[0]["about"]).split() if calls[0].get("effect") == "execute" else ()
    return f"{calls[0]['tool']} {words[0]}" if words else str(calls[0]["tool"])


def _list_steps(folder: Path) -> list[str]:
    """Return the ids of the replies of a log, as the trace numbers them."""
    from agent.events import MessageEvent
    from agent.session.log import read_events

    return [each.id for each in read_events(folder, only=(b'"message"',)) if isinstance(each, MessageEvent)]


def _is_number(word: str) -> bool:
    return word.isascii() and word.isdigit() and len(word) < 9
