"""Statements that write the actual text of a failing assertion: found by the text itself, whatever runs them."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from packages.offline.repair.localize.statement_ranking import Suspect, create_suspect, index_statement_lines
from packages.offline.repair.templates import Source
from packages.offline.repair.templates.support.rewording import find_rewordings
from packages.offline.repair.templates.support.source_tree import list_header_nodes

# Minimum characters of the actual text in a literal that counts as its source, and maximum number of such
# places: a text that occurs in more is no evidence.
LONG, MOST_PLACES = 12, 3


def promote_literal_suspects(
    suspects: Sequence[Suspect], sources: Mapping[str, Source], texts: Sequence[tuple[str, str]]
) -> list[Suspect]:
    """Return the suspects, led by the statements whose literals have most of an actual text that is not expected.

    A text that is composed elsewhere, or looked up by its name (a class's messages), is invisible to
    coverage.
    """
    places = [
        (known, source, statement)
        for source in sources.values()
        for known, statement in _iter_matching_literals(source, texts)
    ]
    longest = max((known for known, _, _ in places), default=0)
    meant = {statement: source for known, source, statement in places if known == longest}
    if not 0 < len(meant) <= MOST_PLACES:
        return list(suspects)
    top = max((each.score for each in suspects), default=1.0)
    known = {each.statement: each for each in suspects}
    led = [
        replace(known[statement], score=top) if statement in known else create_suspect(source, statement, top)
        for statement, source in meant.items()
    ]
    return [*led, *(each for each in suspects if each.statement not in meant)]


def _iter_matching_literals(
    source: Source, texts: Sequence[tuple[str, str]]
) -> Iterator[tuple[int, ast.stmt]]:
    """Yield (characters of the actual text, statement) for each literal of a statement, except for docstrings."""
    table = None
    for each in find_rewordings(source.text, texts, LONG):
        table = table or index_statement_lines(source)
        line = source.text.count("\n", 0, each.start) + 1
        for statement in table.get(line, ()):
            if each.known >= LONG and any(
                first < each.start and each.end < last
                for first, last in map(source.get_span, _iter_literals(statement))
            ):
                yield each.known, statement


def _iter_literals(statement: ast.stmt) -> Iterator[ast.expr]:
    if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
        return
    for node in list_header_nodes(statement):
        if isinstance(node, ast.JoinedStr) or (
            isinstance(node, ast.Constant) and isinstance(node.value, str)
        ):
            yield node
