"""JSON and TOML that others wrote: whatever is wrong with it is a ValueError."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

DEEPEST = 200
"""Tables and lists in each other: what is written by hand or by programs has some tens."""

_TOO_DEEP = "it is nested too deep"


def parse_json(content: str | bytes | bytearray) -> Any:
    """Parse JSON. Raises ValueError, also for what is nested deeper than the parser goes."""
    try:
        found = json.loads(content)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    text = content if isinstance(content, str) else content.decode("latin-1")
    if text.count("[") + text.count("{") > DEEPEST:
        _check_depth(found)
    return found


def parse_unambiguous_table(content: str | bytes) -> Mapping[str, Any]:
    """Parse a table of JSON. Raises ValueError, also for a name that is there twice: readers would know another one."""
    try:
        found = json.loads(content, object_pairs_hook=_build_table)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    if not isinstance(found, dict):
        raise ValueError("it holds no table")
    return found


def _build_table(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"{next(each for each in names if names.count(each) > 1)!r} is there twice")
    return found


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML. Raises ValueError, also for what is nested deeper than the parser goes."""
    import tomllib

    try:
        found = tomllib.loads(text)
    except RecursionError:
        raise ValueError(_TOO_DEEP) from None
    if text.count(".") + text.count("[") + text.count("{") > DEEPEST:
        _check_depth(found)
    return found


def _check_depth(value: object) -> None:
    """Raise ValueError for tables and lists in each other that nobody could go through, or write, by recursion."""
    level = [value]
    for _ in range(DEEPEST):
        inner = [
            each.values() if isinstance(each, dict) else each
            for each in level
            if isinstance(each, dict | list)
        ]
        if not inner:
            return
        level = [each for values in inner for each in values]
    raise ValueError(_TOO_DEEP)
