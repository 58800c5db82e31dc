"""Wire format of OpenAI's responses endpoint, stateless: the whole conversation is sent, nothing is stored there.

A reasoning model's own reasoning arrives encrypted and is sent back unchanged, so that the model continues
its reasoning instead of starting again after every tool call.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from agent.model.protocol import (
    AssistantMessage,
    Message,
    ReasoningDelta,
    Reply,
    Request,
    TextDelta,
    Usage,
)
from agent.model.text_pieces import TextPieces
from agent.model.wire_formats.kept_parts import Kept, PartRecorder, find_extra, select_parts
from agent.model.wire_formats.refused_effort import lower_effort
from agent.model.wire_formats.reply_bounds import check_arguments_size
from agent.model.wire_formats.response_failures import parse_stream_error
from agent.model.wire_formats.responses_items import build_message_items, encode_system, encode_tools
from agent.model.wire_formats.tool_arguments import is_json_object, parse_action
from agent.model.wire_formats.wire_protocol import (
    Assembler,
    EncodedPrefix,
    Json,
    Stop,
    apply_concession,
    encode_json,
    parse_token_count,
)
from sandbox.lazy_dataclass import dataclass

FORM = "openai-responses"
"""Mark of message parts that only this format understands."""


@dataclass(slots=True, kw_only=True)
class ResponsesDialect:
    """Capabilities of an endpoint. encrypted: returns its reasoning encrypted; the others: see `ChatDialect`"""

    encrypted: bool = True
    limit: bool = True
    effort: str = ""
    temperature: float | None = None
    sticky: str = ""
    retention: str = ""
    tier: str = ""
    schemas: bool = True


_CONCESSIONS: Mapping[str, Mapping[str, bool | str | None]] = {
    "encrypted": {"encrypted": False},
    "Unknown parameter: 'input": {"encrypted": False},
    "include": {"encrypted": False},
    "temperature": {"temperature": None},
    "prompt_cache_retention": {"retention": ""},
    "prompt_cache_key": {"sticky": ""},
    "service_tier": {"tier": ""},
    "response_format": {"schemas": False},
    "text.format": {"schemas": False},
    "json_schema": {"schemas": False},
    "max_output_tokens": {"limit": False},
}


class ResponsesWire:
    """The responses format. model: as the endpoint calls it"""

    path = "/responses"
    endpoint = ""

    def __init__(self, model: str, dialect: ResponsesDialect | None = None) -> None:
        self.dialect = dialect or ResponsesDialect()
        self._model = model
        self._fixed = EncodedPrefix(encode_system, encode_tools)

    @property
    def tier(self) -> str:
        """See `Wire`."""
        return self.dialect.tier

    def headers(self, key: str) -> dict[str, str]:
        """See `Wire.headers`."""
        return {"Authorization": f"Bearer {key}"} if key else {}

    def body(self, request: Request) -> bytes:
        """See `Wire.body`."""
        fixed, dialect = self._fixed.encode_prefix(request), self.dialect
        options: Json = {"model": self._model, "stream": True, "store": False}
        if dialect.encrypted:
            options["include"] = ["reasoning.encrypted_content"]
        if dialect.effort:
            options["reasoning"] = {"effort": dialect.effort, "summary": "auto"}
        if dialect.temperature is not None:
            options["temperature"] = dialect.temperature
        if dialect.sticky:
            options["prompt_cache_key"] = dialect.sticky
        if dialect.retention:
            options["prompt_cache_retention"] = dialect.retention
        if dialect.tier:
            options["service_tier"] = dialect.tier
        if request.schema is not None and dialect.schemas:
            form = {"type": "json_schema", "name": "reply", "strict": True, "schema": request.schema}
            options["text"] = {"format": form}
        if request.max_output and dialect.limit:
            options["max_output_tokens"] = request.max_output
        items = [item for message in request.messages if (item := self._encode_message(message))]
        head = (encode_json(options)[:-1], fixed.system, fixed.tools)
        return b"".join((*head, b',"input":[', b",".join(items), b"]}"))

    def create_assembler(self) -> Assembler:
        """See `Wire.create_assembler`."""
        return ResponsesAssembler()

    def parse_error(self, piece: Mapping[str, Any]) -> tuple[int, Mapping[str, Any]] | None:
        """See `Wire.parse_error`."""
        return parse_stream_error(piece)

    def adapt_to_refusal(self, said: str) -> bool:
        """See `Wire.adapt_to_refusal`."""
        changed = lower_effort(self.dialect, said) or apply_concession(self.dialect, said, _CONCESSIONS)
        self.dialect = changed or self.dialect
        return changed is not None

    def _encode_message(self, message: Message) -> bytes:
        """Return the items of one message, joined; a message may be several of them."""
        form = f"{FORM}@{self.endpoint}" if self.dialect.encrypted else f"{FORM}-plain"
        found = message.wire.get(form)
        if found is None:
            kept: Sequence[Kept] = ()
            if self.dialect.encrypted and isinstance(message, AssistantMessage):
                kept = select_parts(message, FORM, self.endpoint)
            found = b",".join(encode_json(item) for item in build_message_items(message, kept))
            message.wire[form] = found
        return found


class ResponsesAssembler(Assembler):
    """Assembler of a response. Only finished items count; deltas are only shown."""

    def __init__(self) -> None:
        super().__init__()
        self._items: list[Json] = []
        self._open: dict[object, Json] = {}
        self._pieces: dict[object, TextPieces] = {}
        self._sizes: dict[object, int] = {}
        self._usage: Json = {}
        self._stop: Stop = "end"
        self._refused = False
        self._is_item_shown = False
        self._shown = TextPieces()
        self._thought = TextPieces()
        self._comments = TextPieces()
        self._unannounced: set[object] = set()
        self._said: list[Json] = []
        """Comments that were shown as parts of the answer, and count as such."""

    def feed(self, piece: Mapping[str, Any]) -> Iterator[TextDelta | ReasoningDelta]:
        """See `Assembler.feed`."""
        kind = piece.get("type") or ""
        if kind in ("response.output_text.delta", "response.refusal.delta"):
            self._refused = self._refused or "refusal" in kind
            place = piece.get("output_index")
            if place not in self._open:  # a server that does not announce items: the phase comes too late
                self._unannounced.add(place)
            yield from self._emit_part(self._open.get(place, {}), piece["delta"])
        elif kind in ("response.reasoning_summary_text.delta", "response.reasoning_text.delta"):
            yield from self._emit_reasoning(piece["delta"])
        elif kind == "response.reasoning_summary_part.added" and self._thought:
            yield from self._emit_reasoning("\n\n")
        elif kind == "response.output_item.added":
            self.bounds.add_call()
            self._open[piece.get("output_index")] = dict(piece["item"])
        elif kind == "response.function_call_arguments.delta":
            if piece.get("output_index") in self._open:
                self._add_arguments(piece["output_index"], str(piece["delta"]))
        elif kind == "response.function_call_arguments.done":
            self._open.get(piece.get("output_index"), {})["arguments"] = piece["arguments"]
        elif kind == "response.output_item.done":
            counted = self._sizes.pop(piece.get("output_index"), 0)
            if self._open.pop(piece.get("output_index"), None) is None:
                self.bounds.add_call()
            item = piece["item"]
            if piece.get("output_index") in self._unannounced and item.get("phase") == _COMMENTARY:
                self._said.append(item)
            self._add_item(item, counted)
            if not self._is_item_shown:  # a server without deltas
                yield from self._show_content(piece["item"])
            self._is_item_shown = False
        elif kind in ("response.completed", "response.incomplete", "response.done"):
            yield from self._finish_response(piece.get("response") or {})
        elif kind == "response.failed":  # by a policy: other failures are errors
            failed = piece.get("response") or {}
            self._refused = self.finished = True
            self._usage = failed.get("usage") or {}
            yield from self._emit_text(str(failed["error"].get("message") or failed["error"].get("code")))
        elif piece.get("object") == "response":  # the whole response, from a server that does not stream
            yield from self._finish_response(piece)

    @property
    def is_whole(self) -> bool:
        """See `Assembler.is_whole`."""
        return bool(self._items or self._shown or self._open) and len(self._list_whole_calls()) == len(
            self._open
        )

    def _list_whole_calls(self) -> list[Json]:
        """Return the calls that no event finished, and whose arguments are all there."""
        for place, pieces in self._pieces.items():
            if place in self._open:
                self._open[place]["arguments"] = self._open[place].get("arguments") or "".join(pieces)
        return [
            item
            for item in self._open.values()
            if item.get("type") == "function_call" and is_json_object(str(item.get("arguments") or ""))
        ]

    def build_reply(self, usage: Usage) -> Reply:
        """See `Assembler.build_reply`."""
        whole = self._list_whole_calls()
        # Ended by a mark alone, by a server that finishes no item, or not these.
        self._items += whole if self._items else [*self._open.values()]
        calls = [item for item in self._items if item.get("type") == "function_call"]
        actions = tuple(
            parse_action(
                str(call.get("call_id") or call.get("id") or f"call_{place}"),
                str(call.get("name") or ""),
                str(call.get("arguments") or ""),
                cut=self._stop == "length" or call.get("status") == "incomplete",
            )
            for place, call in enumerate(calls)
        )
        stop: Stop = "refusal" if self._refused else self._stop
        is_answer = not self._shown and not actions  # comments alone: there is no other answer
        return Reply(
            text="".join(self._comments if is_answer else self._shown),
            actions=actions,
            reasoning="".join(self._thought),
            usage=usage,
            stop="actions" if actions and stop == "end" else stop,
            kept=self._list_parts(is_answer),
        )

    def _list_parts(self, is_answer: bool) -> tuple[Kept, ...]:
        """Return the parts to send back. is_answer: the comments are the answer"""
        parts = PartRecorder(FORM)
        for item in self._items:
            match item.get("type"):
                case "message" if is_answer or item.get("phase") != _COMMENTARY or item in self._said:
                    for part in item.get("content") or ():
                        size = len(str(part.get("text") or part.get("refusal") or ""))
                        parts.add_text(size, find_extra(item, _OF_MESSAGE))
                case "function_call":
                    parts.add_call(find_extra(item, _OF_CALL))
                case "reasoning" if not item.get("encrypted_content"):
                    pass  # not stored there, and not here: it cannot be sent back
                case _:
                    parts.add_block(_strip_id(item))
        return parts.build()

    @property
    def usage(self) -> Usage:
        """See `Assembler.usage`."""
        told = self._usage
        cost, details = told.get("cost"), told.get("input_tokens_details") or {}
        return Usage(
            input=parse_token_count(told.get("input_tokens")),
            cached=parse_token_count(details.get("cached_tokens")),
            written=parse_token_count(details.get("cache_write_tokens")),
            output=parse_token_count(told.get("output_tokens")),
            reasoning=parse_token_count((told.get("output_tokens_details") or {}).get("reasoning_tokens")),
            cost=float(cost) if isinstance(cost, int | float) and not isinstance(cost, bool) else None,
        )

    def _finish_response(self, response: Mapping[str, Any]) -> Iterator[TextDelta | ReasoningDelta]:
        self.finished = True
        self._usage = response.get("usage") or {}
        if not self._items:
            for item in response.get("output") or ():
                self.bounds.add_call()
                self._add_item(item)
        if not self._thought:
            for item in self._items:
                parts = item.get("summary") or () if item.get("type") == "reasoning" else ()
                for part in parts:
                    yield from self._emit_reasoning(str(part.get("text") or ""))
        if (
            not self._shown and not self._comments
        ):  # no deltas: a whole answer, or a server that sends finished items only
            for item in self._items:
                yield from self._show_content(item)
        why = (response.get("incomplete_details") or {}).get("reason")
        match response.get("status") or "completed":
            case "completed":
                self._stop = "end"
            case "incomplete":
                self._stop = "refusal" if why == "content_filter" else "length"
            case _:  # cancelled, or still in progress: not the end of an answer
                self._stop = "other"

    def _add_arguments(self, place: object, text: str) -> None:
        """Add a part of a call's arguments: its end may be the stream's."""
        self._sizes[place] = self._sizes.get(place, 0) + len(text)
        check_arguments_size(self._sizes[place])
        self.bounds.add_part(len(text))
        self._pieces.setdefault(place, TextPieces()).append(text)

    def _add_item(self, item: Json, counted: int = 0) -> None:
        """Add a finished item. Its text was counted when it was shown. counted: characters of its arguments, too"""
        arguments = len(str(item.get("arguments") or ""))
        check_arguments_size(arguments)
        self.bounds.add_part(max(arguments - counted, 0) + len(str(item.get("encrypted_content") or "")))
        self._items.append(item)

    def _show_content(self, item: Mapping[str, Any]) -> Iterator[TextDelta | ReasoningDelta]:
        for part in item.get("content") or () if item.get("type") == "message" else ():
            self._refused = self._refused or part.get("type") == "refusal"
            yield from self._emit_part(item, str(part.get("text") or part.get("refusal") or ""))

    def _emit_part(self, item: Mapping[str, Any], text: str) -> Iterator[TextDelta | ReasoningDelta]:
        """Emit text of a message: words on the way to an answer are shown as thoughts, and are none of the answer."""
        if item.get("phase") != _COMMENTARY:
            yield from self._emit_text(text)
        elif text:
            self._comments.append(text)
            self._is_item_shown = True
            yield from self._emit_reasoning(text)

    def _emit_text(self, text: str) -> Iterator[TextDelta]:
        if text:
            self.bounds.add_part(len(text))
            self.spoke = self._is_item_shown = True
            self._shown.append(text)
            yield TextDelta(text=text)

    def _emit_reasoning(self, text: str) -> Iterator[ReasoningDelta]:
        if text:
            self.bounds.add_part(len(text))
            self._thought.append(text)
            yield ReasoningDelta(text=text)


_COMMENTARY = "commentary"
"""Phase of a message that is no answer, but tells of the work (`ResponseOutputMessage.phase` of openai 7.59.0)."""

_OF_MESSAGE = frozenset({"type", "id", "role", "status", "content"})
_OF_CALL = frozenset({"type", "id", "call_id", "name", "arguments", "status"})
"""Fields of items that the format defines."""


def _strip_id(item: Mapping[str, Any]) -> Json:
    # Nothing is stored there: an id would be looked up and not found.
    return {key: value for key, value in item.items() if key not in ("id", "status")}
