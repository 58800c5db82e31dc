"""The board of a session in its log, so that a kill loses no finding."""

from __future__ import annotations

from collections.abc import Iterator

from agent.events import FindingEvent
from agent.session.log import Session
from agent.team.board.findings_board import FindingsBoard, SharedFinding


def open_logged_board(session: Session, name: str = "", after: str = "") -> FindingsBoard:
    """Return a board with the findings of a session's log, which keeps new ones there.

    name: of the strategy whose roles share it, "" for agents; after: id of the event after which its findings come
    """
    return FindingsBoard(
        _read_findings(session, name, after),
        lambda finding: session.append(
            FindingEvent(
                board=name,
                author=finding.author,
                note=finding.note,
                place=finding.place,
                proof=finding.proof,
            )
        ),
    )


def _read_findings(session: Session, name: str, after: str) -> Iterator[SharedFinding]:
    for event in session.replayed.select_events(FindingEvent, after=after):
        if event.board == name:
            yield SharedFinding(author=event.author, note=event.note, place=event.place, proof=event.proof)
