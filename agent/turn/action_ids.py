"""Distinct ids for the actions of a session."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from agent.model.protocol import AssistantMessage, Message, Reply
from tools.core.action import Action


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
