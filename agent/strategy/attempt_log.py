"""What the log of a session says about the attempts of its last turn, so that none that ended is made again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from pathlib import Path
from typing import Any

from agent.events import (
    AttemptEvent,
    CandidateEvent,
    ChildEvent,
    ChoiceEvent,
    End,
    MessageEvent,
    ObservationEvent,
    Prompt,
    SessionStart,
    SideCall,
    UsageRecord,
    VerdictEvent,
    Verification,
)
from agent.exit_codes import Exit
from agent.session.branch_history import History
from agent.session.log import read_events
from agent.strategy.candidate import Candidate, build_objection, read_verdict
from agent.strategy.person.directions import Directions
from agent.verify.verdict import Verdict
from sandbox.lazy_dataclass import dataclass


@dataclass(slots=True, kw_only=True)
class AttemptLog:
    """The attempts of one turn.

    prompt: of the turn
    candidates: by number; ended: attempts whose child ended, but whose candidate a kill kept from the log
    unfinished: those whose child had not ended; its worktree is gone, so they begin again
    verdicts: those logged here on each attempt, also before its end
    choices: those made; applied: references of the patches that are in the workspace
    directions: the person's, and which attempts were decided on with them
    """

    prompt: str = ""
    base: str = ""
    candidates: dict[int, Candidate] = field(default_factory=dict)
    ended: dict[int, ChildEvent] = field(default_factory=dict)
    unfinished: list[AttemptEvent] = field(default_factory=list)
    verdicts: dict[int, list[Verdict]] = field(default_factory=dict)
    choices: list[ChoiceEvent] = field(default_factory=list)
    applied: set[str] = field(default_factory=set)
    directions: Directions = field(default_factory=Directions)

    @classmethod
    def from_history(cls, history: History) -> AttemptLog:
        """Read the last turn of a log; right after its prompt there is nothing else in it."""
        found = cls()
        begun: dict[str, AttemptEvent] = {}
        for event in history.read_events_from(f"e{history.find_newest_place('prompt')}"):
            found.directions.track_event(event)
            match event:
                case Prompt():
                    found.prompt = event.text
                case AttemptEvent():
                    found.base = found.base or event.base
                    begun[event.child] = event
                    found.verdicts[event.number] = []
                case ChildEvent(state="ended", exit_code=Exit.INTERRUPTED):
                    continue  # cancelled: it is made again if the turn goes on
                case ChildEvent(state="ended") if event.child in begun:
                    found.ended[begun.pop(event.child).number] = event
                case VerdictEvent() if event.attempt is not None:
                    found.verdicts.setdefault(event.attempt, []).append(read_verdict(event))
                case CandidateEvent():
                    found.ended.pop(event.attempt, None)
                    begun.pop(event.child, None)  # it was cancelled, since others were enough
                    found.candidates[event.attempt] = Candidate.from_event(
                        event, found.verdicts.get(event.attempt, [])
                    )
                case ChoiceEvent():
                    found.choices.append(event)
                case ObservationEvent(tool="bring_back", failed=False):
                    found.applied.add(str(event.data.get("patch")))
        found.unfinished = list(begun.values())
        return found

    def sum_usage(self, sessions: Path) -> UsageRecord:
        """Return what the attempts before the kill used, so that a limit holds for both parts of the turn.

        sessions: folder with the logs of the attempts
        """
        total = UsageRecord()
        for candidate in self.candidates.values():
            total.add(candidate.usage)
        for ended in self.ended.values():
            total.add(ended.usage)
        # One that was stopped on a node is logged without its usage: only its own log has it.
        silent = [each.child for each in self.candidates.values() if each.usage == UsageRecord()]
        for child in filter(None, [*silent, *(each.child for each in self.unfinished)]):
            try:
                for event in read_events(sessions / child):
                    if isinstance(event, MessageEvent | SideCall):
                        total.add(event.usage)
            except OSError:  # its log was deleted since
                continue
        return total

    def list_lost_folders(self, sessions: Path) -> list[Path]:
        """Return the worktrees of the unfinished attempts, which are gone or will be."""
        found = []
        for attempt in self.unfinished:
            try:
                start = next(read_events(sessions / attempt.child), None)
            except OSError:  # its log was deleted since
                continue
            if isinstance(start, SessionStart):
                found.append(Path(start.project))
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class LastEnd:
    """The last end of a session.

    verdicts: before it, with a failing one of the guard where tests that pass prove nothing
    report: of the suite at that end, {} where it was not run
    """

    verification: str = ""
    files: Sequence[str] = ()
    verdicts: Sequence[Verdict] = ()
    report: Mapping[str, Any] = field(default_factory=dict)


_UNCHECKED = Verification(outcome="not-needed", detail="")


def read_last_end(session: Path) -> LastEnd:
    """Return how a session ended, from its log."""
    end, check = End(outcome=""), _UNCHECKED
    verdicts: list[Verdict] = []
    for event in read_events(session):
        match event:
            case Prompt():
                verdicts, check = [], _UNCHECKED
            case Verification():  # the first check of each round
                verdicts, check = [], event
            case VerdictEvent(attempt=None):
                verdicts.append(read_verdict(event))
            case End():
                end = event
    if (
        check.outcome == "failed" and check.report.get("outcome") == "passed"
    ):  # as `TurnFacts.has_evaded_tests`
        verdicts.append(build_objection(check.detail))
    return LastEnd(verification=end.verification, files=end.files, verdicts=verdicts, report=check.report)


def find_base_report(history: History) -> Mapping[str, Any] | None:
    """Return the report of the suite without any change, from the last turn of a log; None if it was not run."""
    for event in history.read_events_from(f"e{history.find_newest_place('prompt')}"):
        if isinstance(event, ObservationEvent) and event.tool == "bring_back":
            return None
        if isinstance(event, ObservationEvent) and isinstance(event.data.get("report"), dict):
            found: Mapping[str, Any] = event.data["report"]
            return found if not found.get("targets") else None
    return None
