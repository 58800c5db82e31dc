"""Items of a request that an endpoint refuses (an image, a too long text): words take their place.

An item that is refused would be sent again with every later request, and end the session for good. It is found by the
place that the refusal names, or by leaving items out until a request is accepted; refused requests cost nothing.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from agent.model.protocol import Image, Message, Request, ToolMessage, UserMessage
from sandbox.lazy_pattern import compile_lazily

MOST_SINGLE = 8
"""Images that are left out one by one, before half of them, and all."""

_ABOUT_IMAGES = compile_lazily(
    r"image|picture|photo|vision|multi-?modal|base64|mmproj|media.?type|attachment|too large|payload|dimensions",
    re.IGNORECASE,
)
"""Words of refusals that may be about an image."""

_PLACE = compile_lazily(r"(messages|input)\W{0,3}([0-9]+)(?:\W{1,3}content\W{1,3}([0-9]+))?", re.IGNORECASE)
"""Place of an item, as in "messages.2.content.0.image", "input[3].output", "messages[1].content[0]"."""

_LENGTH = compile_lazily(r"too long|too large|max(?:imum)? length|max_length", re.IGNORECASE)
_NAMED_LENGTH = compile_lazily(r"(?:maximum length|max_length)\D{0,20}([0-9]{3,})", re.IGNORECASE)

LEAST_CUT = 2_000
"""Characters of a text that may be the one that is too long."""


class RefusedItems:
    """Refused items of one endpoint, and the search for the one that it refuses now."""

    def __init__(self) -> None:
        self._gone: dict[Image, str] = {}
        self._accepted: set[Image] = set()
        self._texts: dict[int, tuple[Message, Message]] = {}  # by id of the message, which is held here
        self._trials: Iterator[Sequence[Image]] | None = None
        self._left_out: frozenset[Image] = frozenset()
        self._reason = ""

    def apply(self, request: Request) -> Request:
        """Return the request with words in place of what was refused, and of what is left out for a trial."""
        if not (self._gone or self._left_out or self._texts):
            return request
        return replace(request, messages=[self._replace(message) for message in request.messages])

    def accept(self, request: Request) -> str:
        """Note that a request, as `apply` returned it, was accepted; return a notice if that ended a search."""
        self._accepted.update(_list_images(request))
        found, self._left_out, self._trials = self._left_out, frozenset(), None
        if not found:
            return ""
        self._gone.update(dict.fromkeys(found, self._reason))
        return f"{_count(len(found))} refused by the endpoint ({self._reason}): words take the place"

    def find(self, request: Request, body: bytes, status: int, said: str) -> bool:
        """Look for the refused item; return whether another request is worth sending.

        request, body: as it was sent; said: the refusal
        """
        if status not in (400, 413, 422, 500):
            return False
        self._reason = said[:200]
        element, block = _find_element(body, said)
        if self._trials is None:
            if element is not None and self._find_named(request, element, block, said):
                return True
            images = list(dict.fromkeys(_list_images(request)))
            fresh = [image for image in images if image not in self._accepted]
            if not images or not (_ABOUT_IMAGES.search(said) or (fresh and status in (400, 422))):
                return False
            self._trials = _list_trials(fresh or images)
        trial = next(self._trials, None)
        self._left_out = frozenset(trial or ())
        if trial is None:
            self._trials = None
        return trial is not None

    def _find_named(self, request: Request, element: Any, block: Any, said: str) -> bool:
        """Take the item at the place that a refusal names; return False if there is none that can be left out."""
        text = json.dumps(element, ensure_ascii=False)
        named = [image for image in _list_images(request) if image.data in text]
        if block is not None:
            inside = json.dumps(block)
            named = [image for image in named if image.data in inside] or named
        if named and (len(named) == 1 or block is not None):
            self._gone.update(dict.fromkeys(named, self._reason))
            return True
        if named or not _LENGTH.search(said):
            return False
        for message in request.messages:
            if isinstance(message, UserMessage | ToolMessage) and len(message.text) >= LEAST_CUT:
                quoted = json.dumps(message.text[:LEAST_CUT], ensure_ascii=False)[1:-1]
                if quoted in text:
                    self._texts[id(message)] = (message, _shorten(message, said))
                    return True
        return False

    def _replace(self, message: Message) -> Message:
        kept = self._texts.get(id(message))
        message = kept[1] if kept is not None else message
        if not isinstance(message, UserMessage) or not message.images:
            return message
        left = tuple(
            image for image in message.images if image not in self._gone and image not in self._left_out
        )
        if len(left) == len(message.images):
            return message
        count = len(message.images) - len(left)
        reason = next((self._gone[image] for image in message.images if image in self._gone), self._reason)
        note = f"[{_count(count)} of this message left out: the model's provider refused it: {reason}]"
        # Made anew for each request: such messages are few, and words may change while one is searched.
        return type(message)(text=f"{message.text}\n{note}", images=left)


def _list_images(request: Request) -> Iterator[Image]:
    return chain.from_iterable(m.images for m in request.messages if isinstance(m, UserMessage) and m.images)


def _list_trials(suspects: Sequence[Image]) -> Iterator[Sequence[Image]]:
    """Yield what to leave out, one after the other: each alone, the newest first; then halves; then all."""
    if len(suspects) <= MOST_SINGLE:
        yield from ([image] for image in reversed(suspects))
    if len(suspects) > 2:
        middle = len(suspects) // 2
        yield suspects[middle:]
        yield suspects[:middle]
    if len(suspects) > 1:
        yield suspects


def _find_element(body: bytes, said: str) -> tuple[Any, Any]:
    """Return the message of a request that a refusal names, and the part of its content; None for what it does not."""
    place = _PLACE.search(said)
    if place is None:
        return None, None
    whole: Mapping[str, Any] = json.loads(body)
    messages = whole.get("messages") or whole.get("input") or []
    if int(place[2]) >= len(messages):
        return None, None
    element = messages[int(place[2])]
    parts = element.get("content") if isinstance(element, dict) else None
    if place[3] is None or not isinstance(parts, list) or int(place[3]) >= len(parts):
        return element, None
    return element, parts[int(place[3])]


def _shorten(message: UserMessage | ToolMessage, said: str) -> Message:
    """Return a message that is short enough for the limit that a refusal names; a quarter of it if it names none."""
    named = _NAMED_LENGTH.search(said)
    room = min(int(named[1]) * 4 // 5 if named else len(message.text) // 4, len(message.text) // 2)
    note = f"\n[… left out: the model's provider refused a text of {len(message.text):,} characters …]\n"
    text = f"{message.text[: room * 2 // 3]}{note}{message.text[len(message.text) - room // 3 :]}"
    if isinstance(message, ToolMessage):
        return ToolMessage(call=message.call, name=message.name, text=text, failed=message.failed)
    return type(message)(text=text, images=message.images)


def _count(images: int) -> str:
    return "an image" if images == 1 else f"{images} images"
