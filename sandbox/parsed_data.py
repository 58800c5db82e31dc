"""JSON and TOML that others wrote: whatever is wrong with it is a ValueError."""

from __future__ import annotations

import json
from typing import Any


def parse_json(content: str | bytes | bytearray) -> Any:
    """Parse JSON. Raises ValueError, also for what is nested deeper than the parser goes."""
    try:
        return json.loads(content)
    except RecursionError:
        raise ValueError("it is nested too deep") from None


def parse_toml(text: str) -> dict[str, Any]:
    """Parse TOML. Raises ValueError, also for what is nested deeper than the parser goes."""
    import tomllib

    try:
        return tomllib.loads(text)
    except RecursionError:
        raise ValueError("it is nested too deep") from None
