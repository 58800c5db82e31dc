"""One attempt in words, and two compared: verdicts first, then the changes."""

from __future__ import annotations

from collections.abc import Iterator

from agent.strategy.person.attempt_tree import AttemptNode, AttemptTree
from cli.output.attempts.attempt_rows import AttemptRow, describe_row
from sandbox.sanitize import sanitize_text
from tools.core.text import clip

LONGEST = 4_000
"""Characters of a report that are shown."""


def format_report(tree: AttemptTree, node: AttemptNode, row: AttemptRow) -> Iterator[str]:
    """Yield the lines about one attempt: its result, its verdicts, why it was or was not chosen, its last message."""
    yield f"attempt {node.number}: {', '.join(describe_row(row))}"
    if node.begun is not None and node.begun.hint:
        yield f"  told: {_make_line(node.begun.hint)}"
    if node.candidate is not None and node.candidate.verification:
        yield f"  tests: {_make_line(node.candidate.verification)}"
    for verdict in node.verdicts:
        if verdict.name != "tests":
            detail = f": {_make_line(verdict.detail)}" if verdict.detail else ""
            yield f"  {_make_line(verdict.name)} ({verdict.evidence}): {verdict.outcome}{detail}"
    for words in tree.guidance.get(node.number, ()):
        yield f"  you: {_make_line(words)}"
    if reason := describe_choice_of(tree, node.number):
        yield f"  {reason}"
    if node.child:
        yield f"  session: {_make_line(node.child)}"
    if node.candidate is not None and node.candidate.report.strip():
        yield ""
        yield from sanitize_text(clip(node.candidate.report.strip(), LONGEST)).split("\n")


def describe_choice_of(tree: AttemptTree, number: int) -> str:
    """Return why an attempt was chosen, or which one was preferred to it; "" if nothing was chosen."""
    if not tree.choices:
        return ""
    last = tree.choices[-1]
    reason = _make_line(last.reason)
    if last.by == "person":
        return "you took it" if last.attempt == number else f"you took attempt {last.attempt}"
    if last.attempt == number:
        return f"chosen: {reason}" if reason else "chosen"
    return f"attempt {last.attempt} was chosen: {reason}" if reason else f"attempt {last.attempt} was chosen"


def _make_line(text: str) -> str:
    return sanitize_text(clip(" ".join(text.split()), 400))
