"""Places as the protocol has them (lines from 0, columns in UTF-16 units) and as we do (lines from 1, letters)."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote, urlsplit


@dataclass(frozen=True, slots=True, kw_only=True, order=True)
class Place:
    """path: relative to the workspace; line: from 1; column: letters before it"""

    path: str
    line: int
    column: int


def build_uri(root: Path, path: str) -> str:
    """The address by which a server knows a file."""
    return "file://" + quote(str(root / path))


def uri_to_path(root: Path, address: object) -> str | None:
    """The file's path relative to the workspace, None for what lies outside of it."""
    if not isinstance(address, str):
        return None
    parts = urlsplit(address)
    whole = Path(unquote(parts.path))
    if parts.scheme != "file" or not whole.is_relative_to(root):
        return None
    return whole.relative_to(root).as_posix()


def count_utf16_units(line: str, column: int) -> int:
    """UTF-16 units before a letter of a line."""
    return len(line[:column].encode("utf-16-le", "surrogatepass")) // 2


def count_letters(line: str, count: int) -> int:
    """Letters before a place that is told in UTF-16 units; the line's length for what is behind it."""
    return len(line.encode("utf-16-le", "surrogatepass")[: 2 * count].decode("utf-16-le", "replace"))


def resolve_position(lines: Sequence[str], position: Mapping[str, Any]) -> tuple[int, int]:
    """Line (from 0) and letter of a position; a place behind the last line is the end of the text.

    Raises KeyError, TypeError for what is no position.
    """
    line, character = int(position["line"]), int(position["character"])
    if line < 0 or character < 0:
        raise TypeError("a position before the text")
    if line >= len(lines):
        return len(lines) - 1, len(lines[-1])
    return line, count_letters(lines[line], character)


def find_column(line: str, name: str) -> int | None:
    """Letters before a name on a line, None where it does not stand as a whole word."""
    found = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", line)
    return found.start() if found else None
