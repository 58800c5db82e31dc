"""Texts for the model: plurals, sizes, clipped lines, line numbers, diffs, fingerprints."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

MAX_LINE = 500
"""Characters of one line that are shown: longer ones are generated or minified, and say little."""


def plural(number: int, noun: str, many: str = "") -> str:
    """Counted: "1 line", "2 lines", "2,310 lines", "3 more"."""
    if number == 1 or noun == "more":
        return f"{number:,} {noun}"
    return f"{number:,} {many or noun + 's'}"


def size(number: int) -> str:
    """Bytes for a person: "812 bytes", "1.4 KB", "104.9 MB"."""
    if number < 1000:
        return plural(number, "byte")
    power = min((len(str(number)) - 1) // 3, 3)
    return f"{number / 1000**power:.1f} {('', 'KB', 'MB', 'GB')[power]}"


def clip(line: str, limit: int = MAX_LINE) -> str:
    """A long line's beginning, saying how much is missing."""
    if len(line) <= limit:
        return line
    return f"{line[:limit]} [… {len(line) - limit:,} more characters]"


def numbered(lines: Iterable[str], first: int, *, width: int = 1) -> list[str]:
    """Lines as `cat -n` shows them: number, tab, text."""
    return [f"{number:>{width}}\t{clip(line)}" for number, line in enumerate(lines, first)]


def fingerprint(content: bytes) -> str:
    """Names a file's content: equal for equal bytes (see `Workspace.read`)."""
    import hashlib

    return hashlib.blake2b(content, digest_size=16).hexdigest()


def unified(path: str, before: str, after: str) -> str:
    """A unified diff; `--- /dev/null` for a file that was not there or was empty."""
    import difflib

    old, new = _lines(before), _lines(after)
    names = (f"a/{path}" if before else "/dev/null", f"b/{path}" if after else "/dev/null")
    return "".join(_terminated(difflib.unified_diff(old, new, *names)))


def added_removed(diff: str) -> tuple[int, int]:
    """How many lines a unified diff adds and removes."""
    body = diff.split("\n")[2:]  # the first two name the files
    return sum(line.startswith("+") for line in body), sum(line.startswith("-") for line in body)


_ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")
_OVERWRITTEN = re.compile(r"[^\n]*\r(?!\n|\Z)")


def plain(output: str) -> str:
    """Terminal output as a reader sees it: no colour codes, a progress line only in its last state."""
    text = _ESCAPES.sub("", output)
    return _OVERWRITTEN.sub("", text.replace("\r\n", "\n")) if "\r" in text else text


def listed(names: Sequence[str], limit: int) -> str:
    """Names in a row: "a, b, c and 4 more"."""
    shown = ", ".join(names[:limit])
    return f"{shown} and {len(names) - limit} more" if len(names) > limit else shown


def _lines(text: str) -> list[str]:
    """Split at newlines only, as line numbers count (str.splitlines also splits at form feeds and others)."""
    *whole, last = text.split("\n")
    return [f"{line}\n" for line in whole] + ([last] if last else [])


def _terminated(lines: Iterable[str]) -> Iterable[str]:
    for line in lines:
        yield line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n"
