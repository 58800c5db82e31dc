"""File names as models write them: decorated, in fences, in tags, in the headers of diffs."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sandbox.lazy_pattern import compile_lazily

NO_FILE = frozenset({"/dev/null", "dev/null", "a/dev/null", "b/dev/null"})
"""Names in a diff for a file that does not exist; the last three are slips."""

LOOK_BACK = 4
"""Non-blank lines, besides fences and tags, that are searched for the name of a block's file."""

_PLAIN = compile_lazily(
    r"(?:make|docker|container|rake|gem|proc|vagrant|jenkins|brew|just|caddy|pip)file|licen[cs]e|readme|changelog"
    r"|authors|copying|notice|codeowners|build|workspace",
    re.IGNORECASE,
)
"""Files whose names have neither a folder nor an extension."""

_LABEL = compile_lazily(
    r"(?:(?:in|the|new|create|update|edit|modify|modified|existing|target|source|delete)\s+){0,3}"
    r"(?:file\s?name|file\s?path|filepath|file|path|source)\s*(?:[:=]|\s(?=[`'\"*]))\s*",
    re.IGNORECASE,
)
_BULLET = compile_lazily(r"(?:#{1,6}\s+|>\s+|[-*+•]\s+|\d{1,3}[.)]\s+|//\s*|#\s*|--\s+|;+\s+|@\s*)")
_AFTER = compile_lazily(
    r"\s*\((?:new|new file|created?|updated?|modified|existing|existing file|edited)\)$", re.IGNORECASE
)
_TAGGED = compile_lazily(r"<([A-Za-z_][\w-]{0,30})>([^<>]{1,500})(?:</\1>)?")
_EXTENSION = compile_lazily(r"\.[A-Za-z0-9_+~-]{1,16}\Z")
_TOKEN = compile_lazily(r"[^\s`'\"<>|*?,;()\[\]{}=]{1,500}\Z")
_BACKTICKED = compile_lazily(r"`([^`\s]{1,300})`")
_FENCE = compile_lazily(r"[ \t]*(`{3,}(?!`)|~{3,}(?!~))([^`]{0,500})\Z")
_TAG_ONLY = compile_lazily(r"(?:</?[A-Za-z_][\w-]{0,30}>|<!\[CDATA\[|\]\]>|\s)+\Z")


def parse_path_line(line: str) -> str | None:
    """Return the path that makes up a line, without its decoration; None for any other line."""
    if len(line) > 600:
        return None
    tagged = _TAGGED.fullmatch(line.strip())
    text = (tagged[2] if tagged else line).strip()
    decorated = bool(tagged)
    for _ in range(4):
        before = text
        text = _AFTER.sub("", text).strip()
        if text.startswith(("<!--", "/*")) and text.endswith(("-->", "*/")):
            text = text[4 if text[0] == "<" else 2 : -3 if text[0] == "<" else -2].strip()
        bullet = _BULLET.match(text)
        if bullet and not is_path(text):
            text = text[bullet.end() :]
        label = _LABEL.match(text)
        if label:
            text, decorated = text[label.end() :], True
        if len(text) > 1 and text[-1] in ":," and not text.endswith("::"):
            text = text[:-1].rstrip()
        for mark in ("**", "__", "`", "*", '"', "'"):
            if len(text) > 2 * len(mark) and text.startswith(mark) and text.endswith(mark):
                inside = text[len(mark) : -len(mark)]
                if mark not in inside:
                    text, decorated = inside, decorated or mark != "*"
        if text == before:
            break
    return text if is_path(text) or (decorated and _may_be_path(text)) else None


def is_path(text: str) -> bool:
    """Return whether a text has a folder or an extension, and nothing that only a sentence has."""
    if (
        not text
        or text.endswith((".", "/", "..."))
        or text.startswith(("...", "//", "http:", "https:"))
        or "…" in text
    ):
        return False
    if _TOKEN.match(text):
        return (
            "/" in text or "\\" in text or bool(_EXTENSION.search(text)) or bool(_PLAIN.fullmatch(text))
        ) and not (text.strip("./\\-") == "" or text.endswith("::"))
    head = text.split(" ", 1)[0]
    return (
        "/" in head[1:]
        and head[0] != "#"
        and "`" not in text
        and bool(_EXTENSION.search(text))
        and ": " not in text
    )


def find_path_before(lines: Sequence[str], at: int, floor: int) -> tuple[str, int] | None:
    """Find the path for the block at `at` in lines `floor` to `at`, nearest first, with its line number."""
    seen = 0
    for number in range(at - 1, max(floor, at - 40) - 1, -1):
        line = lines[number]
        fence = _FENCE.match(line)
        if fence:
            path = _find_path_in_fence(fence[2])
            if path:
                return path, number
            continue
        if not line.strip() or _TAG_ONLY.match(line[:600]):
            continue
        path = parse_path_line(line)
        if path is None and seen == 0:
            path = _parse_plain_name(line) or _find_path_in_prose(line)
        if path:
            return path, number
        seen += 1
        if seen == LOOK_BACK:
            break
    return None


def parse_header_path(text: str) -> str:
    """Parse the path of a `---` or `+++` line: quotes, a time stamp and the tab before it are removed."""
    if text.startswith('"'):
        return unquote_git_path(text)
    if "\t" in text:
        return text.split("\t", 1)[0]
    return _STAMP.sub("", text.rstrip("\r")).rstrip(" ")


_STAMP = compile_lazily(r" {1,8}\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d)?(?:\.\d{1,9})?(?: ?[+-]\d{4}| ?Z)?\Z")


def unquote_git_path(text: str) -> str:
    """Unquote a name that git quotes ("caf\\303\\251.txt"); other text is returned as is."""
    match = _QUOTED.match(text)
    if not match:
        return text
    content = _ESCAPE.sub(_decode_escape, match[1].encode())
    return content.decode("utf-8", "surrogateescape")


_QUOTED = compile_lazily(r'"((?:[^"\\]|\\.)*)"')
_ESCAPE = compile_lazily(rb"\\([0-7]{3}|.)", re.DOTALL)
_ESCAPED = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}


def _decode_escape(match: re.Match[bytes]) -> bytes:
    escape = match[1]
    if len(escape) == 3:
        return bytes([int(escape, 8) & 0xFF])
    return _ESCAPED.get(escape, escape)


def strip_prefixes(old: str, new: str) -> tuple[str, str]:
    """Strip git's prefixes (`a/`, `b/` and the like) from both names of a header, if they have them."""
    if old in NO_FILE or new in NO_FILE:
        return _strip_prefix(old, "aciow"), _strip_prefix(new, "bciow")
    letters = "abciow"
    if old[1:2] == "/" == new[1:2] and old[0] in letters and new[0] in letters and old[0] != new[0]:
        return old[2:], new[2:]
    if old in (f"a/{new}", f"i/{new}", f"o/{new}") or new in (f"b/{old}", f"w/{old}", f"i/{old}"):
        shorter = min(old, new, key=len)
        return shorter, shorter
    first, _, old_rest = old.partition("/")
    second, _, new_rest = new.partition("/")
    if old_rest and old_rest == new_rest and (first, second) in _PAIRS:
        return old_rest, new_rest
    return old, new


_PAIRS = frozenset(
    {("old", "new"), ("original", "modified"), ("orig", "new"), ("before", "after"), ("original", "updated")}
)
"""Folders used in place of `a/` and `b/` in diffs written by hand."""


def _strip_prefix(name: str, letters: str) -> str:
    return name[2:] if name[1:2] == "/" and name[0] in letters and name not in NO_FILE else name


def strip_lone_prefix(name: str) -> str:
    """Strip the prefix of a header that names only one file."""
    return _strip_prefix(name, "ab")


def parse_git_names(text: str) -> tuple[str, str] | None:
    """Parse both names of `diff --git OLD NEW`, prefixes removed; None when they cannot be told apart."""
    text = text.rstrip("\r ")
    quoted = _QUOTED.match(text)
    if quoted:
        return strip_prefixes(unquote_git_path(quoted[0]), unquote_git_path(text[quoted.end() :].lstrip(" ")))
    if text.endswith('"') and ' "' in text:
        old, _, new = text.partition(' "')
        return strip_prefixes(old, unquote_git_path('"' + new))
    middle = len(text) // 2
    if len(text) % 2 and text[middle] == " ":
        pair = strip_prefixes(text[:middle], text[middle + 1 :])
        if pair[0] == pair[1]:
            return pair
    parts = text.split(" ")
    return strip_prefixes(parts[0], parts[1]) if len(parts) == 2 else None


def _find_path_in_fence(info: str) -> str | None:
    """Find a path in the info string of a fence: `python src/a.py`, `src/a.py`, `python:src/a.py`,
    `title="a.py"`.
    """
    for word in reversed(re.split(r"[\s={}]+", info.strip())):
        bare = word.strip("\"'`")
        language, colon, rest = bare.partition(":")
        if colon and len(language) > 1 and is_path(rest):
            return rest
        if is_path(bare) and ("/" in bare or "." in bare):  # "dockerfile" is a language here
            return bare
    return None


def _find_path_in_prose(line: str) -> str | None:
    found = [
        name for name in _BACKTICKED.findall(line[:600]) if is_path(name) and ("/" in name or "." in name)
    ]
    return found[0] if len(set(found)) == 1 else None


def _parse_plain_name(line: str) -> str | None:
    """Return a name without folder or extension: only where nothing else is possible, and never a language's
    name.
    """
    text = line.strip()
    return text if _PLAIN.fullmatch(text) else None


def _may_be_path(text: str) -> bool:
    """Return whether quoted or labelled text ("File:") may be a path: it may have spaces, or no extension."""
    if not text or len(text) > 300 or any(mark in text for mark in "`<>|\n\t*"):
        return False
    return bool(_EXTENSION.search(text)) or "/" in text or bool(_PLAIN.fullmatch(text))
