"""JSON and TOML that others wrote: whatever is wrong with it is a ValueError."""

from __future__ import annotations

import json
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
