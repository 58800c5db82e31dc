"""Names used in code, with lines and counts; comments and strings are removed first."""

from __future__ import annotations

from collections import Counter, defaultdict
from functools import cache
from typing import TYPE_CHECKING

from sandbox.lazy_pattern import compile_lazily
from tools.code.index.parsing.document_outline import NAMES as DOCUMENTS
from tools.code.index.parsing.keywords import KEYWORDS
from tools.code.index.parsing.sql_definitions import SQL, parse_sql
from tools.code.languages import Language, encode_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def find_name_lines(language: str, text: str, said: Sequence[int], only: str = "") -> dict[str, list[int]]:
    """Return name → lines on which it occurs in code, each as `line * 2 + 1` if it is called, else `line * 2`.

    language: its name; said: of the text's facts; only: restricts the search to one name
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if language in DOCUMENTS:
        return {}
    if language == SQL.name:
        code = parse_sql(text).code
    else:
        code = separate_prose(encode_text(text), list(zip(said[::2], said[1::2], strict=True)))[0].decode(
            "utf-8", "replace"
        )
    return _find_lines_in_code(language, code, only)


def _find_lines_in_code(language: str, code: str, only: str) -> dict[str, list[int]]:
    found: defaultdict[str, list[int]] = defaultdict(list)
    keywords = KEYWORDS.get(language, frozenset())
    names = _NAMES.get(language, _NAME_OR_CALL).findall
    for number, line in enumerate(code.split("\n"), 1):
        for each in names(line) if only in line else ():
            name = each[:-1].rstrip() if each[-1] == "(" else each
            if name in keywords and (language == "python" or f".{name}" not in line):
                continue
            if not only or name == only:
                found[name].append(number * 2 + (each[-1] == "("))
    return dict(found)


def count_names(language: Language, code: str) -> dict[str, tuple[int, int]]:
    """Return name → number of occurrences in a text of code alone, and number of calls."""
    uses: dict[str, tuple[int, int]] = {}
    calls = []
    for each, count in _count_tokens(language.name, code).items():
        if each[-1] == "(":
            calls.append((each[:-1].rstrip(), count))
        else:
            uses[each] = count, 0
    for name, count in calls:
        used, called = uses.get(name, (0, 0))
        uses[name] = used + count, called + count
    for name in KEYWORDS.get(language.name, frozenset()) & uses.keys():
        del uses[name]
        # Except in Python a keyword may be a member's name: `users.delete()`.
        if language.name != "python" and f".{name}" in code:
            there = _find_lines_in_code(language.name, code, name).get(name, ())
            if there:
                uses[name] = len(there), sum(mark & 1 for mark in there)
    return uses


def _count_tokens(language: str, code: str) -> Counter[str]:
    """Count each name in the code, separately from the name followed by a call's bracket."""
    names = _NAMES.get(language, _NAME_OR_CALL)
    if names is _WITH_MARKS or not code.isascii():
        return Counter(names.findall(code))
    # Same result without a regex, in a fifth of the time: a name ends at a non-letter or a bracket.
    spaced = (
        code.translate(_build_separator_table(names is _WITH_DOLLARS)).replace(" (", "(").replace("(", "( ")
    )
    counts = Counter(spaced.split())
    for each in [each for each in counts if each[0] in "(0123456789"]:
        count, name = counts.pop(each), each.lstrip("0123456789")
        if name not in ("", "("):  # a name may directly follow a number: `0x1F`, `1_000`
            counts[name] += count
    return counts


@cache
def _build_separator_table(dollars: bool) -> str:
    """Return the translation table of ASCII: blanks become spaces, characters of no name or call become newlines."""
    kept = "_($" if dollars else "_("
    return "".join(
        each if each.isalnum() or each in kept else " " if each.isspace() and each != "\n" else "\n"
        for each in map(chr, range(128))
    )


_NAME_OR_CALL = compile_lazily(r"[^\W\d]\w*(?:[^\S\n]?\()?")

_WITH_DOLLARS = compile_lazily(r"(?:\$|[^\W\d])[\w$]*(?:[^\S\n]?\()?")
_WITH_MARKS = compile_lazily(r"[^\W\d]\w*(?:[?!](?!=))?(?:[^\S\n]?\()?")
_NAMES = {
    **dict.fromkeys(("javascript", "typescript", "tsx", "java"), _WITH_DOLLARS),
    "ruby": _WITH_MARKS,
}
"""Languages in which a dollar is a letter, and in which a name may end in a mark (`empty?`, `save!`)."""


def separate_prose(source: bytes, prose: list[tuple[int, int]]) -> tuple[bytes, bytes]:
    """Return the code without comments and strings (their line ends stay), and the comments and strings."""
    code, said, at = [], [], 0
    for start, end in prose:
        if start < at:
            continue
        inside = source[start:end]
        code.append(source[at:start])
        code.append(b"\n" * inside.count(b"\n") or b" ")
        said.append(inside)
        at = end
    code.append(source[at:])
    return b"".join(code), b"\n".join(said)


def exclude_holes(prose: list[tuple[int, int]], holes: list[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Yield prose without interpolated code (`s"total ${f(x)}"`), for grammars that have no node for the rest."""
    at = 0
    for start, end in prose:
        while at < len(holes) and holes[at][1] <= start:
            at += 1
        near = at
        while near < len(holes) and holes[near][0] < end:
            if start < holes[near][0]:
                yield start, holes[near][0]
            start = max(start, holes[near][1])
            near += 1
        if start < end:
            yield start, end
