"""A model that is asked once and answers with edits as text: no tools are offered, and the harness applies them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

from agent.children.child import Child
from agent.model.protocol import Delta, Model, Reply, Request, ToolMessage, UserMessage
from packages.search.fixed_reply import FixedReply
from packages.search.pipeline.several_patches import split_patches
from tools.core.action import Action

MOST_REPLIES = 2
"""A patch, and a second one where the first does not apply."""

TOOLS = frozenset({"run_tests"})
"""Tools of a session with such a model, for the harness alone; the one that applies edits is added."""


class TextEdits:
    """Turns the edits in a reply into one action; of several patches, the first. After it, nothing more is asked.

    most: replies that are asked for, the last ones where the edits before do not apply. Implements `Model`.
    """

    def __init__(self, inner: Model, most: int = MOST_REPLIES) -> None:
        self._inner = inner
        self._most = most
        self._replies = 0
        self._said = ""
        self.name = inner.name
        self.window = inner.window

    def __getattr__(self, name: str) -> Any:
        """Return what else the model offers, such as its price."""
        return getattr(self._inner, name)

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """See `Model.stream`."""
        if self._replies and not self._is_refused(request):
            yield Reply(text=self._said)
            return
        self._replies += 1
        async for delta in self._inner.stream(replace(request, tools=())):
            yield self._convert_reply(delta) if isinstance(delta, Reply) else delta

    async def close(self) -> None:
        """See `Model.close`."""
        await self._inner.close()

    def _is_refused(self, request: Request) -> bool:
        """Whether the last edits did not apply, and another reply may be asked for."""
        last = next((each for each in reversed(request.messages) if not isinstance(each, UserMessage)), None)
        return isinstance(last, ToolMessage) and last.failed and self._replies < self._most

    def _convert_reply(self, reply: Reply) -> Reply:
        from tools.edit.edit_model import MalformedEdit
        from tools.edit.formats import parse_edits

        self._said, patch = reply.text, split_patches(reply.text)[0]
        try:
            parse_edits(patch)
        except MalformedEdit:
            return replace(reply, actions=(), stop="end")
        action = Action(id=f"edits-{self._replies}", tool="apply_patch", arguments={"patch": patch})
        return replace(reply, actions=(action,), stop="actions")


def let_answer_in_text(child: Child, most: int = MOST_REPLIES) -> None:
    """Let a child's model answer with edits as text. most: replies that are asked for"""
    from tools.edit.edit_tools import apply_patch

    loop = child.runtime.loop
    child.runtime.toolbox.add(accepted=[apply_patch])
    loop.model = TextEdits(loop.model, most)


def let_apply_text(child: Child, text: str) -> None:
    """Let a child apply the edits of a text, and ask no model."""
    loop = child.runtime.loop
    loop.model = FixedReply(loop.model, text)
    let_answer_in_text(child, 1)
