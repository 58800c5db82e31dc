"""A model that acts by writing code: its fenced blocks become actions, and what came of them is told as text.

CodeAct (Wang et al. 2024, arXiv 2402.01030): code as the one kind of action. Tree-of-Code (Ni et al. 2024,
arXiv 2412.15305): a whole program first, and another branch where its run fails. Around any model, also one that
knows no tool calls; the log and the projection are those of every session.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import count
from pathlib import Path

from agent.model.protocol import (
    AssistantMessage,
    Delta,
    Message,
    Model,
    Reply,
    Request,
    ToolMessage,
    Usage,
    UserMessage,
    compute_price,
)
from tools.core.action import Action
from tools.core.registry import Tool
from tools.core.untrusted_output import enclose_in_tag
from tools.kernel.tool_bindings import describe_functions, format_signature

_MARK = "block-"
"""How the ids of actions begin that were written as fenced blocks."""

LANGUAGES = {
    "python": "python",
    "py": "python",
    "python3": "python",
    "bash": "shell",
    "sh": "shell",
    "shell": "shell",
}
"""Words behind a fence, and the tool that runs what is in it. Any other fence is text."""

_ARGUMENT = {"python": "code", "shell": "command"}

_FENCE = re.compile(r"(?P<fence>`{3,}|~{3,})(?P<word>[^`]*)")
"""A line that begins or ends a block."""


class CodeActions:
    """Another model, told to act by code. tools: what is offered to it as functions in the kernel"""

    def __init__(self, model: Model, tools: Iterable[Tool]) -> None:
        self.inner = model
        self.name = model.name
        self.window = model.window
        self._tools = list(tools)
        self._numbers = count(1)
        self._told: list[
            tuple[Message, Message]
        ] = []  # messages of the session, and as the model is sent them

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """See `Model.stream`."""
        system = f"{request.system}\n\n{self._guide}"
        sent = replace(request, system=system, messages=self._translate_messages(request.messages), tools=())
        async for delta in self.inner.stream(sent):
            yield self._add_block_actions(delta) if isinstance(delta, Reply) else delta

    async def close(self) -> None:
        """See `Model.close`."""
        await self.inner.close()

    def price(self, usage: Usage) -> float | None:
        """US dollars of a call with this usage, None if not known."""
        return compute_price(self.inner, usage)

    @cached_property
    def _guide(self) -> str:
        text = (Path(__file__).parents[1] / "prompts" / "code.md").read_text("utf-8")
        text = re.sub(r"<!--.*?-->\n?", "", text, flags=re.DOTALL).strip()
        lines = [
            f"{format_signature(each['name'], each['parameters'])}  # {each['doc'].partition('. ')[0].splitlines()[0]}"
            for each in describe_functions(self._tools)
        ]
        return text.replace("{functions}", "\n".join(lines))

    def _add_block_actions(self, reply: Reply) -> Reply:
        blocks = list(extract_code_blocks(reply.text))
        if not blocks or reply.stop in ("length", "refusal"):
            return reply
        actions = []
        for language, code in blocks:
            tool = LANGUAGES[language]
            arguments = {_ARGUMENT[tool]: code}
            actions.append(Action(id=f"{_MARK}{next(self._numbers)}", tool=tool, arguments=arguments))
        return replace(reply, actions=(*actions, *reply.actions), stop="actions")

    def _translate_messages(self, messages: Sequence[Message]) -> list[Message]:
        """The messages without calls. Each is made once, so that its encoded bytes are kept, too."""
        same = 0
        for (message, _), now in zip(self._told, messages, strict=False):
            if message is not now:
                break
            same += 1
        del self._told[same:]
        self._told += [(message, _strip_block_calls(message)) for message in messages[same:]]
        return [told for _, told in self._told]


def extract_code_blocks(text: str) -> Iterator[tuple[str, str]]:
    """The word and the code of each block that is to run, in order: not of one that another block quotes, nor of one
    without an end. As in CommonMark, a block ends at a fence of its own kind that is as long or longer."""
    fence, word, code = "", "", list[str]()
    for line in text.splitlines(keepends=True):
        found = _FENCE.fullmatch(line.rstrip())
        named = found["word"].strip() if found else ""
        closes = found is not None and bool(fence) and found["fence"].startswith(fence) and not named
        # A lone fence is often a stray end: what it opens yields to a block with a name.
        opens = found is not None and (not fence or (not word and found["fence"].startswith(fence)))
        if found is None or not (closes or (opens and (named or not fence))):
            code.append(line)
        elif closes:
            if word in LANGUAGES:
                yield word, "".join(code)
            fence = ""
        else:
            fence, word, code = found["fence"], named, []


def _strip_block_calls(message: Message) -> Message:
    if isinstance(message, AssistantMessage) and any(each.id.startswith(_MARK) for each in message.actions):
        actions = tuple(each for each in message.actions if not each.id.startswith(_MARK))
        return AssistantMessage(
            text=message.text, actions=actions, reasoning=message.reasoning, kept=message.kept
        )
    if isinstance(message, ToolMessage) and message.call.startswith(_MARK):
        return UserMessage(text=f"[the block ran]\n{enclose_in_tag('tool_response', message.text)}")
    return message
