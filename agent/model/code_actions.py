"""Adapter that turns a model's fenced code blocks into actions and returns their results as text.

CodeAct (Wang et al. 2024, arXiv 2402.01030): code as the only kind of action. Tree-of-Code (Ni et al. 2024,
arXiv 2412.15305): a whole program first, and another branch where its run fails. Wraps any model, also one
without tool calls; log and projection are those of every session.
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
    prepare_model,
)
from sandbox.lazy_pattern import compile_lazily
from tools.core.action import Action
from tools.core.registry import Tool
from tools.core.untrusted_output import enclose_in_tag
from tools.kernel.tool_bindings import describe_functions, format_signature

_MARK = "block-"
"""Prefix of the ids of actions that were written as fenced blocks."""

LANGUAGES = {
    "python": "python",
    "py": "python",
    "python3": "python",
    "bash": "shell",
    "sh": "shell",
    "shell": "shell",
}
"""Info strings of fences and the tool that runs the block. Any other fence is text."""

_ARGUMENT = {"python": "code", "shell": "command"}

_FENCE = compile_lazily(r"(?P<fence>`{3,}|~{3,})(?P<word>[^`]*)")
"""Opening or closing line of a block."""


class CodeActions:
    """Another model, prompted to act by code. tools: offered to it as functions in the kernel"""

    def __init__(self, model: Model, tools: Iterable[Tool]) -> None:
        self.inner = model
        self.name = model.name
        self.window = model.window
        self._tools = list(tools)
        self._numbers = count(1)
        self._told: list[tuple[Message, Message]] = []  # messages of the session, and as sent to the model

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """See `Model.stream`."""
        guided = request.add_guide(self._guide)
        sent = replace(guided, messages=self._translate_messages(request.messages), tools=())
        async for delta in self.inner.stream(sent):
            yield self._add_block_actions(delta) if isinstance(delta, Reply) else delta
        self.window = self.inner.window

    async def prepare(self) -> None:
        """See `prepare_model`."""
        await prepare_model(self.inner)
        self.window = self.inner.window

    async def close(self) -> None:
        """See `Model.close`."""
        await self.inner.close()

    def price(self, usage: Usage) -> float | None:
        """Return the US dollars of a call with this usage, None if not known."""
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
        """Return the messages without calls. Each is translated once, so that its encoded bytes are cached, too."""
        same = 0
        for (message, _), now in zip(self._told, messages, strict=False):
            if message is not now:
                break
            same += 1
        del self._told[same:]
        self._told += [(message, _strip_block_calls(message)) for message in messages[same:]]
        return [told for _, told in self._told]


def extract_code_blocks(text: str) -> Iterator[tuple[str, str]]:
    """Yield (info string, code) of each runnable block in order, except quoted and unclosed ones.

    As in CommonMark, a block ends at a fence of its own kind that is as long or longer.
    """
    fence, word, code = "", "", list[str]()
    for line in text.splitlines(keepends=True):
        found = _FENCE.fullmatch(line.rstrip())
        named = found["word"].strip() if found else ""
        closes = found is not None and bool(fence) and found["fence"].startswith(fence) and not named
        # A lone fence is often a stray closing one: the block that it opens yields to a block with a name.
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
