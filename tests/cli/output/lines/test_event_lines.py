"""The plain view: what each event looks like, at any width, with and without colours."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from agent.events import (
    ActionEvent,
    AskedAction,
    End,
    ErrorEvent,
    Event,
    MessageEvent,
    ObservationEvent,
    PlanEvent,
    Prompt,
    Signal,
    Steer,
    UsageRecord,
    VerdictEvent,
    Verification,
)
from agent.model.protocol import TextDelta
from agent.model.routing.planner_executor import RECHECK
from cli.output.lines import action_descriptions
from cli.output.lines.event_lines import LineView, Texts
from cli.output.style.terminal import measure_columns
from tools.builtin_tools import TOOLS, UNTOLD

SGR = re.compile(r"\x1b\[[0-9;]*m")


def shown(
    *events: Event, width: int = 80, colour: bool = False, unicode: bool = True, texts: Texts = "steps"
) -> str:
    written: list[str] = []
    view = LineView(written.append, colour=colour, width=width, unicode=unicode, texts=texts)
    for event in events:
        view.show_event(event)
    return "".join(written)


def acted(
    tool: str,
    arguments: dict[str, Any],
    text: str = "",
    seconds: float = 0.1,
    failed: bool = False,
    **data: Any,
) -> list[Event]:
    asked = AskedAction(id="c1", tool=tool, arguments=arguments)
    return [
        MessageEvent(actions=[asked]),
        ActionEvent(call="c1", tool=tool, effect="none"),
        ObservationEvent(call="c1", tool=tool, text=text, data=data, failed=failed, seconds=seconds),
    ]


REPORT = {
    "outcome": "failed",
    "passed": 12,
    "failed": 7,
    "errors": 0,
    "failures": [{"id": f"test_cart.py::test_{n}", "message": f"assert {n} == 0\nmore"} for n in range(7)],
}
DIFF = "--- a/cart.py\n+++ b/cart.py\n@@ -1,3 +1,3 @@\n a\n--- old\n+++ new\n b\n"


@pytest.mark.parametrize(
    ("events", "line"),
    [
        (acted("read", {"path": "cart.py"}), "● read cart.py\n"),
        (acted("read", {"path": "cart.py", "start": 10, "end": 20}), "● read cart.py:10–20\n"),
        (acted("search", {"pattern": "total", "path": "."}), "● search 'total'\n"),
        (
            acted("shell", {"command": "pytest -q"}, seconds=1.23, exit=0),
            "● shell pytest -q: exit 0 (1.2 s)\n",
        ),
        (
            acted("shell", {"command": "make"}, "exit 2\none\ntwo\nthree\nfour\n", failed=True, exit=2),
            "✗ shell make: exit 2 (0.1 s)\n  two\n  three\n  four\n",
        ),
        (
            acted("edit", {"path": "cart.py"}, diff=DIFF),
            "● edit cart.py: +1 −1\n  @@ -1,3 +1,3 @@\n   a\n  --- old\n  +++ new\n   b\n",
        ),
        (
            acted("edit", {"path": "x.py"}, "edit: x.py: no change. `old` matches 2 places\n 1", failed=True),
            "✗ edit x.py\n  x.py: no change. `old` matches 2 places\n",
        ),
        (
            acted(
                "git_commit",
                {"message": "Fix total\n\nbody"},
                commit="0123456789",
                files=["cart.py", "a b.py"],
            ),
            "● git_commit Fix total …: 0123456\n  cart.py, a b.py\n",
        ),
        (acted("mcp_thing", {"a": 1, "b": "x"}), "● mcp_thing a=1, b='x'\n"),
        (acted("finish", {"summary": "All done."}, summary="All done."), ""),
    ],
)
def test_an_action_is_one_line_and_what_matters_of_its_result(events: list[Event], line: str) -> None:
    assert shown(*events) == line


def test_a_test_run_shows_counts_and_its_first_failures() -> None:
    text = shown(*acted("run_tests", {}, failed=True, report=REPORT))
    assert text.startswith("✗ run_tests: 12 passed, 7 failed\n  test_cart.py::test_0\n    assert 0 == 0\n")
    assert text.endswith("  test_cart.py::test_4\n    assert 4 == 0\n  and 2 more\n")


def test_a_localisation_and_a_repair_show_where_and_what() -> None:
    suspects = [{"path": "cart.py", "line": 2, "code": "return sum(x) - 1", "score": 1.0}]
    row = "  1.00  cart.py:2  return sum(x) - 1\n"
    assert shown(*acted("localize", {}, suspects=suspects)) == f"● localize\n{row}"
    fix = {"path": "cart.py", "line": 2, "why": "`- 1` is one too many"}
    found = {"suspects": suspects, "fixes": [fix], "tried": 17}
    text = shown(*acted("repair", {}, repair=found))
    assert text == f"● repair: 1 fix, 17 candidates tried\n{row}  ✔ cart.py:2  `- 1` is one too many\n"


def test_a_refusal_that_ends_in_a_colon_is_shown_with_its_reason() -> None:
    refused = "git_commit: git refused the commit:\n\nerror: gpg failed to sign the data\nfatal: failed to write\nx\ny"
    page = shown(*acted("git_commit", {"message": "a"}, refused, failed=True))
    assert "error: gpg failed to sign the data" in page
    assert "fatal: failed to write" in page
    assert "\n  y" not in page
    page = shown(*acted("edit", {"path": "a"}, "edit: no such text\nIt was looked for there", failed=True))
    assert "It was looked for" not in page


def test_a_plan_is_shown_whole_once_and_then_what_changed() -> None:
    first = PlanEvent(items=[("read", "doing"), ("fix", "open")])
    second = PlanEvent(items=[("read", "done"), ("fix", "doing")])
    assert shown(first, second) == "plan\n  ▸ read\n  ☐ fix\n  ✔ read\n  ▸ fix\n"


def test_the_last_line_says_what_came_of_the_turn_and_what_it_took() -> None:
    end = End(
        outcome="done",
        steps=5,
        usage=UsageRecord(input=12_000, output=345, cost=0.0123),
        files=["a", "b"],
        commit="0123456789",
        verification="passed: 16 passed; before: 4 failed",
        time=112.3,
    )
    start = Prompt(text="fix", time=100.0)
    line = "✔ done · 2 files · 16 passed · commit 0123456 · 5 steps · 12.3 s · 12.3k tokens"
    assert shown(start, end, width=120) == f"{line} · $0.0123\n"
    assert shown(start, end, width=80).split("\n") == [line, "  $0.0123", ""]


def test_why_nothing_was_checked_is_told_once() -> None:
    check = Verification(outcome="unverified", detail="the tests were refused")
    end = End(outcome="no-test-runner", steps=1, verification="unverified: the tests were refused")
    assert shown(check, end) == "! not checked: the tests were refused\n! not checked · 1 step\n"


def test_an_unknown_price_is_never_shown_as_nothing() -> None:
    unknown = UsageRecord(input=1000, output=10)
    some = UsageRecord(input=2000, output=20, cost=0.5)
    assert shown(End(outcome="done", usage=unknown)).endswith("price unknown\n")
    assert shown(MessageEvent(usage=unknown), End(outcome="done", usage=some)).endswith("at least $0.5000\n")
    assert "$" not in shown(End(outcome="done", steps=3))


@pytest.mark.parametrize("width", [20, 40, 80])
@pytest.mark.parametrize("unicode", [True, False])
def test_no_heading_is_wider_than_the_terminal(width: int, unicode: bool) -> None:
    events = [
        Prompt(text="x", time=1.0),
        *acted("shell", {"command": "echo " + "漢字 wide " * 40}, seconds=100, exit=0),
        *acted("run_tests", {"targets": ["tests/very/long/path/test_something.py::test_a"]}, report=REPORT),
        PlanEvent(items=[("a long item " * 10, "open")]),
        Verification(outcome="passed", detail="12 passed " * 20),
        Signal(name="retry", detail="the server is busy " * 10),
        End(outcome="limit", summary="5 steps taken " * 10, steps=5, files=["a"] * 10, time=90.0),
    ]
    for line in shown(*events, width=width, unicode=unicode).split("\n"):
        assert measure_columns(line) <= width
        assert unicode or not set(line) & set("●✔✗☐▸·−…")


def test_colours_change_no_text() -> None:  # but for a diff, whose lines are numbered then
    events = [
        *acted("edit", {"path": "a"}),
        End(outcome="done", steps=1),
        ErrorEvent(fault="x", message="m", hint="h"),
    ]
    coloured = shown(*events, colour=True)
    assert "\x1b[32m" in coloured
    assert SGR.sub("", coloured) == shown(*events)


def test_everything_that_others_wrote_is_shown_inert() -> None:
    evil = "\x1b[2J\u202e"
    report = {"outcome": "failed", "failed": 1, "failures": [{"id": evil, "message": evil}], "note": evil}
    text = shown(
        MessageEvent(text=evil, actions=[AskedAction(id="c0", tool="read")]),
        *acted("shell", {"command": evil}, f"exit 1\n{evil}", exit=1),
        *acted("run_tests", {"targets": [evil]}, report=report),
        *acted("edit", {"path": evil}, diff=f"@@ -1 +1 @@\n-{evil}\n+{evil}\n", files=[evil]),
        *acted("localize", {}, suspects=[{"path": evil, "line": 1, "code": evil, "score": 0.5}]),
        *acted("git_commit", {"message": evil}, commit=evil, files=[evil]),
        *acted("read", {"path": evil}, evil, failed=True),
        PlanEvent(items=[(evil, "open")]),
        Signal(name="x", detail=evil),
        Verification(outcome="passed", detail=evil),
        ErrorEvent(fault="x", message=evil, hint=evil),
        End(outcome="limit", summary=evil, verification=f"passed: {evil}", commit=evil),
    )
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert text.count("\\x1b[2J") >= 18


def test_a_text_that_was_streamed_is_not_written_again() -> None:
    written: list[str] = []
    view = LineView(written.append, colour=False, width=80, texts="all")
    view.show_delta(TextDelta(text="Hel"))
    view.show_delta(TextDelta(text="lo"))
    view.show_event(MessageEvent(text="Hello"))
    view.show_event(MessageEvent(text="Again"))
    assert "".join(written) == "Hello\nAgain\n"


def test_the_answer_itself_is_left_to_standard_output_unless_asked_for() -> None:
    step = MessageEvent(text="I look.", actions=[AskedAction(id="c", tool="read")])
    answer = MessageEvent(text="It is fine.")
    assert shown(step, answer) == "I look.\n"
    assert shown(step, answer, texts="all") == "I look.\nIt is fine.\n"
    assert shown(step, answer, texts="none") == ""


@pytest.mark.slow
def test_the_plain_view_needs_no_terminal_library() -> None:
    code = (
        "import sys, cli.output.lines.event_lines; "
        "print([m for m in ('rich', 'prompt_toolkit', 'pygments', 'markdown_it') if m in sys.modules])"
    )
    root = Path(__file__).parents[4]
    done = subprocess.run([sys.executable, "-c", code], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_every_tool_has_words_for_what_it_is_about() -> None:
    """No line shows a tool's arguments as Python has them; those whose actions have a view of their own need none."""
    named = {import_module(module).__dict__[function].name for module, function in (*TOOLS, *UNTOLD)}
    assert named - set(action_descriptions._TARGETS) == {
        "plan",
        "finish",
        "propose",
        "git_status",
        "put_back",
    }
    for tool, arguments, words in (
        ("code", {"action": "find", "target": "Cart.total"}, "find Cart.total"),
        ("process", {"action": "start", "command": "make\nserve"}, "start make …"),
        ("rename", {"name": "a", "to": "b"}, "a to b"),
        ("git_log", {"path": "cart.py"}, "cart.py"),
        ("apply_patch", {"patch": "--- a/x\n+++ b/x\n*** Add File: y z\n"}, "x, y z"),
    ):
        assert action_descriptions.describe_target(tool, arguments) == words


def test_failing_tests_are_announced_once_around_a_reply() -> None:
    report = {"outcome": "failed", "failed": 1, "failures": [{"id": "test_a.py::test_a", "message": "no"}]}
    check = Verification(outcome="failed", detail="1 failed, 2 passed", report=report)
    before = shown(
        *acted("run_tests", {}, report=report),
        check,
        Steer(text=f"{RECHECK}: 1 failed, 2 passed.\n  | test_a.py::test_a", by="harness"),
    )
    assert before.count("failed") == 1
    assert "the failures were returned to the model" in before
    after = shown(*acted("run_tests", {}, report=report), check, End(outcome="tests-fail"))
    assert after.count("tests fail") == 1
    alone = shown(check)
    assert "tests fail: 1 failed, 2 passed" in alone


def test_old_failures_are_named_though_the_run_was_shown() -> None:
    report = {"outcome": "failed", "failed": 1, "failures": [{"id": "test_a.py::test_a", "message": "no"}]}
    detail = "2 passed; 1 failed before this turn as well: test_a.py::test_a"
    text = shown(
        *acted("run_tests", {}, report=report), Verification(outcome="passed", detail=detail, report=report)
    )
    assert f"checked: {detail}" in text


def test_a_failing_verdict_is_shown_with_its_rows() -> None:
    detail = "The project's linters complain about changed lines:\n  a.py:3: F401 unused"
    verdict = VerdictEvent(name="lint", outcome="fail", evidence="static", detail=detail)
    assert "linters complain" in shown(verdict)
    assert "  a.py:3: F401 unused" in shown(verdict)
    assert shown(VerdictEvent(name="tests", outcome="fail", evidence="executed", detail="1 failed")) == ""
