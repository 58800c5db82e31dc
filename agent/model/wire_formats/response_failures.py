"""Failures that a stream of the responses format reports: passing ones, those of the request, and refusals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_STATUS: Mapping[str, int] = {
    "rate_limit_exceeded": 429,
    "invalid_prompt": 400,
    "context_length_exceeded": 400,
    "invalid_request_error": 400,
    "insufficient_quota": 401,
}
"""HTTP status for each error code in a stream."""

_PASSING = frozenset(
    {
        "server_error",
        "vector_store_timeout",
        "internal_error",
        "internal_server_error",
        "overloaded",
        "timeout",
    }
    | {"overloaded_error", "api_error", "service_unavailable", "error", "engine_overloaded"}
)
"""Codes of failed responses for which another try may do; every other one is about the request."""


def parse_stream_error(piece: Mapping[str, Any]) -> tuple[int, Mapping[str, Any]] | None:
    """Return HTTP status and details of the error that an event is; None for any other event, and for a refusal."""
    kind = piece.get("type")
    details = piece.get("error")
    if kind == "response.failed":
        details = (piece.get("response") or {}).get("error") or {"message": "the response failed"}
        if _is_policy(details):  # no error of the request: a refusal
            return None
    elif kind == "error":
        details = details or piece
    if not isinstance(details, Mapping):
        return None
    code = details.get("code") or details.get("type")
    unknown = 400 if kind == "response.failed" and isinstance(code, str) and code not in _PASSING else 500
    return _STATUS.get(str(code), unknown), details


def _is_policy(details: object) -> bool:
    """Return whether the error of a failed response says that a policy of the provider forbids the answer."""
    code = str(details.get("code") or "") if isinstance(details, Mapping) else ""
    return "policy" in code or code in ("content_filter", "safety")
