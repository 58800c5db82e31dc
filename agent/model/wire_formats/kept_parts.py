"""Parts of a reply in their order, with what only its endpoint understands: it goes back there, and nowhere else.

A kept part is a JSON object of the log: "wire" and "endpoint" say who sent it, "kind" what it is. "text": the next
`size` characters of the reply's text; "call": its call number `at`; "other": a `block` that is sent as it came, as a
signed thought; "message": fields of the message itself. `extra` has fields that the format does not define.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import Any, Literal

from agent.model.protocol import AssistantMessage
from sandbox.lazy_dataclass import dataclass
from tools.core.action import Action

Kept = Mapping[str, Any]

_REPLACED = frozenset({"type", "id", "format", "index", "role", "name"})
"""Fields of a streamed part that are sent whole each time; other texts come in pieces."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part of a message to send, in its place. fields: those of a call's function, where a format has them"""

    kind: Literal["text", "call", "other"]
    text: str = ""
    action: Action | None = None
    block: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
    fields: Mapping[str, Any] = field(default_factory=dict)


class PartRecorder:
    """Notes the parts of a reply while it is built. wire: the format that reads them again"""

    def __init__(self, wire: str) -> None:
        self._wire = wire
        self._parts: list[dict[str, Any]] = []
        self._calls = 0

    def add_text(self, size: int, extra: Mapping[str, Any]) -> None:
        """Note the next `size` characters of the text."""
        if size:
            self._add("text", size=size, **_name_extra(extra))

    def add_call(self, extra: Mapping[str, Any], fields: Mapping[str, Any] | None = None) -> None:
        """Note the next call."""
        of_function = {"fields": dict(fields)} if fields else {}
        self._add("call", at=self._calls, **_name_extra(extra), **of_function)
        self._calls += 1

    def add_block(self, block: Mapping[str, Any]) -> None:
        """Note a part that is sent as it came."""
        self._add("other", block=dict(block))

    def add_message(self, extra: Mapping[str, Any]) -> None:
        """Note fields of the message itself."""
        if extra:
            self._add("message", extra=dict(extra))

    def build(self) -> tuple[Kept, ...]:
        """Return the parts; none where the text and the calls say all, as in most replies."""
        kinds = [part["kind"] for part in self._parts]
        has_more = any("extra" in part or "fields" in part for part in self._parts) or "other" in kinds
        is_usual = "text" not in kinds or kinds.index("text") == 0
        return tuple(self._parts) if has_more or kinds.count("text") > 1 or not is_usual else ()

    def _add(self, kind: str, **more: Any) -> None:
        self._parts.append({"wire": self._wire, "kind": kind, **more})


def stamp_endpoint(kept: Iterable[Kept], endpoint: str) -> tuple[Kept, ...]:
    """Return the parts with the name of the endpoint that sent them."""
    return tuple({**part, "endpoint": endpoint} for part in kept)


def name_endpoint(url: str) -> str:
    """Return the name of an endpoint: its address without what may be secret (user, password, query)."""
    scheme, _, rest = url.partition("://")
    authority, slash, path = rest.partition("?")[0].partition("/")
    return f"{scheme}://{authority.rpartition('@')[2]}{slash}{path}"


def select_parts(message: AssistantMessage, wire: str, endpoint: str) -> Sequence[Kept]:
    """Return the kept parts that this endpoint sent in this format. Logs of older versions name no endpoint."""
    if not message.kept:
        return ()
    own = [
        part
        for part in message.kept
        if part.get("wire") == wire and part.get("endpoint", endpoint) == endpoint
    ]
    return own if all("kind" in part for part in own) else _convert_older_parts(message, own)


def order_parts(message: AssistantMessage, kept: Sequence[Kept]) -> Iterator[Part]:
    """Yield the parts of a message in their order; without kept parts, its text and then its calls.

    The text is one part where it is no longer the one that came (shortened, redacted).
    """
    texts = [int(part["size"]) for part in kept if part.get("kind") == "text"]
    is_same, start, calls = sum(texts) == len(message.text), 0, set[int]()
    if not texts and message.text:
        yield Part(kind="text", text=message.text)
    for part in kept:
        extra = part.get("extra") or {}
        match part.get("kind"):
            case "text" if is_same:
                end = start + int(part["size"])
                yield Part(kind="text", text=message.text[start:end], extra=extra)
                start = end
            case "text" if message.text and not start:
                yield Part(kind="text", text=message.text, extra=extra)
                start = len(message.text)
            case "call" if 0 <= (at := int(part["at"])) < len(message.actions) and at not in calls:
                calls.add(at)
                yield Part(
                    kind="call", action=message.actions[at], extra=extra, fields=part.get("fields") or {}
                )
            case "other":
                yield Part(kind="other", block=part["block"])
    for at, action in enumerate(message.actions):
        if at not in calls:
            yield Part(kind="call", action=action)


def find_extra(fields: Mapping[str, Any], known: frozenset[str]) -> dict[str, Any]:
    """Return the fields that a format does not define, without empty ones."""
    return {
        key: value for key, value in fields.items() if key not in known and value not in (None, "", [], {})
    }


def merge_fields(old: dict[str, Any], new: Mapping[str, Any]) -> None:
    """Add the fields of a later chunk: texts and lists go on, parts of lists are found by their index."""
    for key, value in new.items():
        before = old.get(key)
        if isinstance(before, str) and isinstance(value, str):
            old[key] = value if key in _REPLACED or value == before else before + value
        elif isinstance(before, dict) and isinstance(value, Mapping):
            merge_fields(before, value)
        elif isinstance(before, list) and isinstance(value, list):
            for each in value:
                _merge_item(before, each)
        elif value is not None or before is None:
            old[key] = value


def _merge_item(items: list[Any], new: Any) -> None:
    if isinstance(new, dict) and "index" in new:
        for item in items:
            if isinstance(item, dict) and all(
                item.get(key, new.get(key)) == new.get(key, item.get(key)) for key in ("index", "type", "id")
            ):
                merge_fields(item, new)
                return
    items.append(new)


def _name_extra(extra: Mapping[str, Any]) -> dict[str, Any]:
    return {"extra": dict(extra)} if extra else {}


def _convert_older_parts(message: AssistantMessage, own: Sequence[Kept]) -> Sequence[Kept]:
    """Return parts of a format in which blocks had a place among the text and the calls (`at`), or came first."""
    plain: list[Kept] = [{"kind": "text", "size": len(message.text)}] if message.text.strip() else []
    plain += [{"kind": "call", "at": at} for at in range(len(message.actions))]
    blocks = [(int(part.get("at", 0)), part.get("block") or part.get("item") or {}) for part in own]
    found: list[Kept] = []
    for place in range(len(plain) + 1):
        found += [{"kind": "other", "block": block} for at, block in blocks if at == place]
        found += plain[place : place + 1]
    return found
