"""The offline engine as a model: fixes failing tests with the ordinary tools, without network or key.

A pure function of the request: earlier steps are read from the messages, so a killed session continues at the
same step.
"""

from __future__ import annotations

from collections.abc import AsyncIterator

from agent.model.offline.offline_messages import CANNOT, CHANGES_ONLY, HOW_TO_SET_UP, NO_COMMIT
from agent.model.offline.offline_turn import OfflineTurn
from agent.model.offline.repair_changes import RepairChanges
from agent.model.offline.repair_turn import RepairTurn
from agent.model.protocol import Delta, Reply, Request, TextDelta
from sandbox.errors import Fault, UserError

# It reads only the last turn, so no window is too small for it.
WINDOW = 1_000_000
# Prompt with which the user accepts the change that the previous turn proposed.
ACCEPT = "Apply the proposed change."


class OfflineModel:
    """`Model` implementation with the repair engine behind the tools.

    apply_doubtful: write changes of low confidence as well, instead of proposing them
    """

    name = "offline"
    window = WINDOW

    def __init__(self, *, apply_doubtful: bool = False) -> None:
        self._apply_doubtful = apply_doubtful

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        reply = answer_request(request, apply_doubtful=self._apply_doubtful)
        if reply.text:
            yield TextDelta(text=reply.text)
        yield reply

    async def close(self) -> None:
        """Do nothing: no resource is open."""


def answer_request(request: Request, *, apply_doubtful: bool = False) -> Reply:
    """Return the next step of the request's turn. Raises UserError if the task needs a language model."""
    from agent.verify.prompt_intent import asks_for_repair, asks_not_to_commit, asks_to_change_nothing

    turn = OfflineTurn.from_request(request)
    if asks_to_change_nothing(turn.prompt):
        raise UserError(Fault.CONFIGURATION, CHANGES_ONLY, HOW_TO_SET_UP)
    if asks_not_to_commit(turn.prompt) and "git_commit" in turn.tools:
        raise UserError(
            Fault.CONFIGURATION, "the prompt forbids a commit, and this session makes one", NO_COMMIT
        )
    if turn.accepted is None and not asks_for_repair(turn.prompt):
        raise UserError(Fault.CONFIGURATION, CANNOT, HOW_TO_SET_UP)
    return RepairTurn(turn=turn, changes=RepairChanges(turn=turn, apply_doubtful=apply_doubtful)).next_reply()
