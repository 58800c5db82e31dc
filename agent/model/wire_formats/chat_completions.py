"""Wire format of chat-completions endpoints (OpenAI's own and the many compatible ones)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from agent.model.protocol import AssistantMessage, Message, Request, ToolSpec, UserMessage
from agent.model.wire_formats.chat_messages import FORM, message_to_json, tool_to_json
from agent.model.wire_formats.kept_parts import Kept, select_parts
from agent.model.wire_formats.wire_protocol import (
    Assembler,
    EncodedPrefix,
    apply_concession,
    encode_json,
    encode_message,
    find_last_permanent_message,
)
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily


@dataclass(slots=True, kw_only=True)
class ChatDialect:
    """Differences between endpoints.

    usage: request token counts in the stream
    reasoning: send the model's reasoning back to it
    limit: parameter for the output limit
    effort: reasoning effort (see `agent.model.model_settings`), "" for the model's default
    temperature: of the sampling, None for the model's default
    mark: request the prompt cache, which Anthropic's models require (gateways pass it on)
    images: accepts images; else a note says that there was one
    sticky: key that routes requests with the same beginning to the same cache, "" if the endpoint accepts
    none
    retention: how long the endpoint keeps its cache ("24h"), "" for its default
    tier: of its service ("default", "flex", "priority"), "" for the account's
    schemas: makes a reply fit a schema
    nulls: accepts null as the content of a message that only has calls
    extras: takes back what it attached to its replies
    splits: what the system prompt says of the folder goes with the first message, since templates of open models
        render the tools after the system message: the server's prefix cache then holds from folder to folder
    """

    usage: bool = True
    reasoning: bool = False
    limit: str = "max_tokens"
    effort: str = ""
    temperature: float | None = None
    mark: bool = False
    images: bool = True
    sticky: str = ""
    retention: str = ""
    tier: str = ""
    nulls: bool = True
    extras: bool = True
    splits: bool = False
    schemas: bool = True


_CONCESSIONS: Mapping[str, Mapping[str, bool | str | None]] = {
    "max_completion_tokens": {"limit": "max_completion_tokens"},
    "reasoning_content": {"reasoning": True},
    "stream_options": {"usage": False},
    "include_usage": {"usage": False},
    "temperature": {"temperature": None},
    "prompt_cache_retention": {"retention": ""},
    "prompt_cache_key": {"sticky": ""},
    "service_tier": {"tier": ""},
    "cache_control": {"mark": False},
    "support image": {"images": False},
    "image input": {"images": False},
    "support vision": {"images": False},
    "image_url is only": {"images": False},
    "mmproj": {"images": False},
    "reasoning_details": {"extras": False},
    "extra_content": {"extras": False},
    "signature": {"extras": False},
    "xtra inputs are not permitted": {"extras": False},
    "dditional properties": {"extras": False},
    "nrecognized": {"extras": False},
    "nknown field": {"extras": False},
    "response_format": {"schemas": False},
    "json_schema": {"schemas": False},
}
"""Words in an endpoint's refusal (400 or 422), and the dialect change that each leads to."""


_NULL_CONTENT = compile_lazily(
    r"NoneType|invalid type: null|content\b.{0,80}\b(?:null|none)\b|\b(?:null|none)\b.{0,80}\bcontent"
    r"|content\b.{0,60}\bstring\b|\bstring\b.{0,80}\bcontent\b|content\W.{0,20}(?:is |field )?required"
    r"|(?:required|missing)\b.{0,40}\bmessages\b.{0,20}\bcontent\b",
    re.IGNORECASE | re.DOTALL,
)
"""Wordings of servers, and of their templates, that fail at a message without content."""

_TOO_LONG = compile_lazily(r"too (?:long|large)|max(?:imum)?[ _]length", re.IGNORECASE)
"""Words about a content that is there."""


class ChatWire:
    """Chat completions. model: as the endpoint calls it"""

    path = "/chat/completions"
    endpoint = ""

    def __init__(self, model: str, dialect: ChatDialect | None = None) -> None:
        self.dialect = dialect or ChatDialect()
        self._model = model
        self._fixed = EncodedPrefix(_encode_system, _encode_tools)

    @property
    def tier(self) -> str:
        """See `Wire`."""
        return self.dialect.tier

    def headers(self, key: str) -> dict[str, str]:
        """See `Wire.headers`."""
        return {"Authorization": f"Bearer {key}"} if key else {}

    def body(self, request: Request) -> bytes:
        """See `Wire.body`."""
        dialect = self.dialect
        shared, rest = request.split_system() if dialect.splits else (request.system, "")
        fixed = self._fixed.encode_prefix(replace(request, system=shared) if rest else request)
        options: dict[str, Any] = {"model": self._model, "stream": True}
        if dialect.usage:
            options["stream_options"] = {"include_usage": True}
        if request.max_output:
            options[dialect.limit] = request.max_output
        if dialect.effort:
            options["reasoning_effort"] = dialect.effort
        if dialect.temperature is not None:
            options["temperature"] = dialect.temperature
        if request.temperature is not None and not dialect.sticky:  # newer models of OpenAI refuse it
            options["temperature"] = request.temperature
        # With a grammar for the text, servers of open models call no tools.
        if request.schema is not None and dialect.schemas and (dialect.sticky or not request.tools):
            form = {"name": "reply", "strict": True, "schema": request.schema}
            options["response_format"] = {"type": "json_schema", "json_schema": form}
        if dialect.sticky:
            options["prompt_cache_key"] = dialect.sticky
        if dialect.retention:
            options["prompt_cache_retention"] = dialect.retention
        if dialect.tier:
            options["service_tier"] = dialect.tier
        messages = [fixed.system] if fixed.system else []
        encoding = (
            f"{self._form}@{self.endpoint}" if dialect.images else ""
        )  # hundreds of messages, nearly all encoded before
        messages += [
            message.wire.get(encoding) or self._encode_message(message) for message in request.messages
        ]
        if rest:
            self._place_rest(rest, request.messages, messages)
        if (
            dialect.mark
            and (mark := find_last_permanent_message(request.messages)) == len(request.messages) - 1
        ):
            options["cache_control"] = _EPHEMERAL  # the end is marked by the gateway
        elif dialect.mark and mark >= 0:
            messages[mark - len(request.messages)] = encode_json(
                _mark_for_cache(
                    request.messages[mark],
                    self._select_parts(request.messages[mark]),
                    nulls=self.dialect.nulls,
                )
            )
        return b"".join(
            (encode_json(options)[:-1], fixed.tools, b',"messages":[', b",".join(messages), b"]}")
        )

    def create_assembler(self) -> Assembler:
        """See `Wire.create_assembler`."""
        from agent.model.wire_formats.chat_assembler import ChatAssembler

        return ChatAssembler()

    def parse_error(self, piece: Mapping[str, Any]) -> tuple[int, Mapping[str, Any]] | None:
        """See `Wire.parse_error`."""
        error = piece.get("error")
        if not error:
            return None
        status = error.get("code") if isinstance(error, dict) else None
        details = error if isinstance(error, dict) else {"message": str(error)}
        return (status if isinstance(status, int) else 500), details

    def adapt_to_refusal(self, said: str) -> bool:
        """See `Wire.adapt_to_refusal`."""
        from agent.model.wire_formats.refused_effort import lower_effort

        if self.dialect.nulls and _NULL_CONTENT.search(said) and not _TOO_LONG.search(said):
            self.dialect = replace(self.dialect, nulls=False)
            return True
        changed = lower_effort(self.dialect, said) or apply_concession(self.dialect, said, _CONCESSIONS)
        self.dialect = changed or self.dialect
        return changed is not None

    def _place_rest(self, rest: str, messages: Sequence[Message], encoded: list[bytes]) -> None:
        """Put the rest of the system prompt before the text of the first message."""
        at = len(encoded) - len(messages)
        first = messages[0] if messages else None
        if not isinstance(first, UserMessage) or first.passing:
            encoded.insert(at, encode_json({"role": "user", "content": rest}))
            return
        form = f"{self._form}+rest" if self.dialect.images else "openai-chat-blind+rest"
        if form not in first.wire:
            whole = UserMessage(text=f"{rest}\n\n{first.text}", images=first.images)
            first.wire[form] = self._encode_message(whole)
        encoded[at] = first.wire[form]

    def _encode_message(self, message: Message) -> bytes:
        if isinstance(message, UserMessage) and message.images and not self.dialect.images:
            without = UserMessage(text=f"{message.text}\n[with an image, which you cannot see]")
            return encode_message(
                message, "openai-chat-blind", lambda: message_to_json(without, reasoning=False)
            )
        kept = self._select_parts(message)
        own = f"{self._form}@{self.endpoint}"
        dialect = self.dialect
        encoded = encode_message(
            message,
            own if kept else self._form,
            lambda: message_to_json(message, reasoning=dialect.reasoning, kept=kept, nulls=dialect.nulls),
        )
        message.wire[own] = encoded
        return encoded

    def _select_parts(self, message: Message) -> Sequence[Kept]:
        if not (self.dialect.extras and isinstance(message, AssistantMessage)):
            return ()
        return select_parts(message, FORM, self.endpoint)

    @property
    def _form(self) -> str:
        form = f"{FORM}+reasoning" if self.dialect.reasoning else FORM
        form = form if self.dialect.nulls else f"{form}-filled"
        return form if self.dialect.extras else f"{form}-plain"


def _mark_for_cache(message: Message, kept: Sequence[Kept], *, nulls: bool) -> dict[str, Any]:
    """Return a message with a cache mark at its end; see `message_to_json`."""
    whole = message_to_json(message, reasoning=False, kept=kept, nulls=nulls)
    if isinstance(whole["content"], str) and whole["content"]:
        whole["content"] = [{"type": "text", "text": whole["content"], "cache_control": _EPHEMERAL}]
    return whole


_EPHEMERAL = {"type": "ephemeral"}


def _encode_system(text: str) -> bytes:
    return encode_json({"role": "system", "content": text}) if text else b""


def _encode_tools(tools: Sequence[ToolSpec]) -> bytes:
    return b',"tools":' + encode_json([tool_to_json(tool) for tool in tools]) if tools else b""
