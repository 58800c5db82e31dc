"""The attempts of a turn as rows: for a table, for lines, for JSON."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from agent.strategy.person.attempt_tree import AttemptNode, AttemptTree, State
from cli.output.amounts import format_money
from cli.output.style.paint import Paint, Style, get_mark
from cli.output.style.terminal import truncate_text
from cli.output.tables import Column
from sandbox.lazy_dataclass import dataclass
from sandbox.sanitize import sanitize_text
from tools.core.text import format_count


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptRow:
    """One attempt. mended, broken: tests, None where the runs name none; chosen: its change is in the files

    guidance: the person's words for it; stopped: nothing goes on from it
    """

    number: int
    parent: int
    depth: int
    start: str
    model: str
    state: State
    verdict: str
    mended: int | None
    broken: int | None
    files: int
    lines: int
    cost: float | None
    seconds: float
    chosen: bool
    session: str
    guidance: tuple[str, ...] = ()
    stopped: bool = False

    @property
    def result(self) -> str:
        """The verdict of its tests, or why there is none."""
        if self.state == "ended" and not self.files:
            return "nothing changed"
        return self.verdict if self.state == "ended" and self.verdict else self.state

    @property
    def tests(self) -> str:
        """The tests that it mended and broke, "" if that is not known."""
        return "" if self.mended is None else f"+{self.mended} -{self.broken}"

    @property
    def name(self) -> str:
        """Its number below that of the attempt that it goes on from."""
        return f"{'  ' * min(self.depth, DEEPEST)}{self.number}"


DEEPEST = 8
"""Levels by which a row is indented; deeper ones are not, so that a narrow terminal shows them."""


def list_rows(tree: AttemptTree, sessions: Path, *, is_open: bool) -> list[AttemptRow]:
    """Return a row for each attempt, in the order of the tree.

    sessions: folder with the logs of the attempts; is_open: a process has the session open
    """
    return [_make_row(tree, depth, node, sessions, is_open=is_open) for depth, node in tree.walk()]


def _make_row(
    tree: AttemptTree, depth: int, node: AttemptNode, sessions: Path, *, is_open: bool
) -> AttemptRow:
    tests, candidate = tree.compare_tests(node, sessions), node.candidate
    return AttemptRow(
        number=node.number,
        parent=node.parent,
        depth=depth,
        start=node.start,
        model=node.begun.model if node.begun is not None else "",
        state=tree.get_state(node, is_open=is_open),
        verdict=node.verdict,
        mended=tests[0] if tests is not None else None,
        broken=tests[1] if tests is not None else None,
        files=len(candidate.files) if candidate is not None and candidate.patch else 0,
        lines=candidate.lines if candidate is not None else 0,
        cost=candidate.usage.cost if candidate is not None else None,
        seconds=candidate.seconds if candidate is not None else 0.0,
        chosen=node.number == tree.applied,
        session=node.child,
        guidance=tuple(tree.guidance.get(node.number, ())),
        stopped=node.number in tree.stopped,
    )


def describe_row(row: AttemptRow) -> list[str]:
    """Return the parts of a row in words, the most important first."""
    parts = [row.result, "in your files" if row.chosen else ""]
    if row.mended is not None:
        parts.append(f"mends {row.mended}, breaks {row.broken}")
    parts.append("branch stopped by you" if row.stopped and row.state != "stopped" else "")
    parts.append("guided by you" if row.guidance else "")
    parts += [row.start, format_count(row.lines, "line") if row.lines else "", row.model]
    parts.append(format_money(row.cost) if row.cost else "")
    return [sanitize_text(each).replace("\n", " ") for each in parts if each]


def format_lines(rows: Sequence[AttemptRow], width: int, paint: Paint, *, unicode: bool) -> list[str]:
    """Return one line for each attempt, indented as the tree is. width: 0 for no limit"""
    between, dots = get_mark("between", unicode=unicode), get_mark("ellipsis", unicode=unicode)
    lines = []
    for row in rows:
        mark, style = _choose_mark(row)
        text = f"{get_mark(mark, unicode=unicode)} {row.name}: {between.join(describe_row(row))}"
        lines.append(paint(truncate_text(text, width, ellipsis=dots) if width else text, style))
    return lines


def _choose_mark(row: AttemptRow) -> tuple[str, Style]:
    if row.chosen:
        return "good", "green"
    return ("doing", "cyan") if row.state == "running" else ("quiet", "dim")


COLUMNS = (
    Column(title="attempt"),
    Column(title="begins"),
    Column(title="result", style=lambda text: {"passed": "green", "failed": "red"}.get(text, "")),
    Column(title="tests", right=True),
    Column(title="lines", right=True),
    Column(title="cost", right=True),
    Column(title="", style=lambda text: "green"),
)
"""Columns of the table."""


def list_cells(row: AttemptRow) -> tuple[str, ...]:
    """Return the cells of a row of the table."""
    return (
        row.name,
        _make_cell(row.start),
        _make_cell(row.result),
        row.tests,
        str(row.lines) if row.lines else "",
        format_money(row.cost) if row.cost else "",
        "in your files" if row.chosen else "",
    )


def _make_cell(text: str) -> str:
    """Return a text of a log, which may be anybody's, as one short line that is safe to show."""
    return truncate_text(sanitize_text(text).replace("\n", " "), 30)


def build_json(session: str, tree: AttemptTree, rows: Sequence[AttemptRow]) -> dict[str, Any]:
    """Return the attempts as one object for programs."""
    return {
        "session": session,
        "prompt": tree.prompt,
        "strategy": tree.strategy,
        "chosen": tree.applied or None,
        "attempts": [asdict(each) for each in rows],
    }
