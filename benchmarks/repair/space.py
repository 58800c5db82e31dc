"""Is a known fix among the candidates at the places that it changes, and by which template?

Needs no tests: it tells what the templates can say at all, and how often each of them is the one that is needed.
"""

from __future__ import annotations

import ast
import difflib
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

from tools.repair.candidates import at_statement
from tools.repair.localization import Suspect, own_lines
from tools.repair.templates import Hints, Source

# Statements around a change for which candidates are made; more, and it is no small fix.
MOST_STATEMENTS = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class Reach:
    """What the templates have to say where a fix is.

    hit: the template whose candidate is the fix, "" if none is
    offered: how many candidates each template has at the statements looked at
    statements: how many statements were looked at
    """

    hit: str
    offered: Counter[str]
    statements: int


def reach(before: str, after: str, path: str = "file.py") -> Reach | None:
    """None when the fix is not inside one function, or is more than a small change."""
    try:
        source, fixed = Source(path, before), ast.parse(after)
    except (SyntaxError, ValueError):
        return None
    changed = [
        (a, b)
        for tag, a, b, _, _ in difflib.SequenceMatcher(
            None, before.splitlines(), after.splitlines(), autojunk=False
        ).get_opcodes()
        if tag != "equal"
    ]
    if not changed:
        return None
    lines = {line for a, b in changed for line in range(a, max(b, a + 1) + 1)}
    statements = [each for each in source.statements if not lines.isdisjoint(own_lines(each))]
    if not 0 < len(statements) <= MOST_STATEMENTS:
        return None
    meaning = ast.dump(fixed)
    offered: Counter[str] = Counter()
    hit = ""
    for statement in statements:
        for name, text in _candidates(source, statement):
            offered[name] += 1
            if not hit and _same(text, meaning, after):
                hit = name
    return Reach(hit=hit, offered=offered, statements=len(statements))


def _candidates(source: Source, statement: ast.stmt) -> Iterator[tuple[str, str]]:
    suspect = Suspect(
        path=source.path, line=statement.lineno, end_line=statement.lineno, function="", code="",
        score=1.0, failing=1, passing=0, statement=statement,
    )  # fmt: skip
    for _, name, change in at_statement(suspect, source, Hints(), set()):
        yield name, source.text[: change.start] + change.text + source.text[change.end :]


def _same(text: str, meaning: str, after: str) -> bool:
    """Equal programs, however they are written; most are told apart by their letters alone."""
    if sorted(_letters(text)) != sorted(_letters(after)):
        return False
    try:
        return ast.dump(ast.parse(text)) == meaning
    except SyntaxError:
        return False


def _letters(text: str) -> str:
    return "".join(each for each in text if not each.isspace() and each not in "()\"'")
