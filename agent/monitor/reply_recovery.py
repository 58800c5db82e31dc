"""Recovery from faulty replies (empty, cut off, or repeated) and from requests that are too long."""

from __future__ import annotations

import asyncio

from agent.events import Event, Prompt, Signal
from agent.model.protocol import ContextOverflow, CutOff, GarbledReply, LoopingReply, Reply, change_call_form
from agent.monitor.answers import GO_ON, GoOn, Retry, StopTurn, TellModel, TurnEnd
from agent.monitor.monitor import Monitor, Turn
from agent.monitor.unfinished_answer import UnfinishedAnswer
from sandbox.errors import UserError

PATIENCE = 3
"""Empty or cut-off replies in a row before the turn ends: a third is no accident."""

_PAUSES = (0.5, 2.0)
"""Seconds after which a reply that broke off is gone on with."""

SAME = 3
"""Equal replies in a row before the model is notified; repeated after as many again."""

STUCK = 12
"""Equal replies in a row after which it is told only now and then: it does not listen, and waiting may be meant."""

REFUSED = "(The reply ends here: the model refused, or the provider's filter stopped it.)"
"""Text behind a refused reply, of which there may be a part or nothing."""

_RARELY = 99


class ReplyRecovery(Monitor):
    """Counts consecutive faulty replies; a sound reply resets the counts."""

    def __init__(self) -> None:
        self._cut = 0
        self._loops = 0
        self._empty = 0
        self._same = 0
        self._last: tuple[object, ...] = ()
        self._compacted = False
        self._went_on = False
        self._answer = UnfinishedAnswer()

    def handle_event(self, event: Event) -> None:
        if isinstance(event, Prompt):
            self._answer.discard()
            self._went_on = False

    def before_step(self, turn: Turn) -> GoOn:
        self._compacted = False
        return GO_ON

    async def after_failure(self, turn: Turn, error: UserError) -> GoOn | TellModel | Retry | StopTurn:
        if isinstance(error, ContextOverflow):
            return await self._shorten_request(turn, error)
        if isinstance(error, LoopingReply):
            return self._handle_loop(turn, error)
        return await self._handle_cut_off(error) if isinstance(error, CutOff) else GO_ON

    def after_reply(self, reply: Reply) -> GoOn | TellModel | StopTurn:
        repeated = self._track_reply(reply)
        if reply.actions:
            self._answer.discard()
            return repeated
        if reply.stop == "refusal":
            return StopTurn(TurnEnd(reason="refusal", text=f"{reply.text}\n\n{REFUSED}".strip()))
        if (message := self._check_answer(reply)) is not None:
            self._answer.add_part(reply.text)
            return message
        if reply.stop == "length" or not reply.text.strip():
            return StopTurn(TurnEnd(reason="empty", text=self._describe_failure(reply)))
        if self._answer.is_begun:
            return StopTurn(TurnEnd(reason="answer", text=self._answer.complete(reply.text)))
        return GO_ON

    def _describe_failure(self, reply: Reply) -> str:
        """Return the text of a turn that ends without a finished answer, with what came of it."""
        came = self._answer.complete(reply.text).strip()
        if not came:
            return "The model gave no answer, asked again and again."
        return f"{came}\n\n(The answer is not finished: the model reached its output limit again and again.)"

    async def _shorten_request(self, turn: Turn, error: ContextOverflow) -> GoOn | Retry:
        """Compact the past of a request that is too long for the model, once a step."""
        if self._compacted:
            return GO_ON
        self._compacted = True
        # The model's limit overrides our estimate: assume that the present request overfills the window.
        compressor = turn.compressor
        before = compressor.projection.tokens
        async for event in compressor.compact_to_limit(compressor.total_tokens * 7 // 10):
            turn.session.append(event)
        if compressor.projection.tokens >= before:
            return GO_ON
        turn.session.append(Signal(name="model", detail=f"{error.message}; compressed the past"))
        return Retry()

    async def _handle_cut_off(self, error: CutOff) -> GoOn | TellModel:
        """Handle a broken connection in the middle of a reply; the turn ends after PATIENCE in a row."""
        self._cut += 1
        if self._cut >= PATIENCE:
            self._cut = 0  # the turn ends; the next one counts from zero
            return GO_ON
        self._answer.add_part(error.text)
        await asyncio.sleep(
            _PAUSES[self._cut - 1]
        )  # a server that is being restarted breaks off again at once
        text = (
            "Your last reply was cut off by the connection; what came of it stands above. Go on from there."
        )
        return TellModel(note=f"{error.message}; what came is kept, going on", text=text)

    def _handle_loop(self, turn: Turn, error: LoopingReply) -> TellModel | StopTurn:
        """Handle a reply that was stopped because it looped; the turn ends after PATIENCE in a row.

        The first is asked for again at another temperature; from the second on, calls also take another form.
        """
        self._loops += 1
        if self._loops >= PATIENCE:
            self._loops = 0
            why = "wrote junk" if isinstance(error, GarbledReply) else "repeated itself without end"
            text = f"{error.text.strip()}\n\n(The model {why}, asked again and again.)"
            return StopTurn(TurnEnd(reason="empty", text=text.strip()))
        above = "; the passage stands above, once" if error.text.strip() else ""
        text = (
            f"Your last reply repeated one passage without end and was stopped{above}."
            " Do not write it again: take the next step with a tool, or end with a short answer."
        )
        if isinstance(error, GarbledReply):
            text = "Your last reply turned into junk and was stopped; what came before stands above. Go on from there."
        form = change_call_form(turn.model) if self._loops > 1 and turn.compressor.projection.tools else ""
        note = f"{error.message}: stopped, asking again{f'; {form}' if form else ''}"
        return TellModel(note=note, text=text)

    def _check_answer(self, reply: Reply) -> TellModel | None:
        """Return the message after a reply without actions that is no answer; None if it is one."""
        if reply.stop == "length":
            return self._count_silent_reply(
                "the reply reached the output limit",
                "Your reply reached its output limit before it was finished. Go on from there, in smaller parts.",
            )
        if reply.stop == "other" and reply.text.strip() and not self._went_on:
            # Paused, cancelled, or an end that nobody knows: once, since a server may end every reply so.
            self._went_on = True
            return TellModel(
                note="the reply stopped before its end; going on",
                text="Your reply stopped before its end. Go on from there; if it is complete, say so in a word.",
            )
        if not reply.text.strip():
            return self._count_silent_reply(
                "the reply was empty",
                "Your reply was empty. Go on with the task, or say in words how it went.",
            )
        return None

    def _track_reply(self, reply: Reply) -> GoOn | TellModel:
        """Count a complete reply; return what to do if the model repeats itself."""
        self._cut = self._loops = 0
        if reply.actions or (reply.text.strip() and reply.stop != "length"):
            self._empty = 0
        now = (reply.text, *((each.tool, repr(each.arguments), each.raw) for each in reply.actions))
        self._same = self._same + 1 if now == self._last else 1
        self._last = now
        if not reply.actions or self._same % (SAME if self._same <= STUCK else _RARELY):
            return GO_ON
        return TellModel(
            note=f"the model repeats itself ({self._same} equal replies)",
            text=f"You have now asked for exactly the same {self._same} times in a row. The result will not change:"
            " do something else, or end the turn and say what is in the way.",
        )

    def _count_silent_reply(self, note: str, text: str) -> TellModel | None:
        self._empty += 1
        if self._empty >= PATIENCE:
            self._empty = 0
            return None
        return TellModel(note=f"{note}; asking again", text=text)
