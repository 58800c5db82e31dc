"""A patch between two sets of files, in the form that `git apply` takes."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping

_NO_NEWLINE = "\n\\ No newline at end of file\n"


def render_patch(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> bytes:
    """Return the patch that turns some files into others; a path that only one side has is added or removed.

    The files are UTF-8 texts; bytes that are not are kept by surrogates.
    """
    paths = sorted({*before, *after})
    changed = [path for path in paths if before.get(path) != after.get(path)]
    text = "".join("".join(_render_file(path, before.get(path), after.get(path))) for path in changed)
    return text.encode("utf-8", "surrogateescape")


def _render_file(path: str, old: bytes | None, new: bytes | None) -> Iterator[str]:
    yield f"diff --git a/{path} b/{path}\n"
    if old is None:
        yield "new file mode 100644\n"
    if new is None:
        yield "deleted file mode 100644\n"
    # git reads a name up to the tab where it holds blanks
    end = "\t\n" if " " in path else "\n"
    if old or new:
        yield f"--- {'/dev/null' if old is None else f'a/{path}{end[:-1]}'}\n"
        yield f"+++ {'/dev/null' if new is None else f'b/{path}{end[:-1]}'}\n"
    lines = difflib.unified_diff(_split_lines(old or b""), _split_lines(new or b""))
    for line in list(lines)[2:]:  # without the names, which are above
        yield line if line.endswith("\n") else line + _NO_NEWLINE


def _split_lines(content: bytes) -> list[str]:
    """Split at newlines only: other separators are characters of a line to git."""
    parts = content.decode("utf-8", "surrogateescape").split("\n")
    return (
        [*(f"{each}\n" for each in parts[:-1]), *parts[-1:]] if parts[-1] else [f"{p}\n" for p in parts[:-1]]
    )
