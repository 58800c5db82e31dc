"""Answers of monitors: go on, tell the model or the person, refuse or ask about an action, stop the turn, retry."""

from __future__ import annotations

from sandbox.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnEnd:
    """End of the loop. reason: "answer", "ended" (a tool ended it), "limit", "interrupted", "refusal" or "empty"

    is_checked: the work checked each of its changes by itself, and took back those that fail: the rest is committed
        though some are missing, and its text, which code wrote, may be the message
    """

    reason: str
    text: str = ""
    detail: str = ""
    is_checked: bool = False

    @property
    def gave_up(self) -> bool:
        """Whether there is no answer."""
        return self.reason in ("refusal", "empty")


@dataclass(frozen=True, slots=True)
class GoOn:
    """Nothing to object: a step is taken, an action runs, an error is raised, a reply counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TellModel:
    """A text for the model. note: one line for the person who watches, logged as a signal; "" for none

    Before an action it goes with the action's observation; before a request it is part of it; after a reply or
    a failed request the model is asked again with it.
    """

    text: str
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class TellPerson:
    """A notice to the person, logged as a signal. name: that of the signal"""

    text: str
    name: str = "monitor"


@dataclass(frozen=True, slots=True)
class Refuse:
    """The action does not run; the model is told the reason."""

    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """The action waits for a person's answer. Where nobody can be asked it is refused, and the hint is added."""

    question: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class StopTurn:
    """The turn is over. Before an action: the action is refused, and the turn ends after its batch."""

    end: TurnEnd


@dataclass(frozen=True, slots=True)
class Retry:
    """The cause of a failure was removed: send the request of this step again."""


GO_ON = GoOn()

ActionAnswer = GoOn | TellModel | TellPerson | Refuse | Ask | StopTurn
RequestAnswer = TellModel | TellPerson | StopTurn
StepAnswer = GoOn | TellPerson | StopTurn
FailureAnswer = GoOn | TellModel | TellPerson | Retry | StopTurn
ReplyAnswer = GoOn | TellModel | TellPerson | StopTurn
