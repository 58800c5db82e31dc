"""The form in which a model writes its calls: the one that it gets right is kept, and remembered."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Literal

from agent.model.protocol import Reply

CallFormat = Literal["tools", "json", "text"]
"""tools: the endpoint's own; json: one JSON object under a schema that the server enforces; text: tags in the text."""

BAD = 2
"""Replies in a row with calls that cannot be read, before another form is tried: one is an accident."""

PROVEN = 2
"""Calls in a row that were read, before the form of a model is remembered."""


class FormatChoice:
    """The form of one model's calls.

    current: the present one
    on_kept: called with a form that the model got right after it got another one wrong
    """

    def __init__(
        self, current: CallFormat, on_kept: Callable[[CallFormat], None] = lambda form: None
    ) -> None:
        self.current = current
        self.takes_schema = False
        self._on_kept = on_kept
        self._failed: set[CallFormat] = set()
        self._bad = 0
        self._good = 0
        self._told = False

    def give_up_tools(self) -> None:
        """Leave the endpoint's own form, which it refused: for an enforced one where there is one."""
        self._failed.add("tools")
        self.current = "text"

    def judge(self, reply: Reply, offered: Collection[str]) -> CallFormat | None:
        """Take note of a reply; return the form to change to, None to go on as before."""
        if not reply.actions:
            return None
        if any(each.problem or not _is_name(each.tool, offered) for each in reply.actions):
            self._bad, self._good = self._bad + 1, 0
            return self._change() if self._bad >= BAD else None
        self._bad, self._good = 0, self._good + 1
        if self._failed and self._good >= PROVEN and not self._told:
            self._told = True
            self._on_kept(self.current)
        return None

    def try_another(self) -> CallFormat | None:
        """Leave the present form, in which the model gets nowhere; return the new one, None if all were tried."""
        return self._change()

    def _change(self) -> CallFormat | None:
        self._bad = self._good = 0
        self._failed.add(self.current)
        order: tuple[CallFormat, ...] = ("json", "text", "tools") if self.takes_schema else ("text", "tools")
        fresh = next((each for each in order if each not in self._failed), None)
        if fresh is None:
            return None  # it gets none right: the present one is as good as the others
        self.current, self._told = fresh, False
        return fresh


def _is_name(name: str, offered: Collection[str]) -> bool:
    """Whether a name may be a tool's: those of other agents are understood by the gateway."""
    return name in offered or name.replace("_", "").replace(".", "").replace("-", "").isalnum()
