"""A reply as it comes in: its text so far, and whether it has begun to repeat itself or turned into junk."""

from __future__ import annotations

import time

from agent.context.projection.message_slots import count_bytes
from agent.model.protocol import Delta, ReasoningDelta, Reply, TextDelta
from agent.model.text_pieces import TextPieces
from agent.turn.reply.junk_detector import JunkDetector
from agent.turn.reply.repetition_detector import RepetitionDetector


class ReceivedReply:
    """Parts of a reply so far.

    asked: text of the user, parts of which may be repeated on purpose
    loops: whether the reply has begun to repeat one passage; then `text` ends with its first occurrence
    is_junk: whether it has turned into junk; then `text` ends before that
    began: time of the first part that came before the whole, by `time.monotonic`, None if none has
    """

    def __init__(self, asked: str) -> None:
        self.text = TextPieces()
        self.reply: Reply | None = None
        self.loops = False
        self.is_junk = False
        self.began: float | None = None
        self._thought = 0
        self._junk = JunkDetector(asked)
        self._in_text = RepetitionDetector(asked)
        self._in_reasoning = RepetitionDetector(asked)

    def add_delta(self, delta: Delta) -> None:
        if self.began is None and not isinstance(delta, Reply):
            self.began = time.monotonic()
        if isinstance(delta, TextDelta):
            self.text.append(delta.text)
            if (kept := self._in_text.feed(delta.text)) is not None:
                self.loops = True
                self.text[:] = ["".join(self.text)[:kept]]
            elif (kept := self._junk.feed(delta.text)) is not None:
                self.is_junk = True
                self.text[:] = ["".join(self.text)[:kept]]
        elif isinstance(delta, Reply):
            self.reply = delta
        else:
            assert isinstance(delta, ReasoningDelta)
            self._thought += count_bytes(delta.text)
            self.loops = self._in_reasoning.feed(delta.text) is not None

    @property
    def bytes(self) -> int:
        return count_bytes("".join(self.text)) + self._thought
