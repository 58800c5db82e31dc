"""Files that a program generates, by the words at their beginning or by `linguist-generated` in .gitattributes.

Sources: Go's "Generate Go files" (`Code generated … DO NOT EDIT.`), the mark `@generated`, Linguist's "Overrides".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from sandbox.fs.regular_file import SETTINGS, read_regular_text
from sandbox.lazy_pattern import compile_lazily

HEAD = 4_000
"""Characters at the beginning in which the words are looked for: they stand in the first comment."""

_COMMENT = compile_lazily(
    r"^[ \t]*(?://+!?|#+|/?\*+|--+|;+|%+|<!--|\(\*|'|rem\b|\"\"\"|@?REM\b)[ \t]?(?P<text>.*)$", re.MULTILINE
)
_SAYS = compile_lazily(
    r"code generated\b.*\bdo not edit|@generated\b"
    r"|\b(?:this|the) (?:file|code|module) (?:is|was|has been) (?:auto(?:matically|-| )?\s?)?generated\b"
    r"|\bauto(?:matically |-| )?generated (?:by|from|with|using|file|code)\b"
    r"|\bgenerated (?:by|from|with|using)\b.*\bdo not (?:edit|modify|change)\b"
    r"|^\W*do not (?:edit|modify|change)\b(?:(?: (?:this|the) (?:file|code))?(?: manually| by hand| directly)?)?\W*$",
    re.IGNORECASE,
)
_MAKER = compile_lazily(
    r"(?:\b|@|auto-?)generated\s+(?:by|from|with|using)\s+(?P<name>[^\n;:(]{2,80}?)"
    r"(?=[.,;:)]*(?:\s+(?:do not|don't|from|at|on|and|with)\b|\s*\(|\s*(?:-->|\*/)?\s*$)|;|:)",
    re.IGNORECASE | re.MULTILINE,
)
_SOURCE = compile_lazily(
    r"\b(?:source|from|input)s?\s*:\s*(?P<name>\S+)|\bfrom\s+(?P<file>\S+\.\w+)", re.IGNORECASE
)


def describe_generated(text: str, path: str, root: Path) -> str:
    """Return that a file is generated, by what and from what as far as it says so; "" for any other file."""
    lines = [match["text"] for match in _COMMENT.finditer(text[:HEAD])] if text else []
    said = [line for line in lines if _SAYS.search(line)]
    if not said and not is_linguist_generated(root, path):
        return ""
    joined = "\n".join(lines)
    maker, source = _MAKER.search(joined), _SOURCE.search(joined)
    by = f" by {maker['name'].strip()}" if maker else ""
    name = (source["name"] or source["file"]).rstrip(".,;") if source else ""
    origin = f" from {name}" if name and name not in by else ""
    return f"generated{by}{origin}: change its source and generate it again; an edit here would be lost"


def is_linguist_generated(root: Path, path: str) -> bool:
    """Return whether the last line of .gitattributes that names the attribute for a file sets it."""
    found = False
    folders = [*reversed(PurePosixPath(path).parents)]
    for folder in folders:
        inner = path if str(folder) == "." else path.removeprefix(f"{folder}/")
        for pattern, value in _list_attributes(root / folder / ".gitattributes"):
            if _is_match(pattern, inner):
                found = value
    return found


def _list_attributes(place: Path) -> Iterator[tuple[str, bool]]:
    """Yield the patterns for which the attribute is set or unset."""
    try:
        text = read_regular_text(place, SETTINGS, "replace") or ""
    except OSError:
        return
    if "linguist-generated" not in text:
        return
    for line in text.splitlines():
        words = line.split()
        for word in words[1:]:
            name, _, value = word.partition("=")
            if name.lstrip("-!") == "linguist-generated" and not words[0].startswith(("#", '"')):
                yield words[0], name[0] not in "-!" and value not in ("false", "0")


_PARTS = {"**/": "(?:.*/)?", "/**": "/.*", "**": ".*", "*": "[^/]*", "?": "[^/]"}


def _is_match(pattern: str, path: str) -> bool:
    if "/" not in pattern.rstrip("/"):
        path = path.rpartition("/")[2]
    tokens = re.findall(r"\*\*/|/\*\*$|\*\*|\*|\?|\[!?[^\]]+\]|.", pattern.lstrip("/"))
    parts = (
        _PARTS.get(each) or (each.replace("[!", "[^") if len(each) > 1 else re.escape(each))
        for each in tokens
    )
    try:
        return re.fullmatch("".join(parts), path) is not None
    except re.error:  # a range that is none
        return False
