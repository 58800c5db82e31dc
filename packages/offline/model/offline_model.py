"""The offline engine as a model: fixes failing tests and answers questions with the ordinary tools.

A pure function of the request: earlier steps are read from the messages, so a killed session continues at the
same step.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from agent.model.protocol import Delta, Reply, Request, TextDelta
from packages.offline.model.intent.chosen_wish import decide_wish
from packages.offline.model.offline_messages import (
    CANNOT,
    HOW_TO_ASK,
    HOW_TO_SET_UP,
    NOT_ANSWERED,
    UNCLEAR,
)
from packages.offline.model.offline_turn import OfflineTurn
from packages.offline.model.repair_changes import RepairChanges
from packages.offline.model.repair_turn import RepairTurn
from sandbox.errors import Fault, UserError

# It reads only the last turn, so no window is too small for it.
WINDOW = 1_000_000


class OfflineModel:
    """`Model` implementation with the repair engine behind the tools.

    apply_doubtful: write changes of low confidence as well, instead of proposing them
    commits: commit a repair without being asked
    """

    name = "offline"
    window = WINDOW

    def __init__(self, *, apply_doubtful: bool = False, commits: bool = True) -> None:
        self._apply_doubtful = apply_doubtful
        self._commits = commits

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        reply = answer_request(request, apply_doubtful=self._apply_doubtful, commits=self._commits)
        if reply.text:
            yield TextDelta(text=reply.text)
        yield reply

    async def close(self) -> None:
        """Do nothing: no resource is open."""


def answer_request(request: Request, *, apply_doubtful: bool = False, commits: bool = True) -> Reply:
    """Return the next step of the request's turn. Raises UserError if the task needs a language model."""
    turn = OfflineTurn.from_request(request, commits=commits)
    wish = "repair" if turn.accepted is not None else decide_wish(turn.prompt, turn.notes)
    if wish == "answer":
        return _answer_question(turn)
    if wish == "unclear":
        raise UserError(Fault.CONFIGURATION, UNCLEAR, HOW_TO_ASK)
    if wish in ("change", "task"):
        raise UserError(Fault.CONFIGURATION, CANNOT, HOW_TO_SET_UP)
    return RepairTurn(turn=turn, changes=RepairChanges(turn=turn, apply_doubtful=apply_doubtful)).next_reply()


def _answer_question(turn: OfflineTurn) -> Reply:
    """Return the next step of an answer. Raises UserError if the question needs a language model."""
    from packages.offline.model.answers.lookup import NoAnswer
    from packages.offline.model.answers.question_turn import answer_question
    from packages.offline.model.intent.question_topics import read_question

    question = read_question(turn.prompt)
    if question is None:
        raise UserError(Fault.CONFIGURATION, NOT_ANSWERED, HOW_TO_ASK)
    reply = answer_question(turn, question)
    if isinstance(reply, NoAnswer):
        message = f"{NOT_ANSWERED} ({reply.reason})" if reply.needs_model else f"no answer: {reply.reason}"
        raise UserError(Fault.CONFIGURATION, message, HOW_TO_ASK if reply.needs_model else "")
    return reply
