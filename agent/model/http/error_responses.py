"""Classification of refused requests by the server's status and error text."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from agent.model.http.overflow_wordings import LIMIT, OVERFLOW, SENT
from agent.model.http.retry import PASSING, TransientError, parse_retry_after
from agent.model.protocol import ContextOverflow, RequestRefused, ToolsRefused
from sandbox.errors import Fault, UserError
from sandbox.lazy_dataclass import dataclass
from sandbox.lazy_pattern import compile_lazily

_NO_TOOLS = compile_lazily(
    r"(?:does not|doesn't|do not|not) support (?:tool|function)|(?:tools?|tool.use|function.call\w*|tool.choice)"
    r" (?:is|are) not (?:supported|available|enabled)|no endpoints found that support tool|enable-auto-tool-choice"
    r"|requires --jinja|unsupported (?:parameter|field|argument).{0,20}\btools\b",
    re.IGNORECASE,
)
"""Wordings of servers for a model without tool support (Ollama, vLLM, llama.cpp, OpenRouter and others)."""

_PASSING_KINDS = {429: "rate limited", 503: "the server is overloaded", 529: "the server is overloaded"}

LONGEST_MESSAGE = 2_000
"""Characters of an error's text in which wordings are looked for."""

LONGEST_SHOWN = 1_000
"""Characters of them that are shown: providers explain a limit, with addresses, in about 500."""

_PAGE_TITLE = compile_lazily(
    r"\A\s*<(?:!doctype html|html)\b.{0,500}?<title>([^<]{1,200})</title>", re.IGNORECASE | re.DOTALL
)
"""What a proxy's page says; the rest of it is markup."""

SHORTEST_KEY = 8
"""Characters of the shortest key that is masked. A placeholder such as "x" stands in every other word."""

_NO_CREDIT = (
    "insufficient_quota",
    "invalid_api_key",
    "authentication_error",
    "permission_error",
    "billing_error",
)


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
    words = f": {mask_key(sanitize_line(text, LONGEST_SHOWN), asked.key)}" if text else ""
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
        passing = _PASSING_KINDS.get(status, f"the server failed ({status})")
        hint = "Try again later, or use another model"  # it runs, and its address is right
        reason = f"{asked.url} answered {status}{words}"
        return TransientError(reason, parse_retry_after(headers), kind=passing, hint=hint)
    if status == 404:
        message = f"{asked.url} knows no model {asked.model!r} (404){words}"
        hint = "Check the model's name and the API base, which usually ends in /v1"
        return UserError(Fault.CONFIGURATION, message, hint)
    if location := headers.get("location"):
        hint = f"Use it in the API base: it redirects to {sanitize_line(location, 200)!r}"
        return UserError(Fault.CONFIGURATION, f"{asked.url} has another address ({status})", hint)
    hint = "Another model may do"
    kind = RequestRefused if status in (400, 413, 422) else UserError
    return kind(Fault.CONFIGURATION, f"{asked.url} refuses the request ({status}){words}", hint)


def mask_key(text: str, key: str) -> str:
    """Return `text` for a message, with the key taken out where it is long enough to be one."""
    return text.replace(key, "…") if len(key) >= SHORTEST_KEY else text


def is_overflow(status: int, code: str, text: str) -> bool:
    """Return whether a refusal is about the length of the request."""
    if status in (401, 403, 404, 429):  # a tokens-per-minute limit mentions too many tokens, too
        return False
    return bool(status == 413 or OVERFLOW.search(f"{code} {text}"))


def parse_window(text: str) -> int | None:
    """Return the context window in tokens that a refusal names, None if it names none."""
    found = [int(re.sub("[,_]", "", match)) for match in LIMIT.findall(text)]
    return min((each for each in found if each >= 512), default=None)


def parse_prompt_size(text: str) -> int | None:
    """Return the tokens that a refusal counted in the request, None if it names none."""
    found = [int(re.sub("[,_]", "", next(filter(None, match)))) for match in SENT.findall(text)]
    return max(found, default=None)


def parse_error_body(body: bytes) -> tuple[str, str]:
    """Return (code, message) of an error body, which is JSON of several shapes or plain text.

    A gateway's message is followed by that of the provider behind it.
    """
    text = body.decode("utf-8", "replace")
    try:
        error = json.loads(text)
    except (ValueError, RecursionError):  # a proxy's page, a plain line
        title = _PAGE_TITLE.search(text)
        return "", sanitize_line(title[1] if title else text, LONGEST_MESSAGE)
    if isinstance(error, list) and error:
        error = error[0]
    if isinstance(error, dict):
        error = error.get("error", error)
    if not isinstance(error, dict):
        return "", sanitize_line(str(error), LONGEST_MESSAGE)
    message = error.get("message") or _join_details(error.get("detail")) or text
    behind = error.get("metadata")
    behind = behind.get("raw") if isinstance(behind, dict) else None
    whole = f"{message}: {behind}" if behind else str(message)
    return str(error.get("code") or error.get("type") or ""), sanitize_line(whole, LONGEST_MESSAGE)


def _join_details(detail: object) -> str:
    """Return the messages of a list of faults (FastAPI), without what they quote of the request; others as text."""
    if isinstance(detail, list):
        return "; ".join(str(each.get("msg", "")) for each in detail if isinstance(each, dict))
    return str(detail or "")


def sanitize_line(text: str, limit: int) -> str:
    """Return foreign text on one line, without control characters, truncated to `limit`."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text[: limit * 4]).split())
    return line if len(line) <= limit else line[: limit - 1] + "…"
