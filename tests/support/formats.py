"""Models of each wire format behind a loopback server."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from agent.model.anthropic_http import AnthropicMessages
from agent.model.http_model import HttpModel
from agent.model.openai_http import OpenAIChat
from agent.model.openai_responses import OpenAIResponses
from agent.model.retry import Patience
from tests.support.loopback import Loopback

KINDS: Mapping[str, Callable[..., HttpModel]] = {
    "chat": OpenAIChat,
    "responses": OpenAIResponses,
    "anthropic": AnthropicMessages,
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


class Hurried(Patience):
    """As many tries, and no waiting between them."""

    def pause(self, asked: float | None = None) -> float | None:
        pause = super().pause(asked)
        return None if pause is None else 0.0


def model(kind: str, server: Loopback, **options: Any) -> HttpModel:
    """A model of a kind at the server, with a key."""
    return KINDS[kind](f"{kind}/tiny", "tiny", server.url, "sk-secret", **{"patience": Hurried, **options})
