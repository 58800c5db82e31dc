"""The three formats that the loopback server speaks, from the server's side."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from agent.model.protocol import AssistantMessage, Message, Request, ToolMessage, ToolSpec, UserMessage
from agent.model.scripted.scripted_model import Turn, split_into_pieces
from agent.model.wire_formats.tool_arguments import parse_action
from tools.core.action import Action

Json = dict[str, Any]


class ServedWire(Protocol):
    """One format: what a request means, and what a script's turn looks like as an answer."""

    def decoded(self, body: Mapping[str, Any]) -> Request: ...
    def whole(self, turn: Turn, actions: Sequence[Action], *, usage: bool) -> Json: ...
    def events(
        self, turn: Turn, actions: Sequence[Action], body: Mapping[str, Any], *, usage: bool
    ) -> Iterator[str]: ...


class Chat:
    """Chat completions."""

    def decoded(self, body: Mapping[str, Any]) -> Request:
        system, messages = "", list[Message]()
        for message in body.get("messages", ()):
            content = _text(message.get("content"))
            match message["role"]:
                case "system" | "developer":
                    system += content
                case "user":
                    messages.append(UserMessage(text=content))
                case "tool":
                    messages.append(ToolMessage(call=message["tool_call_id"], name="", text=content))
                case "assistant":
                    actions = tuple(
                        parse_action(call["id"], call["function"]["name"], call["function"]["arguments"])
                        for call in message.get("tool_calls") or ()
                    )
                    messages.append(AssistantMessage(text=content, actions=actions))
        functions = [tool["function"] for tool in body.get("tools") or ()]
        tools = tuple(_tool(each, "parameters") for each in functions)
        return Request(system=system, messages=messages, tools=tools, max_output=body.get("max_tokens"))

    def whole(self, turn: Turn, actions: Sequence[Action], *, usage: bool) -> Json:
        message: Json = {"role": "assistant", "content": turn.text or None}
        if turn.reasoning:
            message["reasoning_content"] = turn.reasoning
        if actions:
            calls = enumerate(actions)
            message["tool_calls"] = [self._call(place, action, action.raw) for place, action in calls]
        choice = {"index": 0, "message": message, "finish_reason": self._stop(turn, actions)}
        answer = {**_CHAT, "object": "chat.completion", "choices": [choice]}
        return answer | {"usage": self._usage(turn)} if usage else answer

    def events(
        self, turn: Turn, actions: Sequence[Action], body: Mapping[str, Any], *, usage: bool
    ) -> Iterator[str]:
        yield self._event({"role": "assistant", "content": ""})
        for piece in split_into_pieces(turn.reasoning):
            yield self._event({"reasoning_content": piece})
        for piece in split_into_pieces(turn.text):
            yield self._event({"content": piece})
        for place, action in enumerate(actions):
            yield self._event({"tool_calls": [self._call(place, action, "")]})
            for part in _parts(action.raw):
                fragment = {"index": place, "function": {"arguments": part}}
                yield self._event({"tool_calls": [fragment]})
        yield self._event({}, finish=self._stop(turn, actions))
        if usage and (body.get("stream_options") or {}).get("include_usage"):
            yield f"data: {json.dumps({**_CHUNK, 'choices': [], 'usage': self._usage(turn)})}\n\n"
        yield "data: [DONE]\n\n"

    def _event(self, delta: Mapping[str, Any], finish: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return f"data: {json.dumps({**_CHUNK, 'choices': [choice]})}\n\n"

    def _call(self, place: int, action: Action, arguments: str) -> Json:
        function = {"name": action.tool, "arguments": arguments}
        return {"index": place, "id": action.id, "type": "function", "function": function}

    def _stop(self, turn: Turn, actions: Sequence[Action]) -> str:
        names = {"length": "length", "refusal": "content_filter", "actions": "tool_calls", "end": "stop"}
        return names.get(turn.stop or ("actions" if actions else "end"), "other")

    def _usage(self, turn: Turn) -> Json:
        counts = turn.usage
        return {
            "prompt_tokens": counts.input,
            "completion_tokens": counts.output,
            "total_tokens": counts.input + counts.output,
            "prompt_tokens_details": {"cached_tokens": counts.cached},
            "completion_tokens_details": {"reasoning_tokens": counts.reasoning},
            **({"cost": counts.cost} if counts.cost is not None else {}),
        }


_CHAT = {"id": "chatcmpl-loopback", "created": 0, "model": "loopback"}
_CHUNK = {**_CHAT, "object": "chat.completion.chunk"}


class Responses:
    """OpenAI's responses. A turn's reasoning comes as an item with an "encrypted" copy."""

    def decoded(self, body: Mapping[str, Any]) -> Request:
        messages = list[Message]()
        asked: list[Action] = []
        text = ""

        def close() -> None:
            nonlocal text
            if asked or text:
                messages.append(AssistantMessage(text=text, actions=tuple(asked)))
                asked.clear()
                text = ""

        for item in body.get("input", ()):
            match item.get("type") or item.get("role"):
                case "function_call":
                    asked.append(parse_action(item["call_id"], item["name"], item["arguments"]))
                case "function_call_output":
                    close()
                    messages.append(ToolMessage(call=item["call_id"], name="", text=item["output"]))
                case "assistant":
                    close()
                    text = _text(item["content"])
                case "user":
                    close()
                    messages.append(UserMessage(text=_text(item["content"])))
        close()
        offered = (each for each in body.get("tools") or () if "name" in each)  # others are the server's own
        tools = tuple(_tool(each, "parameters") for each in offered)
        limit = body.get("max_output_tokens")
        return Request(system=body.get("instructions", ""), messages=messages, tools=tools, max_output=limit)

    def whole(self, turn: Turn, actions: Sequence[Action], *, usage: bool) -> Json:
        stop = turn.stop
        answer: Json = {
            "id": "resp_loopback",
            "object": "response",
            "created_at": 0,
            "model": "loopback",
            "status": "incomplete" if stop in ("length", "refusal") else "completed",
            "output": self._items(turn, actions),
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
        }
        if stop in ("length", "refusal"):
            reason = "max_output_tokens" if stop == "length" else "content_filter"
            answer["incomplete_details"] = {"reason": reason}
        if usage:
            counts = turn.usage
            answer["usage"] = {
                "input_tokens": counts.input,
                "input_tokens_details": {"cached_tokens": counts.cached},
                "output_tokens": counts.output,
                "output_tokens_details": {"reasoning_tokens": counts.reasoning},
                "total_tokens": counts.input + counts.output,
                **({"cost": counts.cost} if counts.cost is not None else {}),
            }
        return answer

    def events(
        self, turn: Turn, actions: Sequence[Action], body: Mapping[str, Any], *, usage: bool
    ) -> Iterator[str]:
        whole = self.whole(turn, actions, usage=usage)
        yield self._event("response.created", response=whole | {"status": "in_progress", "output": []})
        for place, item in enumerate(whole["output"]):
            where = {"output_index": place, "item_id": item["id"]}
            yield self._event(
                "response.output_item.added", output_index=place, item=item | _EMPTY[item["type"]]
            )
            if item["type"] == "reasoning":
                for piece in split_into_pieces(turn.reasoning):
                    yield self._event(
                        "response.reasoning_summary_text.delta", **where, summary_index=0, delta=piece
                    )
            elif item["type"] == "message":
                for piece in split_into_pieces(turn.text):
                    yield self._event("response.output_text.delta", **where, content_index=0, delta=piece)
            else:
                for part in _parts(item["arguments"]):
                    yield self._event("response.function_call_arguments.delta", **where, delta=part)
            yield self._event("response.output_item.done", output_index=place, item=item)
        kind = "response.incomplete" if whole["status"] == "incomplete" else "response.completed"
        yield self._event(kind, response=whole)

    def _items(self, turn: Turn, actions: Sequence[Action]) -> list[Json]:
        items: list[Json] = []
        if turn.reasoning:
            summary = [{"type": "summary_text", "text": turn.reasoning}]
            sealed = f"sealed {turn.reasoning}"
            items.append({"type": "reasoning", "id": "rs_1", "summary": summary, "encrypted_content": sealed})
        if turn.text:
            part = {"type": "output_text", "text": turn.text, "annotations": []}
            items.append(
                {
                    "type": "message",
                    "id": "msg_1",
                    "role": "assistant",
                    "status": "completed",
                    "content": [part],
                }
            )
        items += [
            {
                "type": "function_call",
                "id": f"fc_{place}",
                "call_id": action.id,
                "name": action.tool,
                "arguments": action.raw,
                "status": "completed",
            }
            for place, action in enumerate(actions)
        ]
        return items

    def _event(self, kind: str, **fields: Any) -> str:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, 'sequence_number': 0, **fields})}\n\n"


_EMPTY: Mapping[str, Json] = {
    "reasoning": {"summary": []},
    "message": {"content": []},
    "function_call": {"arguments": ""},
}


class Messages:
    """Anthropic's messages. A turn's reasoning comes as a signed block of thinking."""

    def decoded(self, body: Mapping[str, Any]) -> Request:
        messages = list[Message]()
        for message in body.get("messages", ()):
            content = message["content"]
            blocks = [{"type": "text", "text": content}] if isinstance(content, str) else content
            if message["role"] == "assistant":
                used = [block for block in blocks if block["type"] == "tool_use"]
                actions = tuple(
                    parse_action(each["id"], each["name"], json.dumps(each["input"])) for each in used
                )
                messages.append(AssistantMessage(text=_text(blocks), actions=actions))
                continue
            for block in blocks:
                if block["type"] == "tool_result":
                    text = _text(block.get("content"))
                    messages.append(ToolMessage(call=block["tool_use_id"], name="", text=text))
                elif block["type"] == "text":
                    messages.append(UserMessage(text=block["text"]))
        tools = tuple(_tool(each, "input_schema") for each in body.get("tools") or ())
        system = _text(body.get("system"))
        return Request(system=system, messages=messages, tools=tools, max_output=body.get("max_tokens"))

    def whole(self, turn: Turn, actions: Sequence[Action], *, usage: bool) -> Json:
        content: list[Json] = []
        if turn.reasoning:
            content.append({"type": "thinking", "thinking": turn.reasoning, "signature": "signed"})
        if turn.text:
            content.append({"type": "text", "text": turn.text})
        for action in actions:
            try:
                given = json.loads(action.raw)
            except ValueError:  # only a stream can carry arguments that are not JSON
                given = action.raw
            content.append({"type": "tool_use", "id": action.id, "name": action.tool, "input": given})
        answer: Json = {
            "id": "msg_loopback",
            "type": "message",
            "role": "assistant",
            "model": "loopback",
            "content": content,
            "stop_reason": self._stop(turn, actions),
            "stop_sequence": None,
        }
        counts = self._usage(turn) if usage else {"input_tokens": 0, "output_tokens": 0}
        return answer | {"usage": counts}

    def events(
        self, turn: Turn, actions: Sequence[Action], body: Mapping[str, Any], *, usage: bool
    ) -> Iterator[str]:
        whole = self.whole(turn, actions, usage=usage)
        begun = whole | {"content": [], "stop_reason": None, "usage": whole["usage"] | {"output_tokens": 1}}
        yield self._event("message_start", message=begun)
        calls = iter(actions)
        for place, block in enumerate(whole["content"]):
            kind = block["type"]
            empty = {
                "thinking": {"thinking": "", "signature": ""},
                "text": {"text": ""},
                "tool_use": {"input": {}},
            }
            yield self._event("content_block_start", index=place, content_block=block | empty[kind])
            deltas: list[Json] = []
            if kind == "thinking":
                deltas = [
                    {"type": "thinking_delta", "thinking": piece}
                    for piece in split_into_pieces(turn.reasoning)
                ]
                deltas.append({"type": "signature_delta", "signature": "signed"})
            elif kind == "text":
                deltas = [{"type": "text_delta", "text": piece} for piece in split_into_pieces(turn.text)]
            else:
                parts = _parts(next(calls).raw)
                deltas = [{"type": "input_json_delta", "partial_json": part} for part in parts]
            for delta in deltas:
                yield self._event("content_block_delta", index=place, delta=delta)
            yield self._event("content_block_stop", index=place)
        yield self._event("ping")
        ended = {"stop_reason": whole["stop_reason"], "stop_sequence": None}
        yield self._event(
            "message_delta", delta=ended, usage={"output_tokens": whole["usage"]["output_tokens"]}
        )
        yield self._event("message_stop")

    def _event(self, kind: str, **fields: Any) -> str:
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **fields})}\n\n"

    def _stop(self, turn: Turn, actions: Sequence[Action]) -> str:
        names = {"length": "max_tokens", "refusal": "refusal", "actions": "tool_use", "end": "end_turn"}
        return names.get(turn.stop or ("actions" if actions else "end"), "pause_turn")

    def _usage(self, turn: Turn) -> Json:
        counts = turn.usage
        return {
            "input_tokens": counts.input - counts.cached,
            "cache_read_input_tokens": counts.cached,
            "cache_creation_input_tokens": 0,
            "output_tokens": counts.output,
        }


WIRES: Mapping[str, ServedWire] = {
    "/chat/completions": Chat(),
    "/responses": Responses(),
    "/messages": Messages(),
}
"""By how the path ends."""


def _parts(text: str) -> list[str]:
    return [text[start : start + 24] for start in range(0, len(text), 24)]


def _text(content: object) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(part.get("text", "") for part in parts if part.get("type") != "thinking")


def _tool(given: Mapping[str, Any], schema: str) -> ToolSpec:
    return ToolSpec(
        name=given["name"], description=given.get("description", ""), parameters=given.get(schema, {})
    )
