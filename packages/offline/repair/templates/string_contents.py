"""Templates for the contents of strings: regular expressions, and texts that a failing test expects otherwise.

Regular expressions are changed as in mutation testing (MutRex: Arcaini, Gargantini and Riccobene 2017),
inverted.
"""

from __future__ import annotations

import ast
import re
import tokenize
import warnings
from collections.abc import Iterator, Sequence

from packages.offline.repair.templates.support.rewording import find_rewordings
from packages.offline.repair.templates.support.template_site import Change, Site, template
from sandbox.lazy_pattern import compile_lazily

# Replacements in the source text of a regular expression: pattern, and possible intended texts.
_EDITS: tuple[tuple[str, tuple[str, ...]], ...] = (
    (r"(?<=[\w\]).}])\+", ("*", "?", "{1,2}")),
    (r"(?<=[\w\]).}])\*(?!\?)", ("+", "*?", "?")),
    (r"(?<=[\w\]).}])\?", ("*", "")),
    (r"(?<!\\)\.(?![*+])", (r"\.", "[^\n]")),
    (r"(?<!\\)\.(?=[*+])", (r"\S", r"[\s\S]")),
    (r"\\\.", (".",)),
    (r" (?=[*+?])", (r"\s", r"[ \t]")),
    (r"\\s(?![*+?{])", (r"\s+", r"\s*")),
    (r"\\s\+", (r"\s*", r"[ \t]+")),
    (r"\\s\*", (r"\s+", r"[ \t]*")),
    (r"\\d(?![*+?{])", (r"\d+", r"\d*")),
    (r"\\w(?![*+?{\]])", (r"\w+", r"[\w-]", r"[\w.]")),
    (r"\\d", (r"[0-9]", r"\w")),
    (r"\\b", (r"\B",)),
    (r"(?<![\[\\])\^", (r"\A",)),
    (r"(?<!\\)\$", (r"\Z",)),
    (r"(?<![A-Z-])a-z(?!A)", ("a-zA-Z", "a-z0-9")),
    (r"(?<![a-z-])A-Z(?!a)", ("A-Za-z", "A-Z0-9", r"\w")),
    (r"A-Za-z|a-zA-Z", (r"\w", "A-Za-z0-9")),
    (r"A-Z[À-ÿ]-[À-ÿ]|0-9", (r"\w", r"\d")),
    (r"\{(\d+)\}", (r"+", r"*")),
    (r"\{(\d+),(\d+)\}", ("+", "*")),
)
_REGEX = compile_lazily(r"\\[dDsSwWbB.()\[\]{}$*+?|]|\[\^?.+\]|\(\?|\.[*+]| [*+]|[)\]][*+?]|^\^|\$$")
_BODY = compile_lazily(r"(?s)^([rRbBuU]*)('''|\"\"\"|'|\")(.*)\2$")
# Extensions of a character class; anchors at the end of an expression.
_MEMBERS = (r"\w", r"\s", r"\-", r"\.", "_", "0-9", "'", '"')
_LONGEST = 300


@template(prior=0.8, precision=0.8)
def regular_expression(site: Site) -> Iterator[Change]:
    """Change a part of a regular expression: quantifier, class, anchor, escape, a part made optional (MutRex)."""
    for node in site.nodes:
        for start, body, raw in _iter_regex_literals(site, node):
            yield from _iter_variants(start, body, raw)


@template(prior=2.5, precision=0.8)
def expected_text(site: Site) -> Iterator[Change]:
    """Change the one part of a string that differs from the failing assertion (constant from the oracle: ARJA-p)."""
    for node in site.nodes:
        is_format = isinstance(node, ast.JoinedStr)
        if is_format or (isinstance(node, ast.Constant) and isinstance(node.value, str)):
            start, end = site.source.get_span(node)
            written = site.source.text[start:end]
            for each in find_rewordings(written, site.hints.texts):
                text = re.sub(r"[{}]", r"\g<0>\g<0>", each.text) if is_format else each.text
                yield _create_change(start, written, each.start, each.end, text)


def _iter_regex_literals(site: Site, node: ast.expr) -> Iterator[tuple[int, str, bool]]:
    """Yield (offset, text as written, whether it is raw) of a string that is probably a regular expression."""
    if not (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes)):
        return
    value = node.value if isinstance(node.value, str) else node.value.decode("latin-1")
    if _REGEX.search(value) and _is_valid_regex(value):
        yield from (piece for piece in _iter_literal_pieces(site, node) if len(piece[1]) <= _LONGEST)


def _iter_literal_pieces(site: Site, node: ast.expr) -> Iterator[tuple[int, str, bool]]:
    """Yield (offset, text as written, whether it is raw) of each literal that a string consists of."""
    start, end = site.source.get_span(node)
    lines = f"({site.source.text[start:end]})".splitlines(keepends=True)
    try:
        tokens = [t for t in tokenize.generate_tokens(iter(lines).__next__) if t.type == tokenize.STRING]
    except (
        tokenize.TokenError,
        IndentationError,
        StopIteration,
    ):  # a string inside an f-string, with a wrong position
        return
    for token in tokens:
        row, column = token.start
        written = _BODY.match(token.string)
        if written is not None:
            place = start - 1 + sum(map(len, lines[: row - 1])) + column + written.start(3)
            yield place, written[3], "r" in written[1].lower()


def _iter_variants(start: int, body: str, raw: bool) -> Iterator[Change]:
    pattern, offsets = (body, range(len(body) + 1)) if raw else _collapse_backslashes(body)
    for first, last, text in _iter_edits(pattern):
        yield _create_change(start, body, offsets[first], offsets[last], _escape_text(text, raw))


def _collapse_backslashes(body: str) -> tuple[str, Sequence[int]]:
    """Return the text of a literal that is not raw with `\\\\` as one backslash, and the offsets of its characters.

    An edit must not begin between the two: it would leave an escape that no Python knows.
    """
    written = list(re.finditer(r"(?s)\\(\\)|.", body))
    pattern = "".join(each[1] or each[0] for each in written)
    return pattern, [*(each.start() for each in written), len(body)]


def _iter_edits(pattern: str) -> Iterator[tuple[int, int, str]]:
    """Yield (start, end, replacement) for each part of a regular expression."""
    for wrong, others in _EDITS:
        for match in re.finditer(wrong, pattern):
            for other in others:
                if other != match[0]:
                    yield match.start(), match.end(), other
    for text in ("$", r"\b", r"\Z", r"\s*"):
        if not pattern.endswith(text):
            yield len(pattern), len(pattern), text
    for text in ("^", r"\b", r"\s*"):
        if not pattern.startswith(text):
            yield 0, 0, text
    for match in re.finditer(r"(?<!\\)\]", pattern):
        for text in _MEMBERS:
            yield match.start(), match.start(), text
    for match in re.finditer(r"(?<!\\)\)(?![*+?{])", pattern):
        for text in ("?", "*", "+"):
            yield match.end(), match.end(), text
    for match in re.finditer(r"\\[dwsS](?![*+?{])|[^\\\W](?=[^*+?{\w]|$)|[^\w\s\\()[\]{}*+?^$|.]$", pattern):
        yield match.end(), match.end(), "?"


def _create_change(start: int, body: str, first: int, last: int, text: str) -> Change:
    old, new = body, body[:first] + text + body[last:]
    why = f"`{_shorten_text(old)}` should be `{_shorten_text(new)}`"
    return Change(start=start + first, end=start + last, text=text, why=why)


def _escape_text(text: str, raw: bool) -> str:
    return text if raw else text.replace("\\", "\\\\")


def _shorten_text(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:28]}…{text[-28:]}"


def _is_valid_regex(value: str) -> bool:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # the project's own affair
            re.compile(value)
    except (re.error, RecursionError, OverflowError):  # prose, a format, or another dialect
        return False
    return True
