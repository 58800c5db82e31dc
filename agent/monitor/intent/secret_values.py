"""Values of secret files, as they stand there, in base64 and in hex, to be recognized in what a model writes."""

from __future__ import annotations

import base64

from sandbox.lazy_pattern import compile_lazily
from sandbox.secrets.secret_patterns import is_random_looking
from tools.core.workspace import Workspace

MAX_FILE = 64_000
"""Bytes of a file whose values are read: keys and settings are shorter."""

MOST_VALUES = 100
"""Values of a file."""

_VALUE = compile_lazily(r"[A-Za-z0-9+/_=.-]{12,}")


def read_values(path: str, at: Workspace) -> frozenset[str]:
    """Return the random-looking values of a file of the workspace in all their forms; none if it cannot be read."""
    try:
        if path.startswith("/") or not at.files.is_file(path) or at.files.get_size(path) > MAX_FILE:
            return frozenset()
        text = at.files.read(path).decode("utf-8", "replace")
    except (OSError, ValueError):  # gone, outside by a link, or denied by a rule
        return frozenset()
    forms: set[str] = set()
    for match in list(_VALUE.finditer(text))[:MOST_VALUES]:
        value = match[0].rpartition("=")[2] if match[0].count("=") == 1 and match[0][-1] != "=" else match[0]
        if len(value) < 12 or not is_random_looking(value):
            continue
        raw = value.encode()
        encoded = base64.b64encode(raw).decode().rstrip("=")
        forms |= {value, encoded[: len(encoded) // 4 * 4], raw.hex()}
    return frozenset(forms)
