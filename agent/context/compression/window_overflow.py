"""Requests that are too long for the model's window: found before they are sent, and described with both sizes."""

from __future__ import annotations

from agent.context.compression.compressor import Compressor
from agent.model.protocol import ContextOverflow
from sandbox.errors import Fault

SURE = 1.25
"""Times the window that a request must be estimated at to be refused unsent: estimates err by a fifth."""


def find_overflow(compressor: Compressor, model: str) -> ContextOverflow | None:
    """Return the error of a request that cannot fit the window, None if it may.

    It is raised before anything is sent: some servers cut such a request without a word.
    """
    window = compressor.window()
    if compressor.total_tokens <= window * SURE:
        return None
    message = f"the request is too long for {model!r}"
    return describe_overflow(compressor, ContextOverflow(Fault.CONFIGURATION, message, limit=window))


def describe_overflow(compressor: Compressor, error: ContextOverflow) -> ContextOverflow:
    """Return the error with the size of the request, the limit, and what would help."""
    limit = error.limit or compressor.window()
    fixed = compressor.projection.fixed_tokens
    sent = f"{error.sent:,}" if error.sent else f"about {compressor.total_tokens:,}"
    if fixed >= limit:
        hint = (
            f"The instructions and tools alone need about {fixed:,} tokens: use a model, or a setting of the"
            " server, with a larger window"
        )
    elif all(slot.is_from_person for slot in compressor.projection.slots):
        hint = "Shorten the prompt, or use a model, or a setting of the server, with a larger window"
    else:
        hint = "/compact, start a new session, or use a model with a larger window"
    message = f"{error.message} ({sent} tokens; the window has {limit:,})"
    return ContextOverflow(error.fault, message, hint, limit=error.limit, sent=error.sent)
