"""Conversion of positions: the protocol's (lines from 0, UTF-16 units) and the index's (lines from 1, characters)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit

from sandbox.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Place:
    """path: relative to the workspace; line: from 1; column: characters before it"""

    path: str
    line: int
    column: int


def build_uri(root: Path, path: str) -> str:
    """Return the URI of a file for the server."""
    return "file://" + quote(str(root / path))


def uri_to_path(root: Path, address: object) -> str | None:
    """Return the file's path relative to the workspace, None for a file outside it."""
    if not isinstance(address, str):
        return None
    parts = urlsplit(address)
    whole = Path(unquote(parts.path))
    if parts.scheme != "file" or not whole.is_relative_to(root):
        return None
    return whole.relative_to(root).as_posix()


def count_utf16_units(line: str, column: int) -> int:
    """Return the number of UTF-16 units before a column of a line."""
    return len(line[:column].encode("utf-16-le", "surrogatepass")) // 2


def count_letters(line: str, count: int) -> int:
    """Return the number of characters before a UTF-16 offset, at most the line's length."""
    return len(line.encode("utf-16-le", "surrogatepass")[: 2 * count].decode("utf-16-le", "replace"))


def resolve_position(lines: Sequence[str], position: Mapping[str, Any]) -> tuple[int, int]:
    """Return line (from 0) and column of a position; after the last line it is the end of the text.

    Raises KeyError, TypeError for an invalid position.
    """
    line, character = int(position["line"]), int(position["character"])
    if line < 0 or character < 0:
        raise TypeError("a position before the text")
    if line >= len(lines):
        return len(lines) - 1, len(lines[-1])
    return line, count_letters(lines[line], character)


def find_column(line: str, name: str) -> int | None:
    """Return the number of characters before a name on a line, None if it does not occur as a whole word."""
    found = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", line)
    return found.start() if found else None
