"""Structured results of bounded size."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

MOST_BYTES = 64_000
"""Size of a structured result: about 16,000 tokens, where a client gives it to its model."""

_STAGES = ((200, 8_000), (60, 2_000), (20, 600), (5, 200), (2, 60))
"""Items of a list and characters of a text that stay, from the first try to the last."""


def bound_json(value: Any, most: int = MOST_BYTES) -> tuple[Any, bool]:
    """Return a JSON value of at most so many bytes, with its longest lists and texts cut, and whether it was cut."""
    if _measure_size(value) <= most:
        return value, False
    for items, characters in _STAGES:
        cut = _cut_value(value, items, characters)
        if _measure_size(cut) <= most:
            return cut, True
    return None, True


def _measure_size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace"))


def _cut_value(value: Any, items: int, characters: int) -> Any:
    if isinstance(value, str):
        return value if len(value) <= characters else f"{value[:characters]}…"
    if isinstance(value, Mapping):
        return {key: _cut_value(each, items, characters) for key, each in list(value.items())[: items * 2]}
    if isinstance(value, list | tuple):
        return [_cut_value(each, items, characters) for each in value[:items]]
    return value
