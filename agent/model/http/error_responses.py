"""Classification of refused requests by the server's status and error text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from agent.model.http.retry import PASSING, parse_retry_after
from agent.model.protocol import ContextOverflow, ToolsRefused
from sandbox.errors import Fault, UserError

_OVERFLOW = re.compile(
    r"context_length_exceeded|context_?window_?exceeded|maximum context length|context window"
    r"|prompt is too long|input is too long|exceeds? (?:the |this |its )?(?:available |model'?s? )?context"
    r"|exceed(?:s|ed)? (?:the )?(?:model'?s? )?(?:max(?:imum)?|limit).{0,40}tokens|too many (?:input )?tokens"
    r"|reduce the length of the (?:messages|prompt|input)|input token count.{0,40}exceeds",
    re.IGNORECASE | re.DOTALL,
)
"""Wordings of providers and local servers for a request that exceeds the model's context window."""

_NO_TOOLS = re.compile(
    r"(?:does not|doesn't|do not|not) support (?:tool|function)|(?:tools?|tool.use|function.call\w*|tool.choice)"
    r" (?:is|are) not (?:supported|available|enabled)|no endpoints found that support tool|enable-auto-tool-choice"
    r"|requires --jinja|unsupported (?:parameter|field|argument).{0,20}\btools\b",
    re.IGNORECASE,
)
"""Wordings of servers for a model without tool support (Ollama, vLLM, llama.cpp, OpenRouter and others)."""

_LIMIT = re.compile(
    r"(?:maximum context length is|context (?:size|window|length)(?: of| is| \()?|> |limit of|maximum of|n_ctx[=: ]+)"
    r"\s*\(?([0-9][0-9,_]{2,9})\b",
    re.IGNORECASE,
)

_SENT = re.compile(
    r"(?:resulted in|requested|you passed|prompt is|request \(|has|contains|input(?: length)? of)\s*"
    r"([0-9][0-9,_]*)\s*(?:input |prompt )?tokens|([0-9][0-9,_]*) tokens >",
    re.IGNORECASE,
)
"""Wordings in which a refusal tells the size of the request."""

SHORTEST_KEY = 8
"""Characters of the shortest key that is masked. A placeholder such as "x" stands in every other word."""

_NO_CREDIT = (
    "insufficient_quota",
    "invalid_api_key",
    "authentication_error",
    "permission_error",
    "billing_error",
)


class TransientError(Exception):
    """A failure that a retry may cure.

    asked: seconds to wait, as requested by the server; tries: after this many a further one is no use, 0: no limit
    """

    def __init__(self, reason: str, asked: float | None = None, tries: int = 0) -> None:
        super().__init__(reason)
        self.reason = reason
        self.asked = asked
        self.tries = tries


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestTarget:
    """Endpoint of a request, for error messages. key: is never shown; variable: where it came from"""

    url: str
    model: str
    key: str
    variable: str


def classify_failure(asked: RequestTarget, status: int, headers: Mapping[str, str], body: bytes) -> Exception:
    """Return the exception for an answer other than 200: TransientError, ContextOverflow or another UserError."""
    code, text = parse_error_body(body)
    words = f": {mask_key(text, asked.key)}" if text else ""
    if status in (401, 403) or code in _NO_CREDIT:
        variable = asked.variable or "the API key"
        hint = f"Check {variable}: is it for this provider, still valid, and paid for?"
        return UserError(Fault.CREDENTIALS, f"{asked.url} refuses access ({status}){words}", hint)
    if is_overflow(status, code, text):
        message = f"the request is too long for {asked.model!r} ({status}){words}"
        hint = "Use a model or a server setting with a larger window"
        return ContextOverflow(
            Fault.CONFIGURATION, message, hint, limit=parse_window(text), sent=parse_prompt_size(text)
        )
    if status in (400, 404, 422, 500, 501) and _NO_TOOLS.search(text):
        return ToolsRefused(
            Fault.CONFIGURATION, f"{asked.url} takes no tools ({status}){words}", "Another model may do"
        )
    if status in PASSING:
        return TransientError(f"{asked.url} answered {status}{words}", parse_retry_after(headers))
    if status == 404:
        message = f"{asked.url} knows no model {asked.model!r} (404){words}"
        hint = "Check the model's name and the API base, which usually ends in /v1"
        return UserError(Fault.CONFIGURATION, message, hint)
    if location := headers.get("location"):
        hint = f"Use it in the API base: it redirects to {sanitize_line(location, 200)!r}"
        return UserError(Fault.CONFIGURATION, f"{asked.url} has another address ({status})", hint)
    hint = "Another model may do"
    return UserError(Fault.CONFIGURATION, f"{asked.url} refuses the request ({status}){words}", hint)


def mask_key(text: str, key: str) -> str:
    """Return `text` for a message, with the key taken out where it is long enough to be one."""
    return text.replace(key, "…") if len(key) >= SHORTEST_KEY else text


def is_overflow(status: int, code: str, text: str) -> bool:
    """Return whether a refusal is about the length of the request."""
    if status in (401, 403, 404, 429):  # a tokens-per-minute limit mentions too many tokens, too
        return False
    return bool(status == 413 or _OVERFLOW.search(f"{code} {text}"))


def parse_window(text: str) -> int | None:
    """Return the context window in tokens that a refusal names, None if it names none."""
    found = [int(re.sub("[,_]", "", match)) for match in _LIMIT.findall(text)]
    return min((each for each in found if each >= 512), default=None)


def parse_prompt_size(text: str) -> int | None:
    """Return the tokens that a refusal counted in the request, None if it names none."""
    found = [int(re.sub("[,_]", "", next(filter(None, match)))) for match in _SENT.findall(text)]
    return max(found, default=None)


def parse_error_body(body: bytes) -> tuple[str, str]:
    """Return (code, message) of an error body, which is JSON of several shapes or plain text."""
    text = body.decode("utf-8", "replace")
    try:
        error = json.loads(text)
    except (ValueError, RecursionError):  # a proxy's page, a plain line
        return "", sanitize_line(text, 300)
    if isinstance(error, list) and error:
        error = error[0]
    if isinstance(error, dict):
        error = error.get("error", error)
    if not isinstance(error, dict):
        return "", sanitize_line(str(error), 300)
    message = error.get("message") or error.get("detail") or text
    return str(error.get("code") or error.get("type") or ""), sanitize_line(str(message), 300)


def sanitize_line(text: str, limit: int) -> str:
    """Return foreign text on one line, without control characters, truncated to `limit`."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text[: limit * 4]).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
