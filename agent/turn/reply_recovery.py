"""Recovery from faulty replies: empty, cut off, or repeated."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from agent.model.protocol import AssistantMessage, CutOff, Message, Reply
from tools.core.action import Action

PATIENCE = 3
"""Empty or cut-off replies in a row before the turn ends: a third is no accident."""

SAME = 3
"""Equal replies in a row before the model is notified; repeated whenever the count has tripled."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Nudge:
    """A message that continues the turn. note: for the user; text: for the model"""

    note: str
    text: str


class ReplyRecovery:
    """Counts consecutive faulty replies; a sound reply resets the counts."""

    def __init__(self) -> None:
        self._cut = 0
        self._empty = 0
        self._same = 0
        self._last: tuple[object, ...] = ()
        self._told_at = SAME

    def handle_cut_off(self, error: CutOff) -> Nudge:
        """Handle a broken connection in the middle of a reply. Raises `error` after PATIENCE in a row."""
        self._cut += 1
        if self._cut >= PATIENCE:
            self._cut = 0  # the turn ends; the next one counts from zero
            raise error
        text = (
            "Your last reply was cut off by the connection; what came of it stands above. Go on from there."
        )
        return Nudge(note=f"{error.message}; what came is kept, going on", text=text)

    def check_answer(self, reply: Reply) -> Nudge | None:
        """Return the nudge for a reply without actions that is no answer; None if it is one."""
        if reply.actions or reply.stop == "refusal":
            return None
        if reply.stop == "length":
            return self._count_silent_reply(
                "the reply reached the output limit",
                "Your reply reached its output limit before it was finished. Go on from there, in smaller parts.",
            )
        if not reply.text.strip():
            return self._count_silent_reply(
                "the reply was empty",
                "Your reply was empty. Go on with the task, or say in words how it went.",
            )
        return None

    def track_reply(self, reply: Reply) -> Nudge | None:
        """Count a complete reply; return a nudge if the model repeats itself."""
        self._cut = 0
        if reply.actions or (reply.text.strip() and reply.stop != "length"):
            self._empty = 0
        now = (reply.text, *((each.tool, repr(each.arguments), each.raw) for each in reply.actions))
        self._same = self._same + 1 if now == self._last else 1
        if self._same == 1:
            self._told_at = SAME
        self._last = now
        if not reply.actions or self._same < self._told_at:
            return None
        self._told_at *= 3
        return Nudge(
            note=f"the model repeats itself ({self._same} equal replies)",
            text=f"You have now asked for exactly the same {self._same} times in a row. The result will not change:"
            " do something else, or end the turn and say what is in the way.",
        )

    def _count_silent_reply(self, note: str, text: str) -> Nudge | None:
        self._empty += 1
        if self._empty >= PATIENCE:
            self._empty = 0
            return None
        return Nudge(note=f"{note}; asking again", text=text)


class ActionIds:
    """Gives the actions of a session distinct ids; some servers number them from the start in each reply."""

    def __init__(self) -> None:
        self._used: set[str] | None = None

    def ensure_unique_ids(self, reply: Reply, earlier: Iterable[Message]) -> Reply:
        """Return the reply with ids new to the session. earlier: the messages so far, read only once"""
        if self._used is None:
            said = (message for message in earlier if isinstance(message, AssistantMessage))
            self._used = {action.id for message in said for action in message.actions}
        if not reply.actions:
            return reply
        actions = tuple(self._ensure_unique_id(action) for action in reply.actions)
        changed = any(new is not old for new, old in zip(actions, reply.actions, strict=True))
        return replace(reply, actions=actions) if changed else reply

    def _ensure_unique_id(self, action: Action) -> Action:
        assert self._used is not None
        fresh, number = action.id or "call", 1
        while not action.id or fresh in self._used:
            number += 1
            fresh = f"{action.id or 'call'}-{number}"
            if fresh not in self._used:
                break
        self._used.add(fresh)
        return action if fresh == action.id else replace(action, id=fresh)
