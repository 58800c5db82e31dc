"""Requests that are too long for the model's window: found before they are sent, and described with both sizes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from agent.model.protocol import UNPAID, ContextOverflow, RequestRefused
from sandbox.errors import Fault, UserError

if TYPE_CHECKING:
    from agent.context.compression.compressor import Compressor

SMALL_WINDOW = 32_768
"""Tokens of the largest window for which the length of a reply is limited."""

SURE = 1.25
"""Times the window that a request must be estimated at to be refused unsent: estimates err by a fifth."""


NEAR = 0.7
"""Share of the window from which a refusal without a known reason is taken for one of the size: a reply needs room."""


def find_overflow(compressor: Compressor, model: str) -> ContextOverflow | None:
    """Return the error of a request that cannot fit the window, None if it may.

    It is raised before anything is sent: some servers cut such a request without a word. Models that replay read no
    tokens, so nothing is too long for them.
    """
    window = compressor.find_window()
    if compressor.total_tokens <= window * SURE or model.startswith(UNPAID):
        return None
    message = f"the request is too long for {model!r}"
    return describe_overflow(compressor, ContextOverflow(Fault.CONFIGURATION, message, limit=window))


def describe_overflow(compressor: Compressor, error: ContextOverflow) -> ContextOverflow:
    """Return the error with the size of the request, the limit, and what would help."""
    limit = error.limit or compressor.find_window()
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


def suspect_overflow(compressor: Compressor, error: RequestRefused) -> UserError:
    """Return the error of a refused request: too long, if its size is near the window or above, else as it is."""
    if compressor.total_tokens < compressor.find_window() * NEAR:
        return error
    return describe_overflow(compressor, ContextOverflow(error.fault, error.message, error.hint))


def compute_output_limit(window: int) -> int | None:
    """Return the output tokens to ask for in a small window, None in a large one: the provider's default applies.

    Local servers have no limit of their own: a reply that loops would go on until the window is full.
    """
    return max(window // 4, 256) if window <= SMALL_WINDOW else None


class TruncationWatch:
    """Notices a server that silently cuts requests: they grow, and the tokens that it counts do not.

    (Ollama keeps the last `num_ctx` tokens of a longer request and says nothing.)
    """

    def __init__(self) -> None:
        self._sent = 0
        self._counted = 0

    def find_window(self, sent: int, counted: int) -> int | None:
        """Return the window in tokens that the server seems to have; None if all of the request was read.

        sent: bytes of the request; counted: its tokens as the server reports them, 0 if it does not
        """
        grown = sent - self._sent
        last, self._sent, self._counted = self._counted, sent, counted
        if not last or counted < LEAST_COUNT or grown < LEAST_GROWTH:
            return None
        # A server that counts only what its cache did not hold reports far less than before, not about the same.
        is_cut = 0.4 * last <= counted <= last + grown * LEAST_RATIO
        return max(counted, last) if is_cut else None


LEAST_COUNT = 1_024
"""Tokens: no server has a smaller window by default."""

LEAST_GROWTH = 2_000
"""Bytes that a request must have grown by since the last one: a count may vary by a few tokens."""

LEAST_RATIO = 0.02
"""Tokens per byte: no tokenizer makes fewer of source code, prose or logs."""
