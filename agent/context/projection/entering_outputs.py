"""Outputs as they enter a request. What reduces them is imported with the first one: a first request has none."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from agent.model.protocol import Message
from agent.session_settings import Outputs
from tools.core.action import Action

if TYPE_CHECKING:
    from agent.context.projection.output_dedup import OutputDeduplicator


class EnteringOutputs:
    """Stands for an `OutputDeduplicator` until there is an output, and hands it the messages before."""

    def __init__(self, how: Outputs) -> None:
        self.how = how
        self.clear()

    def clear(self) -> None:
        """Forget the messages: they follow again."""
        self._before: list[Message] = []
        self._reducer: OutputDeduplicator | None = None

    def add_message(self, message: Message) -> None:
        """See `OutputDeduplicator.add_message`."""
        if self.how == "whole":
            return
        if self._reducer is None:
            self._before.append(message)
        else:
            self._reducer.add_message(message)

    def reduce_output(
        self, text: str, action: Action, data: Mapping[str, Any] | None, ref: str, *, failed: bool = False
    ) -> str:
        """See `OutputDeduplicator.reduce_output`."""
        if self.how == "whole":
            return text
        if self._reducer is None:
            from agent.context.projection.output_dedup import OutputDeduplicator

            self._reducer = OutputDeduplicator(self.how)
            for message in self._before:
                self._reducer.add_message(message)
            self._before.clear()
        self._reducer.how = self.how
        return self._reducer.reduce_output(text, action, data, ref, failed=failed)
