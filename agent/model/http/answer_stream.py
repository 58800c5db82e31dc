"""The stream of one answer: bytes as they arrive → events → deltas, in small parts, however fast they come."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing
from itertools import groupby
from typing import Any

from agent.model.cooperative_yield import YieldTimer
from agent.model.http.error_responses import sanitize_line
from agent.model.http.http_client import Answer, WireError
from agent.model.protocol import ReasoningDelta, TextDelta
from agent.model.wire_formats.reply_bounds import MOST_EVENT, ReplyTooLarge, check_event_size
from agent.model.wire_formats.wire_protocol import DONE, Assembler, EventParser
from sandbox.errors import Fault, UserError

MISSHAPEN = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
"""Exceptions raised by reading JSON of another shape than the format defines."""

_AT_ONCE = 256
"""Events that are read before other work of the session gets its turn: some milliseconds."""

_SHOWN_AT_ONCE = 16_384
"""Characters of a text that are passed on at once: what looks at it, and shows it, takes time for each."""

FindError = Callable[[Mapping[str, Any]], Exception | None]
"""Return the error that a chunk reports, None for a part of a reply."""


async def iter_deltas(
    answer: Answer, assembler: Assembler, url: str, find_error: FindError
) -> AsyncGenerator[TextDelta | ReasoningDelta, None]:
    """Yield deltas that arrived together as one; before an error, those that preceded it.

    Raises WireError for an answer that breaks off, ReplyTooLarge, and errors that the endpoint reports.
    """
    yields = YieldTimer()
    async with aclosing(_iter_json_texts(answer, url)) as batches:
        async for texts in batches:
            for start in range(0, len(texts), _AT_ONCE):
                deltas, error = _feed_texts(texts[start : start + _AT_ONCE], assembler, find_error)
                for delta in deltas:
                    yield delta
                    await yields.yield_if_due()
                if error is not None:
                    raise error
            await yields.yield_if_due()  # also where a fast server sends nothing to show
    if not (assembler.finished or assembler.is_whole):
        raise WireError("the answer broke off")


async def _iter_json_texts(answer: Answer, url: str) -> AsyncGenerator[Sequence[str], None]:
    """Yield the JSON texts of an answer in batches as they arrive: one per event, or a whole answer."""
    kind = answer.headers.get("content-type", "")
    if "html" in kind:
        raise _build_web_page_error(url)
    if "json" in kind:
        body = await answer.read(MOST_EVENT + 1)
        check_event_size(len(body))
        yield [body.decode("utf-8", "replace")]
        return
    events = EventParser()
    first = True
    async for piece in answer.iter_chunks():
        if first and piece.lstrip()[:1] == b"<":  # a page that does not say what it is
            raise _build_web_page_error(url)
        first = False
        texts = events.feed(piece)
        yield texts
        # The thread reads the rest, so that the connection can be kept; the end of a compressed one has its checksum.
        if DONE in texts and "content-encoding" not in answer.headers:
            return
    yield events.finish()


def _feed_texts(
    texts: Sequence[str], assembler: Assembler, find_error: FindError
) -> tuple[list[TextDelta | ReasoningDelta], Exception | None]:
    """Return the deltas of some chunks, and the error of the chunk after them.

    Adjacent ones of a kind are merged, up to a size that leaves time for other work between two.
    """
    found: list[TextDelta | ReasoningDelta] = []
    error: Exception | None = None
    place = 0
    while place < len(texts) and error is None:
        text = texts[place]
        try:
            repeated, end = assembler.take_texts(texts, place)
            found += [repeated] if repeated is not None else []
            if end > place:
                place = end
                continue
            place += 1
            if text == DONE:
                assembler.finished = True
                break
            piece = _parse_piece(text)
            if (error := find_error(piece)) is None:
                found += assembler.feed(piece)
        except (ReplyTooLarge, WireError) as wrong:
            error = wrong
        except MISSHAPEN:
            error = WireError(f"it sent {sanitize_line(text, 80)!r}, which is no piece of a reply")
    groups = [(kind, "".join(each.text for each in deltas)) for kind, deltas in groupby(found, type)]
    parts = [
        kind(text=text[at : at + _SHOWN_AT_ONCE])
        for kind, text in groups
        for at in range(0, len(text), _SHOWN_AT_ONCE)
    ]
    return parts, error


def _parse_piece(text: str) -> Mapping[str, Any]:
    """Return the JSON object of a chunk. Raises WireError: truncated, or not JSON at all, is a broken connection."""
    try:
        value, end = _decode(text)
        piece = value if end == len(text) else json.loads(text)
    except (ValueError, RecursionError):  # white space before it, or no JSON
        piece = _load(text)
    if not isinstance(piece, dict):
        raise WireError(f"it sent {sanitize_line(text, 80)!r} instead of JSON")
    return piece


_decode = json.JSONDecoder().raw_decode
"""As `json.loads`, without its two searches for white space."""


def _load(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def _build_web_page_error(url: str) -> UserError:
    return UserError(
        Fault.CONFIGURATION,
        f"{url} answers with a web page, not with a model's reply",
        "Check the API base: it usually ends in /v1; a network may also want you to log in first",
    )
