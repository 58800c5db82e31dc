"""Constructs by the version of a language that brought them: an older compiler that refuses them proves no error."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache

from tools.code.languages import encode_text, measure_common_ends
from tools.code.syntax.syntax_problem import Problem

Version = tuple[int, ...]

NEVER: Version = (99,)
"""The version of what no release has yet, or only a dialect."""

CONSTRUCTS: Mapping[str, tuple[tuple[Version, str], ...]] = {
    "python": (
        ((3, 12), r"""\b[rR]?[fF][rR]?(?P<quote>["'])(?:(?!(?P=quote)).)*\{(?:(?!(?P=quote))[^}])*(?P=quote)"""),
        ((3, 12), r"""\b[rR]?[fF][rR]?(?:"{3}|'{3})"""),
        ((3, 13), r"^\s*type\s+\w+\s*[\[=\\]"),
        ((3, 13), r"^\s*(async\s+)?(def|class)\s+\w+\s*\["),
        ((3, 14), r"""\b[rR]?[tT][rR]?["']"""),
        ((3, 14), r"^\s*except\*?\s+\w[^(:]*,"),
        ((3, 15), r"^\s*lazy\s+(import|from)\b"),
        ((3, 15), r"[\[({]\s*\*{1,2}.*\bfor\b"),
    ),
    "javascript": (
        ((20, 10), r"\bwith\s*\{"),
        ((24,), r"\busing\s+[\w$]"),
        (NEVER, r"\bimport\s+(defer|source)\b|\bexport\s+(\w+|\*\s+as\s+\w+,.*)\s+from\b"),
        (NEVER, r"^\s*@|\baccessor\s|\|>|#[\[{]|(=|\(|=>|\?|:)\s*throw\b"),
    ),
    "php": (
        ((8, 3), r"\bconst\s+\??[\w\\|&()]+\s+\w+\s*=|::\s*\{|\bnew\s+readonly\b"),
        ((8, 4), r"\b(public|private|protected|final|readonly|var)\b[^;(]*\$\w+\s*(=[^;{(]*)?\{|\(\s*set\s*\)"),
        ((8, 4), r"(^|[{;])\s*(final\s+)?&?(get|set)\s*(=>|[{;(])|\bnew\s+[\w\\$]+\s*\([^;]*\)\s*(\??->|::|\[)"),
        ((8, 5), r"\|>|\bclone\s*\([^)]*,|\(\s*void\s*\)|#\[[^\]]*\]\s*const\b"),
    ),
    "ruby": (
        ((3, 2), r"[(,]\s*[*&]{1,2}\s*[,)]"),
        ((4, 0), r"^\s*(&&|\|\||and\b|or\b)|\w\s+def\s+[\w.?!]+(\([^)]*\))?\s*=\s|\*nil\b"),
    ),
    "bash": (((5, 3), r"\$\{[\s|]"),),
    "go": (
        ((1, 24), r"^\s*type\s+\w+\s*\[.*\]\s*="),
        (NEVER, r"^func\s*\([^)]*\)\s*\w+\s*\["),
    ),
    "rust": (
        ((1, 77), r"\bc[\"#]"),
        ((1, 79), r"\bconst\s*\{|<\w+\s*:"),
        ((1, 82), r"&raw\b|\buse\s*<|\bsafe\s+(fn|static)\b|\bunsafe\s+extern\b|#!?\[\s*unsafe\b"),
        ((1, 85), r"\basync\s*(move\s*)?\||\basync\s+Fn"),
        ((1, 88), r"\b(if|while)\b.*&&|^\s*&&\s*let\b"),
        (NEVER, r"\bgen\s*(fn\b|(move\s*)?\{)|\bdo\s+yeet\b|\bdyn\s*\*|\bbuiltin\s*#|\bimpl\s+(const|!)|\[?const\]\s"),
        (NEVER, r"\bdefault\s+(async|const|fn|impl|type|unsafe)\b|^\s*(pub\s+)?macro\s+\w|\b(auto|const)\s+trait\b"),
        (NEVER, r"\btry\s*\{|\bif\s+let\b.*=>|&pin\b|\bbecome\b|\bunsafe\s*<|\w\(\.\.\)|~\s*const\b|\byield\b"),
    ),
    "java": (
        ((17,), r"\b(sealed|non-sealed|permits|record)\b|->|\byield\b|\binstanceof\b[^;]*\w\s+\w+\s*[)&|]|\"{3}"),
        ((21,), r"\bcase\s+[\w.<>]+\s*\(|\binstanceof\s+[\w.<>]+\s*\(|\bwhen\b|\bcase\s+null\b"),
        ((22,), r"(?<![\w.])_(?!\w)"),
        ((25,), r"^import\s+module\b|^\w[\w<>\[\], ]*\([^)]*\)[^;]*\{|^(static\s+|final\s+)*[\w<>\[\]]+\s+\w+\s*(=|;)"),
        (NEVER, r"\b(value|primitive)\s+(class|record)\b|\w\s+with\s*\{|\w\.\\?\"|\bcase\s+(int|long|double)\b"),
    ),
    "lua": (((5, 4), r"<\s*(const|close)\s*>"), ((5, 5), r"\bglobal\b")),
}  # fmt: skip
"""Patterns of lines, by language; each is rather too wide than too narrow."""

_MESSAGES: Mapping[str, tuple[tuple[Version, str], ...]] = {
    "python": (
        ((3, 12), r"f-string"),
        ((3, 14), r"multiple exception types"),
        ((3, 15), r"unpacking cannot be used in"),
    ),
    "javascript": ((NEVER, r"^Invalid regular expression"),),
}
"""Errors of a compiler that a version lifted, or may lift."""

_F_STRING = r"""\b[rR]?[fFtT][rR]?["']"""


def has_newer_construct(language: str, version: Version, text: str) -> bool:
    """Return whether a text has lines that a later version of the language may accept."""
    pattern = _compile_newer(language, version)
    return pattern is not None and pattern.search(text) is not None


def may_be_newer(language: str, version: Version, problem: Problem, before: str | None, after: str) -> bool:
    """Return whether an error of a compiler of this version may be due to a construct of a later one, in its line or in
    the lines that changed.
    """
    lines = after.split("\n")
    line = lines[problem.line - 1] if problem.line <= len(lines) else ""
    lifted = (message for since, message in _MESSAGES.get(language, ()) if version < since)
    if any(re.search(message, problem.message) for message in lifted):
        return True
    if language == "python" and version < (3, 12) and re.search(_F_STRING, line):
        return True
    old, new = encode_text(before or ""), encode_text(after)
    start, tail = measure_common_ends(old, new)
    first = new.rfind(b"\n", 0, start) + 1
    last = new.find(b"\n", len(new) - tail)
    changed = new[first : last if last >= 0 else len(new)].decode("utf-8", "replace")
    return has_newer_construct(language, version, line) or has_newer_construct(language, version, changed)


@cache
def _compile_newer(language: str, version: Version) -> re.Pattern[str] | None:
    rows = [pattern for since, pattern in CONSTRUCTS.get(language, ()) if version < since]
    return re.compile("|".join(f"(?:{each})" for each in rows), re.MULTILINE) if rows else None
