"""A reply of Anthropic's messages endpoint, assembled from its streamed blocks."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from agent.model.protocol import ReasoningDelta, Reply, TextDelta, Usage
from agent.model.text_pieces import TextPieces
from agent.model.wire_formats.kept_parts import PartRecorder, find_extra
from agent.model.wire_formats.reply_bounds import check_arguments_size
from agent.model.wire_formats.tool_arguments import is_json_object, parse_action
from agent.model.wire_formats.wire_protocol import Assembler, Json, Stop, parse_token_count
from tools.core.action import Action

FORM = "anthropic"
"""Mark of message parts that only this format understands."""

_OURS = frozenset({"pieces", "size"})
_OF_TEXT = _OURS | {"type", "text"}
_OF_CALL = _OURS | {"type", "id", "name", "input"}
"""Fields of blocks that the format defines, and our own beside them."""

_THOUGHTS = ("thinking", "redacted_thinking")

_DELTAS: Mapping[str, str] = {
    "text_delta": "text",
    "thinking_delta": "thinking",
    "signature_delta": "signature",
    "input_json_delta": "partial_json",
}
"""By kind of a block's delta, the field with its text."""

_STOPS: Mapping[str, Stop] = {
    "end_turn": "end",
    "stop_sequence": "end",
    "tool_use": "actions",
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}


class AnthropicAssembler(Assembler):
    """Assembler of a message. A block counts when it is closed, or is a call with whole arguments: half a call is
    never returned."""

    def __init__(self) -> None:
        super().__init__()
        self._blocks: dict[int, Json] = {}
        self._open: set[int] = set()
        self._usage: dict[str, Any] = {}
        self._stop: Stop = "end"

    def feed(self, piece: Mapping[str, Any]) -> Iterator[TextDelta | ReasoningDelta]:
        """See `Assembler.feed`."""
        match piece.get("type"):
            case "message_start":
                self._update_usage(piece["message"].get("usage"))
            case "content_block_start":
                block = dict(piece["content_block"])
                self._begin_block(piece["index"], block)
                self._open.add(piece["index"])
                yield from self._emit_deltas(str(block.get("text") or ""), str(block.get("thinking") or ""))
            case "content_block_delta":
                yield from self._feed_delta(self._blocks[piece["index"]], piece["delta"])
            case "content_block_stop":
                self._open.discard(piece["index"])
            case "message_delta":
                self._update_usage(piece.get("usage"))
                delta = piece.get("delta") or {}
                self._record_stop(delta.get("stop_reason"))
                yield from self._explain_refusal(delta.get("stop_details"))
            case "message_stop":
                self.finished = True
            case "message":  # the whole message, from a server that does not stream
                for place, each in enumerate(piece["content"]):
                    self._begin_block(place, each)
                    yield from self._emit_deltas(str(each.get("text") or ""), str(each.get("thinking") or ""))
                self._update_usage(piece.get("usage"))
                self._record_stop(piece.get("stop_reason") or "end_turn")
                yield from self._explain_refusal(piece.get("stop_details"))

    @property
    def is_whole(self) -> bool:
        """See `Assembler.is_whole`."""
        return bool(self._blocks) and all(self._is_whole_call(self._blocks[place]) for place in self._open)

    @staticmethod
    def _is_whole_call(block: Json) -> bool:
        """Return whether a block that was never closed is a call whose arguments are all there."""
        return block.get("type") == "tool_use" and is_json_object("".join(block["pieces"]))

    def build_reply(self, usage: Usage) -> Reply:
        """See `Assembler.build_reply`."""
        text: list[str] = []
        thoughts: list[str] = []
        actions: list[Action] = []
        parts = PartRecorder(FORM)
        for block in self._blocks.values():
            raw = "".join(block["pieces"])
            match block.get("type"):
                case "text":
                    text.append(str(block.get("text") or "") + raw)
                    parts.add_text(len(text[-1]), find_extra(block, _OF_TEXT))
                case "tool_use":
                    raw = raw or json.dumps(block.get("input") or {}, ensure_ascii=False)
                    cut = self._stop == "length"
                    actions.append(parse_action(str(block["id"]), str(block["name"]), raw, cut=cut))
                    parts.add_call(find_extra(block, _OF_CALL))
                case kind:
                    whole = {key: value for key, value in block.items() if key not in _OURS}
                    if kind == "thinking":
                        whole["thinking"] = str(block.get("thinking") or "") + raw
                        thoughts.append(whole["thinking"])
                    elif raw and is_json_object(raw):
                        whole["input"] = json.loads(raw)
                    if kind not in _THOUGHTS or whole.get("signature") or whole.get("data"):
                        parts.add_block(whole)
        return Reply(
            text="".join(text),
            actions=tuple(actions),
            reasoning="".join(thoughts),
            usage=usage,
            stop="actions" if actions and self._stop in ("end", "other") else self._stop,
            kept=parts.build(),
        )

    @property
    def usage(self) -> Usage:
        """See `Assembler.usage`."""
        read = parse_token_count(self._usage.get("cache_read_input_tokens"))
        written = parse_token_count(self._usage.get("cache_creation_input_tokens"))
        details = self._usage.get("output_tokens_details")
        thoughts = details.get("thinking_tokens") if isinstance(details, Mapping) else None
        return Usage(
            input=parse_token_count(self._usage.get("input_tokens")) + read + written,
            cached=read,
            written=written,
            output=parse_token_count(self._usage.get("output_tokens")),
            reasoning=parse_token_count(thoughts),
        )

    def _begin_block(self, place: int, block: Mapping[str, Any]) -> None:
        self.bounds.add_part(sum(len(str(value)) for value in block.values()))
        self.bounds.add_call()  # a thought costs as much as a call, and there are as few
        self._blocks[place] = {**block, "pieces": TextPieces(), "size": 0}

    def _feed_delta(self, block: Json, delta: Mapping[str, Any]) -> Iterator[TextDelta | ReasoningDelta]:
        kind = str(delta.get("type"))
        if kind not in _DELTAS:
            return
        text = str(delta[_DELTAS[kind]])
        self.bounds.add_part(len(text))
        if kind == "signature_delta":
            block["signature"] = block.get("signature", "") + text
            return
        block["pieces"].append(text)
        if kind == "input_json_delta":
            block["size"] += len(text)
            check_arguments_size(block["size"])
        yield from self._emit_deltas(
            text if kind == "text_delta" else "", text if kind == "thinking_delta" else ""
        )

    def _emit_deltas(self, text: str, thought: str) -> Iterator[TextDelta | ReasoningDelta]:
        if thought:
            yield ReasoningDelta(text=thought)
        if text:
            self.spoke = True
            yield TextDelta(text=text)

    def _update_usage(self, usage: Mapping[str, Any] | None) -> None:
        self._usage.update({key: value for key, value in (usage or {}).items() if value is not None})

    def _record_stop(self, reason: object) -> None:
        if reason:
            self.finished = True
            self._stop = _STOPS.get(str(reason), "other")

    def _explain_refusal(self, details: object) -> Iterator[TextDelta | ReasoningDelta]:
        """Add to a refusal what it is about, as the answer's last words."""
        if self._stop != "refusal" or not isinstance(details, Mapping):
            return
        given = (details.get("category"), details.get("explanation"))
        if why := ": ".join(str(each) for each in given if each):
            place = max(self._blocks, default=-1) + 1
            self._begin_block(place, {"type": "text"})
            text = f"\n\n(Refused: {why})" if place else f"(Refused: {why})"
            yield from self._feed_delta(self._blocks[place], {"type": "text_delta", "text": text})
