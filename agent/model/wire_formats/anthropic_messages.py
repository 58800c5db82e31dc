"""Wire format of Anthropic's messages endpoint (and of compatible gateways)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from agent.model.protocol import (
    AssistantMessage,
    Message,
    Request,
    ToolMessage,
    ToolSpec,
    UserMessage,
)
from agent.model.wire_formats.anthropic_reply import FORM, AnthropicAssembler
from agent.model.wire_formats.kept_parts import Kept, order_parts, select_parts
from agent.model.wire_formats.refused_effort import choose_accepted_effort
from agent.model.wire_formats.wire_protocol import (
    Assembler,
    EncodedPrefix,
    Json,
    encode_json,
    encode_message,
    find_last_permanent_message,
)
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily
from tools.core.action import Action

VERSION = "2023-06-01"

MOST_OUTPUT = 32_000
"""Limit on the output tokens of one answer, which is required: long files fit; smaller models report their limit."""

_BUDGETS = {"low": 4_000, "medium": 10_000, "high": 24_000, "xhigh": 32_000, "max": 48_000}
"""Thinking tokens for an effort, for models that accept no effort word."""


@dataclass(slots=True, kw_only=True)
class AnthropicDialect:
    """Capabilities of an endpoint.

    automatic: marks the end of the conversation for its cache by itself; else the last message is marked here
    adaptive: accepts a word for the thinking effort, not a number of tokens
    effort: "low", "medium", "high", "xhigh", "max", or "" for no thinking
    temperature: of the sampling; not sent together with thinking, which accepts only the default
    limit: the maximum of output tokens that can be requested from the model
    long: the cache keeps marked parts for an hour, not five minutes
    extras: takes back what it attached to its replies
    tier: of its service ("auto", "standard_only"), "" for the account's
    schemas: makes a reply fit a schema
    """

    automatic: bool = True
    adaptive: bool = True
    effort: str = ""
    temperature: float | None = None
    limit: int = MOST_OUTPUT
    long: bool = False
    extras: bool = True
    tier: str = ""
    schemas: bool = True


class AnthropicWire:
    """The messages format. model: as the endpoint calls it; token: the key is a bearer token"""

    path = "/messages"
    endpoint = ""

    def __init__(self, model: str, dialect: AnthropicDialect | None = None, *, token: bool = False) -> None:
        self.dialect = dialect or AnthropicDialect()
        self._model = model
        self._token = token
        self._fixed = EncodedPrefix(self._encode_system, _encode_tools)

    @property
    def tier(self) -> str:
        """See `Wire`: what is written to the cache for an hour costs more; its tiers of service cost the same."""
        return "1h" if self.dialect.long else ""

    def headers(self, key: str) -> dict[str, str]:
        """See `Wire.headers`."""
        headers = {"anthropic-version": VERSION}
        if not key:
            return headers
        return headers | ({"Authorization": f"Bearer {key}"} if self._token else {"x-api-key": key})

    def body(self, request: Request) -> bytes:
        """See `Wire.body`."""
        fixed, dialect = self._fixed.encode_prefix(request), self.dialect
        limit = min(request.max_output or dialect.limit, dialect.limit)
        options: Json = {"model": self._model, "stream": True, "max_tokens": limit}
        if dialect.effort and dialect.adaptive:
            options["thinking"] = {"type": "adaptive"}
            options["output_config"] = {"effort": dialect.effort}
        elif dialect.effort and limit > 2048:
            budget = min(_BUDGETS.get(dialect.effort, 10_000), limit // 2)
            options["thinking"] = {"type": "enabled", "budget_tokens": budget}
        elif dialect.temperature is not None:
            options["temperature"] = dialect.temperature
        if dialect.tier:
            options["service_tier"] = dialect.tier
        if request.schema is not None and dialect.schemas:
            form = {"type": "json_schema", "schema": request.schema}
            options.setdefault("output_config", {})["format"] = form
        mark = find_last_permanent_message(request.messages)
        if dialect.automatic and mark == len(request.messages) - 1:
            options["cache_control"] = self._mark  # the endpoint marks the end by itself
            mark = -1
        messages = list(self._encode_messages(request.messages, mark))
        head = (encode_json(options)[:-1], fixed.tools, fixed.system)
        return b"".join((*head, b',"messages":[', b",".join(messages), b"]}"))

    def create_assembler(self) -> Assembler:
        """See `Wire.create_assembler`."""
        return AnthropicAssembler()

    def parse_error(self, piece: Mapping[str, Any]) -> tuple[int, Mapping[str, Any]] | None:
        """See `Wire.parse_error`."""
        if piece.get("type") != "error" and not piece.get("error"):
            return None
        details = piece.get("error")
        details = details if isinstance(details, Mapping) else {"message": str(details)}
        return _STATUS.get(str(details.get("type")), 500), details

    def adapt_to_refusal(self, said: str) -> bool:
        """See `Wire.adapt_to_refusal`."""
        dialect = self.dialect
        if (limit := _MAX_TOKENS.search(said)) and 0 < int(limit[1]) < dialect.limit:
            self.dialect = replace(dialect, limit=int(limit[1]))
        elif dialect.schemas and re.search(r"output_config\.format|json_schema|output_format", said):
            self.dialect = replace(dialect, schemas=False)
        elif dialect.extras and re.search(
            r"signature|redacted_thinking|messages\.[0-9]+\.content.*[Ee]xtra inputs", said
        ):
            self.dialect = replace(dialect, extras=False)
        elif dialect.long and re.search(r"\bttl\b|extended-cache", said):
            self.dialect = replace(dialect, long=False)
            self._fixed = EncodedPrefix(self._encode_system, _encode_tools)
        elif dialect.tier and "service_tier" in said:
            self.dialect = replace(dialect, tier="")
        elif (
            dialect.effort
            and dialect.adaptive
            and "effort" in said
            and (accepted := choose_accepted_effort(dialect.effort, said))
        ):
            self.dialect = replace(dialect, effort=accepted)
        elif dialect.effort and dialect.adaptive and re.search("adaptive|output_config|effort", said):
            self.dialect = replace(dialect, adaptive=False)
        elif dialect.schemas and "output_config" in said:
            self.dialect = replace(dialect, schemas=False)
        elif dialect.effort and "thinking" in said:
            self.dialect = replace(dialect, effort="")
        elif dialect.temperature is not None and "temperature" in said:
            self.dialect = replace(dialect, temperature=None)
        elif dialect.automatic and "cache_control" in said:
            self.dialect = replace(dialect, automatic=False)
        else:
            return False
        return True

    @property
    def _mark(self) -> Json:
        return {"type": "ephemeral", "ttl": "1h"} if self.dialect.long else {"type": "ephemeral"}

    def _encode_messages(self, messages: Sequence[Message], marked: int) -> Iterator[bytes]:
        """Yield each message; the observations of one batch have to be in one. marked: the message to cache up to"""
        form = f"{FORM}@{self.endpoint}" if self.dialect.extras else FORM
        results: list[bytes] = []
        for place, message in enumerate(messages):
            if isinstance(message, ToolMessage):
                results.append(
                    encode_json(_build_tool_result(message) | {"cache_control": self._mark})
                    if place == marked
                    else encode_message(message, FORM, partial(_build_tool_result, message))
                )
                continue
            if results:
                yield _wrap_user_blocks(results)
                results = []
            if isinstance(message, UserMessage):
                mark_here = self._mark if place == marked else None
                blocks = [encode_json(block) for block in _build_user_blocks(message, mark_here)]
                yield _wrap_user_blocks(blocks)
            else:
                content = encode_message(message, form, partial(self._list_assistant_blocks, message))
                yield b'{"role":"assistant","content":' + content + b"}"
        if results:
            yield _wrap_user_blocks(results)

    def _list_assistant_blocks(self, message: AssistantMessage) -> list[Json]:
        kept = select_parts(message, FORM, self.endpoint) if self.dialect.extras else ()
        return list(_build_assistant_blocks(message, kept))

    def _encode_system(self, text: str) -> bytes:
        if not text:
            return b""
        # Marked here too: the beginning stays in the cache when the history is compacted.
        return b',"system":' + encode_json([{"type": "text", "text": text, "cache_control": self._mark}])


_MAX_TOKENS = compile_lazily(r"max_tokens: [0-9]+ > ([0-9]+)")

_STATUS: Mapping[str, int] = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "permission_error": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "timeout_error": 504,
    "overloaded_error": 529,
}
"""HTTP status for each error type in a stream."""


def _wrap_user_blocks(blocks: Sequence[bytes]) -> bytes:
    return b'{"role":"user","content":[' + b",".join(blocks) + b"]}"


def _build_user_blocks(message: UserMessage, cache: Json | None) -> Iterator[Json]:
    for image in message.images:
        source = {"type": "base64", "media_type": image.media, "data": image.data}
        yield {"type": "image", "source": source}
    text: Json = {"type": "text", "text": message.text if message.text.strip() else "(nothing)"}
    yield text | {"cache_control": cache} if cache else text


def _build_tool_result(message: ToolMessage) -> Json:
    result = {
        "type": "tool_result",
        "tool_use_id": _sanitize_identifier(message.call),
        "content": message.text,
    }
    return result | {"is_error": True} if message.failed else result


def _build_assistant_blocks(message: AssistantMessage, kept: Sequence[Kept]) -> Iterator[Json]:
    """Yield the assistant's blocks in their order, signed thoughts among them."""
    is_empty = True
    for part in order_parts(message, kept):
        if part.kind == "other":
            yield dict(part.block)
        elif part.action is not None:
            is_empty = False
            yield {**_build_tool_use(part.action), **part.extra}
        elif part.text.strip():
            is_empty = False
            yield {"type": "text", "text": part.text.rstrip(), **part.extra}
    if is_empty:
        yield {"type": "text", "text": "(nothing)"}


def _build_tool_use(action: Action) -> Json:
    name = _sanitize_identifier(action.tool)
    return {
        "type": "tool_use",
        "id": _sanitize_identifier(action.id),
        "name": name,
        "input": dict(action.arguments),
    }


def _sanitize_identifier(text: str) -> str:
    """Replace characters of ids and names, of other providers or invented by a model, that are not accepted here."""
    return re.sub(r"[^A-Za-z0-9_-]", "_", text)[:128] or "_"


def _encode_tools(tools: Sequence[ToolSpec]) -> bytes:
    if not tools:
        return b""
    return b',"tools":' + encode_json(
        [
            {"name": tool.name, "description": tool.description, "input_schema": dict(tool.parameters)}
            for tool in tools
        ]
    )
