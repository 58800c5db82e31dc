"""What a session's turns changed and cost, followed from its log: the ground of /undo, /diff and /cost."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from agent.bill import Bill
from agent.events import End, Event, ObservationEvent, Prompt, Signal, SnapshotEvent

UNDONE = "undo"
"""Name of the signal that says in the log that the last changing turn was taken back."""


@dataclass(slots=True, kw_only=True)
class Turn:
    """One turn: snapshots before its first write and after its end ("" if not taken), and its commits."""

    prompt: str
    before: str = ""
    after: str = ""
    commits: list[str] = field(default_factory=list)


@dataclass(slots=True)
class Ledger:
    """Kept up to date by `see`; a resumed session's past is seen like its present."""

    turns: list[Turn] = field(default_factory=list)
    bill: Bill = field(default_factory=Bill)
    ended: bool = True

    def see(self, event: Event) -> None:
        """Take in the next event of the log."""
        self.bill.see(event)
        match event:
            case Prompt():
                self.turns.append(Turn(prompt=event.text))
                self.ended = False
            case End():
                self.ended = True
            case SnapshotEvent() if self.turns:
                turn = self.turns[-1]
                if event.when == "after":
                    turn.after = event.tree
                elif not turn.before:
                    turn.before = event.tree
            case ObservationEvent() if self.turns and event.data.get("commit"):
                self.turns[-1].commits.append(str(event.data["commit"]))
            case Signal() if event.name == UNDONE:
                self._drop(self.undoable())

    def undoable(self) -> Turn | None:
        """The last turn that changed something."""
        return next(
            (turn for turn in reversed(self.turns) if turn.before and turn.before != turn.after), None
        )

    def changing(self) -> Iterable[Turn]:
        """Turns that wrote, oldest first."""
        return [turn for turn in self.turns if turn.before and turn.before != turn.after]

    def _drop(self, undone: Turn | None) -> None:
        """Forget an undone turn, and those after it, which changed nothing."""
        if undone is not None:
            self.turns = self.turns[: self.turns.index(undone)]
