"""Faults by the inverse of the repair templates: edits that a template of the offline engine would undo.

Such a fault is in reach of an engine that knows the templates; the others tell how far it goes beyond them.
"""

from __future__ import annotations

import ast
import difflib
from collections.abc import Iterator, Sequence

from packages.evaluation.mining.operators import Fault

MOST_TRIED = 400
"""Changes of one statement that are looked at: the right one is among the first few hundred, if at all."""


def find_undoing_template(fault: Fault, original: str) -> str:
    """Return the template that turns the faulty text into the original one, "" if none of the first changes does."""
    wanted = _normalize(original)
    if not wanted:
        return ""
    lines = _list_changed_lines(fault.text, original)
    for template, text in _generate_changes(fault.text, lines):
        if _normalize(text) == wanted:
            return template
    return ""


def generate_template_faults(text: str, lines: Sequence[int]) -> Iterator[Fault]:
    """Yield what the templates make of statements that are right: faults as programmers write them.

    lines: those of the statements, such as are run by tests
    """
    for template, changed in _generate_changes(text, frozenset(lines)):
        if changed != text and _normalize(changed) not in ("", _normalize(text)):
            line = min(_list_changed_lines(changed, text), default=1)
            yield Fault(operator=f"template-{template.replace('_', '-')}", line=line, text=changed)


def _generate_changes(text: str, lines: frozenset[int]) -> Iterator[tuple[str, str]]:
    """Yield (template, changed text), likeliest first at each statement."""
    from packages.offline.repair.engine.candidates.candidate_generation import GROUPS, generate_at_statement
    from packages.offline.repair.localize.statement_ranking import create_suspect, get_own_lines
    from packages.offline.repair.templates import Hints, ProjectSources, Site, Source

    try:
        source = Source("program.py", text)
    except (SyntaxError, ValueError):
        return
    around = ProjectSources([source])
    seen: set[str] = set()
    for statement in source.statements:
        if not lines & frozenset(get_own_lines(statement)):
            continue
        suspect = create_suspect(source, statement, 1.0)
        site = Site(source=source, statement=statement, around=around, hints=Hints())
        tried = 0
        for group in GROUPS:
            for _, name, change, _ in generate_at_statement(suspect, site, group, seen, False):
                tried += 1
                if tried > MOST_TRIED:
                    break
                yield name, source.text[: change.start] + change.text + source.text[change.end :]


def _list_changed_lines(faulty: str, original: str) -> frozenset[int]:
    """Return the lines of the faulty text that differ, and those beside a line that is missing."""
    matcher = difflib.SequenceMatcher(None, faulty.split("\n"), original.split("\n"), autojunk=False)
    found: set[int] = set()
    for tag, start, end, _, _ in matcher.get_opcodes():
        if tag != "equal":
            found |= set(range(start + 1, end + 1)) or {start, start + 1}
    return frozenset(found)


def _normalize(text: str) -> str:
    try:
        return ast.dump(ast.parse(text))
    except (SyntaxError, ValueError):
        return ""
