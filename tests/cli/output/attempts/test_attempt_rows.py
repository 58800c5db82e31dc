"""Texts of a log in views of attempts: the log may be anybody's, and the terminal is the user's."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.events import AttemptEvent, CandidateEvent, ChoiceEvent, Event, Prompt, VerdictEvent
from agent.strategy.person.attempt_tree import AttemptTree
from cli.output.attempts.attempt_report import format_report
from cli.output.attempts.attempt_rows import COLUMNS, format_lines, list_cells, list_rows
from cli.output.style.paint import make_painter
from cli.output.tables import draw_table
from cli.tui.screen.plain_frontend import PlainFrontend
from cli.tui.screen.session_view import SessionView

EVIL = "\x1b]0;owned\x07\x1b[2Jpassed\nall"
ATTEMPT = AttemptEvent(number=1, child=EVIL, strategy="team", model=EVIL, hint=EVIL)
CANDIDATE = CandidateEvent(
    attempt=1, child=EVIL, outcome=EVIL, verification=f"{EVIL}: 1", patch="out:1", files=["a"], report=EVIL
)
CHOICE = ChoiceEvent(attempt=1, order=[1], reason=EVIL)


def test_no_cell_or_line_of_an_attempt_reaches_the_terminal_raw(tmp_path: Path) -> None:
    verdict = VerdictEvent(name=EVIL, outcome="fail", evidence="static", detail=EVIL, attempt=1)
    events: list[Event] = [Prompt(text="mend"), ATTEMPT, verdict, CANDIDATE, CHOICE]
    tree = AttemptTree.from_events(events)
    [row] = list_rows(tree, tmp_path, is_open=False)
    assert row.result == EVIL
    cells = list_cells(row)
    lines = format_lines([row], 0, make_painter(colour=False), unicode=True)
    report = list(format_report(tree, tree.get_node(1), row))
    for text in (*cells, *lines, *report):
        assert "\x1b" not in text
        assert "\n" not in text
    assert "\\x1b]0;owned" in cells[2]
    assert "\x1b]0" not in "".join(draw_table(COLUMNS, [cells], 100, unicode=True))


def test_the_reason_of_a_choice_is_one_line_without_escapes(capfd: pytest.CaptureFixture[str]) -> None:
    view = SessionView(PlainFrontend())
    for event in (ATTEMPT, CANDIDATE, CHOICE):
        view.show_event(event)
    shown = capfd.readouterr().out
    assert "\x1b]0" not in shown
    assert "\x1b[2J" not in shown
    assert "\\x1b]0;owned" in shown
