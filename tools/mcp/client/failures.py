"""Reasons for which a connection or a request failed, as one clause for a person."""

from __future__ import annotations

import httpx2
from mcp import MCPError
from mcp.client import InputRequiredRoundsExceededError
from mcp_types import CONNECTION_CLOSED
from pydantic import ValidationError

LONGEST_REASON = 1_000
"""Characters of a reason, which becomes one line."""

_ANY_ERROR = "Server returned an error response"
"""The SDK's words for a status of HTTP that no message explains."""

_UNAUTHORIZED = 401


def describe_failure(error: BaseException, *, server: str, problem: str = "", status: int = 0) -> str:
    """Return the reason of a failure.

    problem: why the connection ended, if that is known; status: of the last HTTP response that was an error
    """
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    if status == _UNAUTHORIZED:
        return f"run: patchwright mcp login {server}"
    if problem:
        return shorten(problem)
    match error:
        case MCPError(code=code) if code == CONNECTION_CLOSED:
            return "it closed the connection" if str(error) == "Connection closed" else shorten(str(error))
        case MCPError():
            said = f"status {status} of HTTP" if status and str(error) == _ANY_ERROR else str(error)
            return shorten(f"it refused: {said}")
        case ValidationError():
            first = error.errors(include_url=False, include_input=False)[0]
            place = ".".join(str(part) for part in first["loc"])
            return shorten(f"it sent a result that breaks the protocol: {place}: {first['msg']}")
        case InputRequiredRoundsExceededError():
            return f"it asked for input more than {error.max_rounds} times"
        case httpx2.HTTPError():
            return shorten(f"it cannot be reached: {str(error) or type(error).__name__}")
    return shorten(str(error) or type(error).__name__)


def shorten(text: str) -> str:
    """Return a text on one line; it is untrusted, and may be megabytes."""
    return " ".join(text[: 4 * LONGEST_REASON].split())[:LONGEST_REASON]
