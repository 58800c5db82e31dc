"""Definitions of an SQL text: tables with their columns, views, functions, triggers and others, of any dialect.

No grammar: the one for tree-sitter fails on most files with procedures (`docs/dependencies.md`), while the heads of
statements are alike in all dialects.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterator
from itertools import zip_longest
from typing import NamedTuple

from sandbox.lazy_pattern import compile_lazily
from tools.code.languages import Language

SQL = Language(name="sql", suffixes=(".sql",), package="")


class SqlDefinition(NamedTuple):
    """name: qualified by its schema or table, without quotes; lines count from 1, the last one included"""

    name: str
    kind: str
    first: int
    last: int


class ParsedSql(NamedTuple):
    """code, prose: the text without comments and strings (its line ends stay), and these; bodies in $$ are code"""

    code: str
    prose: str
    created: list[SqlDefinition]


def parse_sql(text: str) -> ParsedSql:
    """Parse a text into code, prose and definitions."""
    code, prose, bodies = _separate_prose(text)
    return ParsedSql(code, prose, list(_find_definitions(code, bodies)))


_TOKEN = compile_lazily(
    r"""--[^\n]*|/\*.*?(?:\*/|\Z)|"""
    r"""'(?:[^']|'')*(?:'|\Z)|"[^"\n]*"|`[^`\n]*`|(?<![\w$])\$(?:[A-Za-z_]\w*)?\$""",
    re.DOTALL,
)


_AT_ONCE = compile_lazily(r"\b(?:DO|EXECUTE)\s*$", re.IGNORECASE)
"""Before a body that is executed immediately: its definitions count."""


def _separate_prose(text: str) -> tuple[str, str, list[tuple[int, int]]]:
    """Return code of the same length as the text, prose, and the spans of dollar-quoted function bodies."""
    code, prose, bodies = list[str](), list[str](), list[tuple[int, int]]()
    at, inside, begun, at_once = 0, "", 0, set[str]()
    token = _TOKEN.search(text)
    while token is not None:
        found, start = token[0], token.start()
        if found[0] == "$":
            if found in at_once:
                at_once.remove(found)
            elif not inside and _AT_ONCE.search(text[max(0, start - 20) : start]):
                at_once.add(found)
            elif not inside:
                inside, begun = found, start
            elif found == inside:
                bodies.append((begun, token.end()))
                inside = ""
        elif found[0] in "-/'":
            # For the server a body is a string: its end counts in comments as well.
            if inside and inside in found:
                found = found[: found.index(inside)]
            code += [text[at:start], re.sub(r"[^\n]", " ", found)]
            prose.append(found)
            at = start + len(found)
        token = _TOKEN.search(text, start + len(found))
    code.append(text[at:])
    if inside:
        bodies.append((begun, len(text)))
    return "".join(code), "\n".join(prose), bodies


_NAME = r"""(?:"[^"\n]+"|`[^`\n]+`|\[[^\]\n]+\]|[@#\w$]+)"""

_HEAD = compile_lazily(
    r"(?:^|;)[ \t]*(CREATE\s+(?:OR\s+(?:REPLACE|ALTER)\s+)?"
    r"(?:(?:TEMP|TEMPORARY|GLOBAL|LOCAL|UNLOGGED|UNIQUE|CLUSTERED|NONCLUSTERED|RECURSIVE|MATERIALIZED|FOREIGN|EXTERNAL|"
    r"CONSTRAINT|FULLTEXT|SPATIAL|VIRTUAL|TRANSIENT|EDITIONABLE|NONEDITIONABLE|SQL|SECURITY|DEFINER|INVOKER|AGGREGATE|"
    r"(?:DEFINER|ALGORITHM)\s*=\s*\S+)\s+)*?"
    r"(TABLE|VIEW|FUNCTION|PROCEDURE|PROC|TRIGGER|TYPE|SEQUENCE|SCHEMA|DATABASE|INDEX|DOMAIN|AGGREGATE|POLICY|RULE|"
    r"PACKAGE\s+BODY|PACKAGE|EVENT|SYNONYM)\s+(?:CONCURRENTLY\s+)?(?:IF\s+NOT\s+EXISTS\s+)?"
    rf"({_NAME}(?:\s*\.\s*{_NAME}){{0,2}}))",
    re.IGNORECASE | re.MULTILINE,
)

_KINDS = {"proc": "procedure", "package body": "package"}

_NO_NAMES = frozenset({"on", "authorization", "to", "from"})
"""Words in place of a missing name of an index or a schema."""

_NEXT = compile_lazily(
    r"^(?:GO|DELIMITER\b.*|/|(?:CREATE|ALTER|DROP|GRANT|COMMENT)\s.*)$", re.IGNORECASE | re.MULTILINE
)


def _find_definitions(code: str, bodies: list[tuple[int, int]]) -> Iterator[SqlDefinition]:
    number, at = 1, 0
    # Definitions in a body exist only when it runs.
    heads = [head for head in _HEAD.finditer(code) if not _find_enclosing_body(bodies, head.start(1))]
    others = [each.start() for each in _NEXT.finditer(code)]
    for head, after in zip_longest(heads, heads[1:]):
        start = head.start(1)
        name = _strip_name_quotes(head[3])
        if not name or name.lower() in _NO_NAMES:
            continue
        kind = re.sub(r"\s+", " ", head[2].lower())
        number += code.count("\n", at, start)
        at = start
        limit = after.start(1) if after else len(code)
        near = bisect_left(others, head.end())
        end = _find_statement_end(code, head.end(), min([limit, *others[near : near + 1]]), limit, bodies)
        yield SqlDefinition(name, _KINDS.get(kind, kind), number, number + code.count("\n", start, end))
        if kind == "table":
            yield from _find_columns(
                code, head.end(), end, name, number + code.count("\n", start, head.end())
            )


def _strip_name_quotes(name: str) -> str:
    parts = (re.sub(r'^["`\[]|["`\]]$', "", part.strip()) for part in re.findall(_NAME, name))
    return ".".join(part for part in parts if part)


def _find_statement_end(code: str, at: int, near: int, limit: int, bodies: list[tuple[int, int]]) -> int:
    """Return the semicolon that ends a statement; with BEGIN outside dollar quotes, the last before the next statement.

    near: start of a line that looks like the next statement; limit: start of the next definition
    """
    stop = code.find(";", at, limit)
    while stop >= 0 and (body := _find_enclosing_body(bodies, stop)):
        stop = code.find(";", body[1], limit)
    stop = limit if stop < 0 else stop
    plain, begun = "", at
    for first, end in bodies[bisect_left(bodies, (at, 0)) : bisect_left(bodies, (stop, 0))]:
        plain += code[begun:first]
        begun = end
    plain += code[begun:stop]
    if re.search(r"\bBEGIN\b", plain, re.IGNORECASE):
        last = code.rfind(";", at, near if near > stop else limit)
        stop = last if last >= 0 else limit
    return len(code[at:stop].rstrip()) + at if stop == limit else stop


def _find_enclosing_body(bodies: list[tuple[int, int]], at: int) -> tuple[int, int] | None:
    """Return the body that contains a place. Bodies are in text order and do not overlap."""
    near = bisect_left(bodies, (at, 0)) - 1
    return bodies[near] if near >= 0 and at < bodies[near][1] else None


_NO_COLUMNS = frozenset(
    ["constraint", "primary", "foreign", "unique", "check", "exclude", "key", "index", "like", "period", "fulltext",
     "spatial", "as", "select"]
)  # fmt: skip


def _find_columns(code: str, at: int, end: int, table: str, number: int) -> Iterator[SqlDefinition]:
    """Yield the first word of each item in the brackets after a table's name."""
    opened = re.compile(r"\s*\(").match(code, at, end)
    if opened is None:
        return
    depth, item = 0, True
    number += code.count("\n", at, opened.end() - 1)
    for token in re.compile(rf"[(),]|\n|{_NAME}").finditer(code, opened.end() - 1, end):
        mark = token[0]
        if mark == "\n":
            number += 1
        elif mark == "(":
            depth += 1
            item = depth == 1
        elif mark == ")":
            depth -= 1
            if not depth:
                return
        elif mark == ",":
            item = depth == 1
        elif item and depth == 1:
            item = False
            if mark.lower() not in _NO_COLUMNS:
                yield SqlDefinition(f"{table}.{_strip_name_quotes(mark)}", "column", number, number)
