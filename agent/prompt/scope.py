"""Files that a prompt wants changed."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sandbox.lazy_pattern import compile_lazily

_PATH = r"(?P<path>(?:[\w.-]+/)*[\w-]+\.[a-zA-Z]{1,5})\b"
_CHANGE = compile_lazily(
    r"\b(?:change|edit|update|modify|fix|rewrite|refactor|extend|adapt|adjust|implement|add|create|write|rename|remove)\b"
    r"[^.;?!\n]{0,60}?(?<![\w/])" + _PATH,
    re.IGNORECASE,
)
_NEGATED = compile_lazily(r"(?:\b(?:do not|don't|never|without|not to)\s+)$", re.IGNORECASE)


def list_changed_paths(text: str) -> Iterator[str]:
    """Yield the files that a text orders to change, each once."""
    found = [match["path"] for match in _CHANGE.finditer(text) if not _NEGATED.search(text[: match.start()])]
    yield from dict.fromkeys(found)
