"""Chat-completions JSON: assembly of streamed chunks into a reply."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any

from agent.model.protocol import (
    ReasoningDelta,
    Reply,
    TextDelta,
    Usage,
)
from agent.model.text_pieces import TextPieces
from agent.model.wire_formats.chat_messages import FORM
from agent.model.wire_formats.kept_parts import (
    Kept,
    PartRecorder,
    find_extra,
    merge_fields,
)
from agent.model.wire_formats.repeated_events import RepeatedEvents
from agent.model.wire_formats.reply_bounds import check_arguments_size
from agent.model.wire_formats.wire_protocol import Assembler, Json, Stop, parse_token_count
from sandbox.lazy_dataclass import dataclass

_STOPS: Mapping[str, Stop] = {
    "stop": "end",
    "eos": "end",
    "end_turn": "end",
    **dict.fromkeys(
        ("eos_token", "stop_token", "stop_sequence", "complete", "completed", "done", "end", "finished"),
        "end",
    ),
    "tool_calls": "actions",
    "function_call": "actions",
    "length": "length",
    "max_tokens": "length",
    "content_filter": "refusal",
    "refusal": "refusal",
    "content_filtered": "refusal",  # of providers behind gateways: Bedrock, Gemini, GLM
    "guardrail_intervened": "refusal",
    "safety": "refusal",
    "recitation": "refusal",
    "prohibited_content": "refusal",
    "blocklist": "refusal",
    "spii": "refusal",
    "sensitive": "refusal",
}


@dataclass(slots=True)
class _Call:
    """A tool call while its chunks arrive."""

    id: str
    tool: str
    arguments: TextPieces = field(default_factory=TextPieces)
    size: int = 0
    extra: Json = field(default_factory=dict)
    fields: Json = field(default_factory=dict)


_OF_MESSAGE = frozenset(
    {"role", "content", "reasoning_content", "reasoning", "refusal", "tool_calls", "function_call"}
)
_OF_CALL = frozenset({"index", "id", "type", "function"})
_OF_FUNCTION = frozenset({"name", "arguments"})
_OF_TEXT = frozenset({"type", "text"})
"""Fields that the format defines. Others, as thoughts signed by a gateway, go back as they came."""


class ChatAssembler(Assembler):
    """Assembler of a chat completion."""

    def __init__(self) -> None:
        super().__init__()
        self._text = TextPieces()
        self._reasoning = TextPieces()
        self._calls: list[_Call] = []
        self._extra: Json = {}
        self._content: list[Json] = []  # parts of a content that came as a list of them
        self._at: dict[int, _Call] = {}
        self._stop: Stop = "end"
        self._has_stop_reason = False
        self._refused = False
        self._usage: Json = {}
        self._repeated = RepeatedEvents()
        self._is_text_alone = False  # the last chunk had nothing but a text

    def take_texts(self, events: Sequence[str], start: int) -> tuple[TextDelta | None, int]:
        """See `Assembler.take_texts`."""
        if self._is_text_alone and start:
            self._repeated.learn(events[start - 1], self._text[-1])
        self._is_text_alone = False
        texts, end = self._repeated.take_texts(events, start)
        if not texts:
            return None, end
        text = "".join(texts)
        self.bounds.add_part(len(text))
        self._text.append(text)
        self.finished = self._has_stop_reason
        return TextDelta(text=text), end

    def feed(self, piece: Mapping[str, Any]) -> Iterator[TextDelta | ReasoningDelta]:
        """Add one chunk and yield its displayable deltas."""
        usage = piece.get("usage") or (piece.get("x_groq") or {}).get("usage")
        if isinstance(usage, dict):
            self._usage = usage
        self._is_text_alone = False
        choices = piece.get("choices") or []
        # Some servers give no stop reason: counts without a choice come behind the last part of the answer.
        self.finished = self._has_stop_reason or (isinstance(usage, dict) and not choices)
        if not choices:
            self._record_stop(piece.get("finish_reason"))
        for choice in choices[:1]:
            delta = choice.get("delta")
            if type(delta) is dict and len(delta) == 1 and not choice.get("finish_reason"):
                text = delta.get("content")
                if (
                    text and type(text) is str
                ):  # a word of the answer, as nearly every chunk is: no other field to read
                    self.spoke = True
                    self.bounds.add_part(len(text))
                    self._text.append(text)
                    self._is_text_alone = not usage
                    yield TextDelta(text=text)
                    continue
            yield from self._feed_choice(choice)
            if "message" in choice and piece.get("object") != "chat.completion.chunk":
                self.finished = True  # not streamed: all of it is here

    @property
    def is_whole(self) -> bool:
        """See `Assembler.is_whole`."""
        from agent.model.wire_formats.tool_arguments import is_json_object

        is_begun = bool(self._text or self._reasoning or self._calls)
        return is_begun and all(is_json_object("".join(call.arguments)) for call in self._calls)

    def build_reply(self, usage: Usage) -> Reply:
        """Return the finished answer."""
        from agent.model.wire_formats.tool_arguments import parse_action

        stop: Stop = "refusal" if self._refused else self._stop
        actions = tuple(
            parse_action(call.id, call.tool, "".join(call.arguments), cut=stop == "length")
            for call in self._calls
        )
        if actions and stop in ("end", "other"):  # many servers report "stop" after tool calls
            stop = "actions"
        return Reply(
            text="".join(self._text),
            actions=actions,
            reasoning="".join(self._reasoning),
            usage=usage,
            stop=stop,
            kept=self._list_parts(),
        )

    @property
    def usage(self) -> Usage:
        """Usage as counted by the server, all zero if absent; `cost` only if the server itself reports it."""
        told = self._usage
        prompt = told.get("prompt_tokens_details") or {}
        completion = told.get("completion_tokens_details") or {}
        cached = (
            prompt.get("cached_tokens") or told.get("prompt_cache_hit_tokens") or told.get("cached_tokens")
        )
        cost = told.get("cost")
        return Usage(
            input=parse_token_count(told.get("prompt_tokens")),
            cached=parse_token_count(cached),
            written=parse_token_count(prompt.get("cache_write_tokens")),
            output=parse_token_count(told.get("completion_tokens")),
            reasoning=parse_token_count(completion.get("reasoning_tokens")),
            cost=float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) else None,
        )

    def _feed_choice(self, choice: Mapping[str, Any]) -> Iterator[TextDelta | ReasoningDelta]:
        delta = choice.get("delta") or choice.get("message") or {}
        self._merge_extra(self._extra, find_extra(delta, _OF_MESSAGE))
        if isinstance(content := delta.get("content"), list):
            self._add_content(content)
        thought = delta.get("reasoning_content") or delta.get("reasoning")
        for reasoning, text in _iter_text_parts(thought, thinking=True):
            yield from self._emit_text(text, reasoning=reasoning)
        for reasoning, text in _iter_text_parts(delta.get("content"), thinking=False):
            yield from self._emit_text(text, reasoning=reasoning)
        if isinstance(refusal := delta.get("refusal"), str) and refusal:
            self._refused = True
            yield from self._emit_text(refusal, reasoning=False)
        for call in delta.get("tool_calls") or _list_old_calls(delta):
            self._feed_call(call)
        self._record_stop(choice.get("finish_reason"))
        if choice.get("finish_reason") and not self.spoke and _is_filtered(choice):
            self._refused = True

    def _record_stop(self, reason: object) -> None:
        if reason:
            self.finished = self._has_stop_reason = True
            self._stop = _STOPS.get(str(reason).lower().replace("-", "_"), "other")

    def _emit_text(self, text: str, *, reasoning: bool) -> Iterator[TextDelta | ReasoningDelta]:
        self.bounds.add_part(len(text))
        if reasoning:
            self._reasoning.append(text)
            yield ReasoningDelta(text=text)
        else:
            self.spoke = True
            self._text.append(text)
            yield TextDelta(text=text)

    def _merge_extra(self, known: Json, extra: Mapping[str, Any]) -> None:
        if extra:
            self.bounds.add_part(len(str(extra)))
            merge_fields(known, extra)

    def _add_content(self, parts: Sequence[Any]) -> None:
        """Add typed parts; those of one kind in a row are one part that goes on."""
        for part in parts:
            last = self._content[-1] if self._content else {}
            if isinstance(part, str):
                part = {"type": "text", "text": part}
            if last.get("type") == part.get("type"):
                self._merge_extra(last, part)
            else:
                self.bounds.add_call()
                self._content.append(dict(part))

    def _list_parts(self) -> tuple[Kept, ...]:
        parts = PartRecorder(FORM)
        parts.add_message(self._extra)
        for part in self._content:
            if part.get("type") == "text":
                parts.add_text(len(str(part.get("text") or "")), find_extra(part, _OF_TEXT))
            else:
                parts.add_block(part)
        if not self._content:
            parts.add_text(sum(map(len, self._text)), {})
        for call in self._calls:
            parts.add_call(call.extra, call.fields)
        return parts.build()

    def _feed_call(self, piece: Mapping[str, Any]) -> None:
        function = piece.get("function") or {}
        name, given = function.get("name") or "", piece.get("id") or ""
        index = piece.get("index")
        if not isinstance(index, int):  # omitted by some servers: a name starts a new call
            index = len(self._calls) - (0 if name or not self._calls else 1)
        call = self._at.get(index)
        # Some servers number every parallel call 0; another id with a name is another call.
        if call is None or (name and given and given != call.id and call.tool):
            self.bounds.add_call()
            call = self._at[index] = _Call(self._ensure_unique_id(given), name)
            self._calls.append(call)
        elif name and not call.tool:
            call.tool = name
        self._merge_extra(call.extra, find_extra(piece, _OF_CALL))
        self._merge_extra(call.fields, find_extra(function, _OF_FUNCTION))
        arguments = function.get("arguments")
        if arguments:
            text = arguments if isinstance(arguments, str) else json.dumps(arguments)
            call.size += len(text)
            check_arguments_size(call.size)
            self.bounds.add_part(len(text))
            call.arguments.append(text)

    def _ensure_unique_id(self, given: str) -> str:
        if given and all(call.id != given for call in self._calls):
            return given
        return f"call_{os.urandom(6).hex()}"


def _list_old_calls(delta: Mapping[str, Any]) -> Sequence[Json]:
    """Return the one call of an answer in the form before `tool_calls`, which has no id."""
    function = delta.get("function_call")
    return [{"index": 0, "function": function}] if isinstance(function, Mapping) else []


def _is_filtered(choice: Mapping[str, Any]) -> bool:
    """Return whether the filter of Azure stopped a choice, which its results tell even where the reason does not."""
    results = choice.get("content_filter_results")
    found = results.values() if isinstance(results, Mapping) else ()
    return any(isinstance(each, Mapping) and each.get("filtered") is True for each in found)


def _iter_text_parts(content: object, *, thinking: bool) -> Iterator[tuple[bool, str]]:
    """Yield (is it reasoning, text) of content that is a string or a list of typed parts."""
    if isinstance(content, str):
        if content:
            yield thinking, content
    elif isinstance(content, Sequence):
        for part in content:
            if isinstance(part, str):
                yield from _iter_text_parts(part, thinking=thinking)
            elif isinstance(part, Mapping):
                inner = part.get("text") or part.get("thinking")
                yield from _iter_text_parts(inner, thinking=thinking or "thinking" in part)
