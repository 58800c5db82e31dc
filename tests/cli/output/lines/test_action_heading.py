"""The heading of an action: how many lines are folded, and that it says so in a window of any width."""

from __future__ import annotations

import re
from typing import Any

import pytest

from agent.events import ActionEvent, AskedAction, Event, MessageEvent, ObservationEvent
from cli.output.lines.event_lines import LineView
from cli.output.lines.full_events import FullEventView
from cli.output.style.paint import make_painter
from cli.output.style.terminal import measure_columns
from cli.tui.screen.action_folds import ActionFolds
from cli.tui.screen.plain_frontend import PlainFrontend
from cli.tui.screen.session_view import SessionView

OUTPUT = "exit 0\n" + "".join(f"line {number}\n" for number in range(12))
DIFF = "--- a/cart.py\n+++ b/cart.py\n@@ -1,2 +1,2 @@\n a\n-old\n+new\n"
PASSED = {"outcome": "passed", "passed": 12}
FAILED = {
    "outcome": "failed",
    "failed": 1,
    "failures": [{"id": "test_a.py::test", "message": "assert 1 == 2"}],
}
TRACE = (
    "pytest: FAILED: 1 failed\n$ pytest\nFAILED test_a.py::test\n  test_a.py:3: in test\n  E   assert 1 == 2"
)


def act(tool: str, text: str, target: str = "make", *, failed: bool = False, **data: Any) -> list[Event]:
    asked = AskedAction(id="c1", tool=tool, arguments={"command": target, "path": target})
    return [
        MessageEvent(actions=[asked]),
        ActionEvent(call="c1", tool=tool, effect="none"),
        ObservationEvent(call="c1", tool=tool, text=text, data=data, failed=failed, seconds=0.1),
    ]


def show(events: list[Event], *, width: int = 80, rest: str = "Ctrl-O", unicode: bool = True) -> str:
    written: list[str] = []
    view = LineView(written.append, colour=False, width=width, unicode=unicode, rest=rest)
    for event in events:
        view.show_event(event)
    return "".join(written)


@pytest.mark.parametrize(
    ("events", "lines"),
    [
        (act("shell", OUTPUT, exit=0), 12),
        (act("shell", OUTPUT.replace("exit 0", "exit 2"), failed=True, exit=2), 12 - 3),
        (act("shell", "exit 0\none\n\ntwo", exit=0), 3),
        (act("shell", "exit 0\n(no output)", exit=0), 0),
        (act("shell", "exit 1\n(no output)", failed=True, exit=1), 0),
        (act("python", "ok\n1\n=> 7", ended="ok", calls=0), 2),
        (act("run_tests", "pytest: passed: 12 passed\n$ pytest", report=PASSED), 0),
        (act("run_tests", TRACE, failed=True, report=FAILED), 4 - 2),
        (act("edit", "edit: cart.py: changed 1 place\n1\tnew", diff=DIFF), 0),
        (act("git_commit", "committed 0123\n  cart.py +1 -1", commit="0123", files=["cart.py"]), 0),
        (act("git_log", "37bdc9a 2026-11-26 A: Start\n27bdc9a 2026-11-25 A: Before"), 2),
        (act("mcp__notes__all", "first\nsecond"), 2),
        (act("edit", "edit: no such text\nIt was looked for there\nand there", failed=True), 2),
        (act("edit", "edit: no such text", failed=True), 0),
    ],
)
def test_lines_that_are_not_seen_are_counted(events: list[Event], lines: int) -> None:
    first = show(events).split("\n")[0]
    assert re.findall(r"\+(\d+) lines? \(Ctrl-O\)", first) == ([str(lines)] if lines else []), first
    assert "Ctrl-O" not in show(events, rest="")


def test_the_transcript_has_as_many_lines_as_are_promised() -> None:
    view = FullEventView(width=80, colour=False)
    rows = [row for event in act("shell", OUTPUT, exit=0) for row in view.format_event(event)]
    assert sum(row.startswith("    line ") for row in rows) == 12
    assert "Ctrl-O" not in "".join(rows)


@pytest.mark.parametrize("unicode", [True, False])
@pytest.mark.parametrize("width", [20, 40, 50, 80, 120])
def test_a_fold_is_said_in_a_window_of_any_width(width: int, unicode: bool) -> None:
    rows = show(act("shell", OUTPUT, "make " + "x" * 200, exit=0), width=width, unicode=unicode)
    rows = rows.removesuffix("\n")
    assert max(map(measure_columns, rows.split("\n"))) <= max(width, 32)
    assert "+12 lines (Ctrl-O)" in rows
    assert ("\n" in rows) == (width < 80)  # below the heading where it would take the command's room
    assert "exit 0" in rows or width < 40
    folds = ActionFolds()
    for number in range(6):
        event = ObservationEvent(call=str(number), tool="read", text=f"{number}: 2 lines\n1\ta\n2\tb")
        assert folds.add_if_foldable(event, f"some/folder/file{number}.py", number)
    shown = folds.format_rows(width, make_painter(colour=False), unicode=unicode)
    assert "+12 lines (Ctrl-O)" in "\n".join(shown)
    assert max(map(measure_columns, shown)) <= width


def test_one_line_of_a_search_is_counted_in_the_singular() -> None:
    folds = ActionFolds()
    folds.add_if_foldable(ObservationEvent(call="1", tool="search", text="1 line\ncart.py:1"), "total", 0)
    folds.add_if_foldable(ObservationEvent(call="2", tool="read", text="empty.py is empty"), "empty.py", 1)
    [row] = folds.format_rows(80, make_painter(colour=False), unicode=True)
    assert row == "● search total · read empty.py · +1 line (Ctrl-O)"
    folds.clear()
    assert not folds


def test_plain_lines_name_the_way_that_they_have(capfd: pytest.CaptureFixture[str]) -> None:
    view = SessionView(PlainFrontend())
    for event in act("shell", OUTPUT, exit=0):
        view.show_event(event)
    assert capfd.readouterr().out == "* shell make: exit 0 (0.1 s), +12 lines (/export FILE has all)\n"
