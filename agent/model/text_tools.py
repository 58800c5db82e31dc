"""Text protocol for models that cannot call tools, or that write their calls into the text.

A request with tools is sent unchanged until the endpoint refuses it; from then on the tools are described in
the system prompt, calls and results are text, and the model's text is searched for calls. The text of a model
with tool calls is searched, too, since weak ones forget how to call.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from typing import TYPE_CHECKING

from agent.model.call_format import CallFormat, FormatChoice
from agent.model.protocol import (
    Delta,
    LoopingReply,
    Message,
    Model,
    Reply,
    Request,
    TextDelta,
    ToolMessage,
    ToolSpec,
    ToolsRefused,
    Usage,
    compute_price,
    prepare_model,
)
from agent.model.servers.server_facts import takes_schema
from sandbox.errors import Fault
from tools.core.action import Action

if TYPE_CHECKING:
    from agent.model.stream_filter import StreamFilter
    from agent.model.text_translation import TextTranslation


class TextTools:
    """A model, with the text protocol where it needs that.

    always: never try to send tools
    on_notice: receives one line when the model turns out to need the protocol
    on_refusal: called when the endpoint refuses tools
    start, on_kept: the form of calls that the model was seen to get right, "" for none; see `FormatChoice`
    """

    def __init__(
        self,
        model: Model,
        *,
        always: bool = False,
        on_notice: Callable[[str], None] = lambda text: None,
        on_refusal: Callable[[], None] = lambda: None,
        start: str = "",
        on_kept: Callable[[str], None] = lambda form: None,
    ) -> None:
        self.inner = model
        known = next((each for each in _FORMATS if each == start), "text" if always else "tools")
        self._format = FormatChoice("text" if always and known == "tools" else known, on_kept)
        self.name = model.name
        self.window = model.window
        self._on_notice = on_notice
        self._on_refusal = on_refusal
        self._told = False
        self._translated: TextTranslation | None = None
        self._returned = _ToolOutputs()
        self._system: tuple[str, Sequence[ToolSpec], Request | None] = ("", (), None)

    async def close(self) -> None:
        """See `Model.close`."""
        await self.inner.close()

    async def prepare(self) -> None:
        """See `prepare_model`."""
        await prepare_model(self.inner)
        self.window = self.inner.window
        self._format.takes_schema = takes_schema(getattr(self.inner, "program", ""))
        if getattr(self.inner, "takes_tools", None) is False and not self.as_text:
            self._format.give_up_tools()

    @property
    def as_text(self) -> bool:
        """Whether the tools are described in words, and calls are looked for in the text."""
        return self._format.current != "tools"

    def change_form(self) -> str:
        """See `change_call_form`."""
        changed = self._format.try_another()
        return _FORMATS[changed] if changed is not None else ""

    def price(self, usage: Usage) -> float | None:
        """Return the US dollars of a call with this usage, None if not known."""
        return compute_price(self.inner, usage)

    async def stream(self, request: Request) -> AsyncIterator[Delta]:
        """See `Model.stream`."""
        try:
            async with aclosing(self._stream_deltas(request)) as deltas:
                async for delta in deltas:
                    yield delta
        finally:
            self.window = self.inner.window  # a reply, or a refusal, may have updated it

    async def _stream_deltas(self, request: Request) -> AsyncGenerator[Delta, None]:
        if request.tools and not self.as_text:
            try:
                async with aclosing(self._stream_extracting_calls(request, request, sure=True)) as deltas:
                    async for delta in deltas:
                        yield delta
                return
            except ToolsRefused:  # raised before any text: nothing has been shown
                self._on_notice(f"{self.name} takes no tools: they are described to it in words")
                self._format.give_up_tools()
                self._on_refusal()
        if not request.tools:
            async with aclosing(self.inner.stream(request)) as stream:  # type: ignore[type-var]
                async for delta in stream:
                    yield delta
            return
        if self._format.current == "json":
            async for delta in self._stream_object(request):
                yield delta
            return
        async with aclosing(
            self._stream_extracting_calls(request, self._translate_request(request), sure=False)
        ) as deltas:
            async for delta in deltas:
                yield delta

    async def _stream_object(self, request: Request) -> AsyncGenerator[Delta, None]:
        """Yield the reply to a request whose answer is one JSON object; its text is shown once it is known."""
        from agent.model.json_mode import build_guide, build_schema, read_reply

        messages = self._translate_messages(request.messages)
        guided = request.add_guide(build_guide(request.tools))
        sent = replace(guided, messages=messages, tools=(), schema=build_schema(request.tools))
        self._returned.add_messages(request.messages)
        held = _HeldText()
        async with aclosing(self.inner.stream(sent)) as stream:  # type: ignore[type-var]
            async for delta in stream:
                if isinstance(delta, TextDelta):
                    held.add(delta.text)
                if isinstance(delta, Reply):
                    search = _CallExtractor(request.tools, self._returned, sure=False)
                    found = read_reply(delta, request.tools) or search.add_calls(delta)
                    if found.text:
                        yield TextDelta(text=found.text)
                    self._judge(found, request)
                    yield found
                elif not isinstance(delta, TextDelta):
                    yield delta

    def _judge(self, reply: Reply, request: Request) -> None:
        """Change the form of calls where the model gets the present one wrong again and again."""
        names = {tool.name for tool in request.tools}
        if (changed := self._format.judge(reply, names)) is not None:
            self._on_notice(f"{self.name} writes calls that cannot be read: {_FORMATS[changed]}")

    async def _stream_extracting_calls(
        self, request: Request, sent: Request, *, sure: bool
    ) -> AsyncGenerator[Delta, None]:
        """Yield the deltas of a reply without the calls in its text, then the reply with them among its actions."""
        self._returned.add_messages(request.messages)
        search = _CallExtractor(request.tools, self._returned, sure=sure)
        gate: StreamFilter | None = None
        reply: Reply | None = None
        async with aclosing(self.inner.stream(sent)) as stream:  # type: ignore[type-var]
            async for delta in stream:
                if gate is None:  # after the request, not before
                    from agent.model.stream_filter import StreamFilter
                    from agent.model.text_pieces import TextPieces

                    gate = StreamFilter((tool.name for tool in request.tools), search.has_call)
                    text, held = TextPieces(), _HeldText()
                if isinstance(delta, TextDelta):
                    text.append(delta.text)
                    if shown := gate.feed(delta.text):
                        yield TextDelta(text=shown)
                    else:
                        held.add(delta.text)
                    if not sure and "\n" in delta.text and search.is_inventing_result(gate.held):
                        reply = Reply(text="".join(text))  # the rest depends on an invented result
                        break
                elif isinstance(delta, Reply):
                    reply = delta
                else:
                    yield delta
        assert reply is not None, "a model's stream ends with a Reply"
        assert gate is not None, "a reply is a delta, too"
        if rest := search.extract_prose(gate.held, cut=reply.stop == "length"):
            yield TextDelta(text=rest)
        found = search.add_calls(reply)
        if sure and len(found.actions) > len(reply.actions) and not self._told:
            self._told = True
            self._on_notice(f"{self.name} writes its tool calls as text; they are understood")
        self._judge(found, request)
        yield found

    def _translate_request(self, request: Request) -> Request:
        system, tools, guided = self._system
        if guided is None or system != request.system or tools != request.tools:
            from agent.model.text_translation import build_tool_prompt

            guided = request.add_guide(build_tool_prompt(request.tools))
            self._system = (request.system, request.tools, guided)
        messages = self._translate_messages(request.messages)
        return replace(
            request, system=guided.system, shared=guided.shared, messages=messages, tools=(), schema=None
        )

    def _translate_messages(self, messages: Sequence[Message]) -> list[Message]:
        from agent.model.text_translation import TextTranslation

        self._translated = self._translated or TextTranslation()
        return self._translated.translate_messages(messages)


_FORMATS: Mapping[CallFormat, str] = {
    "tools": "the endpoint's own form is used again",
    "json": "the server now enforces their form",
    "text": "the tools are described in words",
}
"""Forms of calls, and the notice of a change to each."""


class _CallExtractor:
    """Finder of calls in the reply to one request; the parsers are imported when a text looks like a call."""

    def __init__(self, tools: Sequence[ToolSpec], returned: _ToolOutputs, *, sure: bool) -> None:
        self._tools = tools
        self._returned = returned
        self._sure = sure

    def has_call(self, text: str) -> bool:
        """Return whether a stretch of text contains a call."""
        from agent.model.text_calls import find_calls

        return bool(find_calls(text, self._tools).calls)

    def is_inventing_result(self, text: str) -> bool:
        """Return whether the model, after a call, continues with an invented result."""
        if not text:
            return False
        from agent.model.text_calls import RESULT, find_calls

        result = RESULT.search(text)
        return result is not None and bool(find_calls(text[: result.start()], self._tools).calls)

    def extract_prose(self, held: str, *, cut: bool) -> str:
        """Return the part of the held text that is left to show."""
        return self._extract_calls(held, cut=cut)[0] if held.strip() else held

    def add_calls(self, reply: Reply) -> Reply:
        """Return the reply with the calls in its text as actions."""
        if not _may_contain_call(reply.text):
            return reply
        prose, actions = self._extract_calls(reply.text, cut=reply.stop == "length")
        if not actions or reply.actions:  # a proper call: the rest of the text is prose
            return reply
        return replace(reply, text=prose, actions=actions, stop="actions")

    def _extract_calls(self, text: str, *, cut: bool) -> tuple[str, tuple[Action, ...]]:
        from agent.model.text_calls import Outputs, find_calls

        outputs = Outputs(plain=self._returned.iter_normalized)
        found = find_calls(text, self._tools, outputs, sure=self._sure, cut=cut)
        if not found.calls:
            return text, ()
        actions = tuple(
            Action(
                id=f"call_{os.urandom(6).hex()}",
                tool=call.tool,
                arguments=dict(call.arguments or {}),
                raw=call.raw,
                problem=""
                if call.arguments is not None
                else "the call could not be read. Write it again, its arguments as one complete JSON object",
            )
            for call in found.calls
        )
        return found.prose, actions


class _HeldText:
    """Text that is not shown as it comes, since it may be a call: nobody else sees that it loops."""

    def __init__(self) -> None:
        from agent.turn.reply.repetition_detector import RepetitionDetector

        self._loops = RepetitionDetector(is_code=True)

    def add(self, text: str) -> None:
        """Add a piece. Raises LoopingReply."""
        if self._loops.feed(text) is not None:
            raise LoopingReply(Fault.MODEL_UNREACHABLE, "the reply repeated itself without end")


class _ToolOutputs:
    """Outputs of tools in this session: also those shortened in, or removed from, later requests."""

    def __init__(self) -> None:
        self._texts: dict[str, str | None] = {}  # text → normalized text. Not by call: ids are reused
        self._size = 0

    def add_messages(self, messages: Sequence[Message]) -> None:
        """Remember the outputs that are new in a request."""
        for message in messages:
            if isinstance(message, ToolMessage) and message.text not in self._texts:
                self._texts[message.text] = None
                self._size += len(message.text)
        while self._size > _REMEMBERED:
            text = next(iter(self._texts))
            del self._texts[text]
            self._size -= len(text)

    def iter_normalized(self) -> Iterator[str]:
        """Yield the normalized texts; each is normalized once."""
        from agent.model.text_calls import normalize_text

        for text, known in self._texts.items():
            plain = normalize_text(text) if known is None else known
            self._texts[text] = plain  # an existing key: the order is unchanged
            yield plain


_REMEMBERED = 16 << 20
"""Characters: thousands of outputs; the oldest are dropped."""


def _may_contain_call(text: str) -> bool:
    return any(
        mark in text for mark in ("<", "{", "[TOOL", "(", "Action", "action", "Tool", "Function", "Call")
    )
