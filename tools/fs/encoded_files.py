"""Files that are not UTF-8, for searches: which ones there are, by encoding."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from contextlib import aclosing

from tools.core.workspace import Workspace
from tools.fs.ripgrep import Ripgrep

NOT_UTF8 = r"(?-u)(?:^|[\x00-\x7F])[\x80-\xBF]|[\xC0\xC1\xF5-\xFF]|[\xC2-\xF4](?:$|[\x00-\x7F\xC0-\xFF])"
"""Bytes of a line that is not UTF-8, for ripgrep: hardly a line of another encoding has none of them."""

_MOST_FILES = 200
_LARGEST = 1 << 20
"""Files whose encoding is found for one search, and their bytes."""

_LABELS = {"latin-1": "windows-1252", "iso8859-1": "windows-1252", "cp932": "shift_jis", "cp949": "euc-kr"}
"""Names that ripgrep has (encoding.spec.whatwg.org) for codecs of Python."""


async def group_by_label(at: Workspace, scope: Sequence[str], where: Sequence[str]) -> dict[str, list[str]]:
    """Return the files that are not UTF-8, by the name that ripgrep has for their encoding."""
    run = Ripgrep(at.root, "--files-with-matches", *scope, f"--regexp={NOT_UTF8}", "--", *where)
    found: dict[str, list[str]] = {}
    async with aclosing(run.stream_lines()) as lines:
        paths = [os.fsdecode(line) async for line in lines]
    for path in sorted(paths)[:_MOST_FILES]:
        if name := await asyncio.to_thread(find_encoding, at, path):
            found.setdefault(_get_label(name), []).append(path)
    return found


def find_encoding(at: Workspace, path: str) -> str:
    """Return the codec of a file, "" if it is UTF-8, binary, too large or gone."""
    try:
        if at.files.get_size(path) > _LARGEST:
            return ""
        name = at.files.decode(path, at.files.read(path)).encoding
    except (OSError, ValueError):
        return ""
    return "" if name == "utf-8" else name


def _get_label(name: str) -> str:
    if name.startswith("cp125"):
        return f"windows-{name[2:]}"
    return _LABELS.get(name, name.replace("iso8859", "iso-8859").replace("_", "-"))
