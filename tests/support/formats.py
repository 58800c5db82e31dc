"""Models of each wire format behind a loopback server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agent.model.http.http_model import HttpModel, ModelAddress
from agent.model.http.retry import RetryBudget
from agent.model.wire_formats.anthropic_messages import AnthropicWire
from agent.model.wire_formats.chat_completions import ChatWire
from agent.model.wire_formats.openai_responses import ResponsesWire
from agent.model.wire_formats.wire_protocol import Wire
from tests.support.loopback import Loopback
from tests.support.raw_endpoint import RawEndpoint

KINDS: Mapping[str, Callable[..., Wire]] = {
    "chat": ChatWire,
    "responses": ResponsesWire,
    "anthropic": AnthropicWire,
}

OVERFLOW: Mapping[str, str] = {
    "chat": '{"error":{"message":"This model\'s maximum context length is 8192 tokens. However, your messages'
    ' resulted in 9000 tokens.","type":"invalid_request_error","code":"context_length_exceeded"}}',
    "responses": '{"error":{"message":"Your input exceeds the context window of this model.",'
    '"type":"invalid_request_error","code":"context_length_exceeded"}}',
    "anthropic": '{"type":"error","error":{"type":"invalid_request_error",'
    '"message":"prompt is too long: 9000 tokens > 8192 maximum"}}',
}
"""How each says that a request is too long."""


class Hurried(RetryBudget):
    """As many tries, and no waiting between them."""

    def next_pause(self, asked: float | None = None) -> float | None:
        pause = super().next_pause(asked)
        return None if pause is None else 0.0


def model(
    kind: str,
    server: Loopback | RawEndpoint,
    *,
    dialect: object = None,
    key: str = "sk-secret",
    **options: Any,
) -> HttpModel:
    """A model of a kind at the server, with a key."""
    place = ModelAddress(name=f"{kind}/tiny", model="tiny", base=server.url, key=key)
    return HttpModel(place, wire=KINDS[kind]("tiny", dialect), **{"patience": Hurried, **options})


def chat_at(url: str, name: str = "x", **options: Any) -> HttpModel:
    """A model that speaks chat completions at an address, without a key."""
    return HttpModel(ModelAddress(name=name, model=name, base=url), wire=ChatWire(name), **options)
