"""Serialization of events as lines of a log: JSON that is safe to print in a terminal."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from typing import Any

from agent.events.event_base import AskedAction, Event, UsageRecord
from agent.events.history_events import Fold
from sandbox.sanitize import sanitize_json


def collect_fields(event: Event) -> dict[str, Any]:
    """Return an event's fields by name, unknown ones included, those without a value omitted."""
    return {name: value for name, value in vars(event).items() if value is not None}


def render_event(event: Event) -> bytes:
    """Encode an event as a line with its newline. Non-ASCII text stays readable; lone surrogates become `?`."""
    return encode_line(collect_fields(event))


def encode_line(fields: Mapping[str, Any]) -> bytes:
    """Encode fields, which may contain parts of events, as one line of JSON that is safe to print in a terminal."""
    try:
        text = _encode_json(fields)
    except (TypeError, ValueError):  # NaN or a non-string key: rare, so only then all values are walked
        text = _encode_json(_sanitize_value(fields))
    return sanitize_json(text).encode("utf-8", "replace") + b"\n"


def _encode_json(value: object) -> str:
    return json.dumps(
        value, ensure_ascii=False, separators=(",", ":"), default=_convert_to_plain, allow_nan=False
    )


def _convert_to_plain(value: object) -> object:
    """Convert values without a JSON form: parts of events, paths, unsupported values in a tool's data."""
    if isinstance(value, AskedAction | UsageRecord | Fold):
        return {name: each for name, each in vars(value).items() if each is not None}
    if isinstance(value, os.PathLike):
        return os.fspath(value)
    if isinstance(value, set | frozenset):
        return sorted(value, key=repr)
    return repr(value)


def _sanitize_value(value: object) -> object:
    """Convert as `_convert_to_plain` does, with string keys and without numbers that JSON lacks."""
    match value:
        case float() if not math.isfinite(value):
            return repr(value)
        case Mapping():
            return {
                key if isinstance(key, str) else repr(key): _sanitize_value(each)
                for key, each in value.items()
            }
        case list() | tuple():
            return [_sanitize_value(each) for each in value]
        case AskedAction() | UsageRecord() | Fold() | set() | frozenset():
            return _sanitize_value(_convert_to_plain(value))
        case _:
            return value
