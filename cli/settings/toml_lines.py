"""Line numbers of settings in a TOML file (toml.io, v1.0.0): the standard parser keeps no positions."""

from __future__ import annotations

from sandbox.lazy_pattern import compile_lazily


def find_line(text: str, key: str) -> int | None:
    """Return the line, from 1, that sets a key (or the nearest table around it); None if it is not found."""
    wanted, table, nearest = key.split("."), [], (0, 0)
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            table = _split_key(header[1])
            here = table
        elif pair := _PAIR.match(line):
            here = [*table, *_split_key(pair[1])]
        else:
            continue
        if here == wanted[: len(here)] and len(here) > nearest[0]:
            nearest = (len(here), number)
    return nearest[1] or None


def _split_key(name: str) -> list[str]:
    return [part.strip().strip("\"'") for part in name.split(".")]


_HEADER = compile_lazily(r"^\s*\[\[?([^\[\]]+)\]\]?\s*(?:#.*)?$")
_PAIR = compile_lazily(r"^\s*([A-Za-z0-9_\-.\"']+)\s*=")
