"""Golden screens of every state in four sizes and three themes, drawn in this process.

A file for each size: the text of a state once, below each row the styles of its columns in each theme. GOLDEN=write
writes them anew; look at what changed before you commit it.
"""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import AsyncIterator
from pathlib import Path
from string import ascii_letters
from typing import Any

import pytest

from agent.events import (
    ActionEvent,
    AskedAction,
    End,
    Event,
    MessageEvent,
    ObservationEvent,
    PlanEvent,
    Prompt,
    UsageRecord,
)
from agent.model.model_offers import ModelOffer
from agent.model.protocol import ReasoningDelta, TextDelta
from cli.output.style.theme import choose_theme
from cli.tui.commands.choices.model_choices import _make_choice
from cli.tui.conversation.footer_line.footer import FooterFacts, format_footer
from cli.tui.conversation.plan_mode import _APPROVE_PLAN
from cli.tui.frontend import Choice, Question, Styled
from cli.tui.questions.approval_prompt import _list_options
from cli.tui.screen.screen import Screen
from cli.tui.screen.session_view import SessionView
from cli.tui.screen.transcript import Transcript
from tests.support.golden import compare
from tests.support.own_terminal import OwnTerminal, open_screen
from tests.support.scenes import ANSWER

SIZES = ((50, 20), (80, 24), (120, 40), (160, 50))
THEMES = ("dark", "light", "mono")

DIFF = """\
--- a/cart.py
+++ b/cart.py
@@ -1,4 +1,5 @@
 def total(items):
-    return sum(item.price for item in items) - 1
+    # nothing is taken off
+    return sum(item.price for item in items)
 
 CURRENCY = "EUR"
"""
LONG = "--- /dev/null\n+++ b/rates.py\n@@ -0,0 +1,90 @@\n" + "".join(f"+RATE_{n} = {n}\n" for n in range(90))
REPORT = {
    "outcome": "failed",
    "passed": 39,
    "failed": 1,
    "errors": 0,
    "failures": [{"id": "test_cart.py::test_total", "message": "assert 4 == 5"}],
}
USAGE = UsageRecord(input=3_100, output=140, cost=0.0123)

OFFERS = [
    ModelOffer(
        name="anthropic/claude-sonnet-5",
        source="key in ANTHROPIC_API_KEY",
        window=200_000,
        input=3.0,
        output=15.0,
    ),
    ModelOffer(name="ollama/tiny:1b", source="server on port 11434", window=8_192),
    ModelOffer(name="offline", source="no model: mends failing tests"),
]
PICKERS = {
    "sessions": (
        "Go on with which session?",
        [
            Choice(
                label="the total that was one too low",
                about="26 Nov 10:02 · done · $0.0123",
                preview=lambda: "› why is the total wrong?\n› mend it",
            ),
            Choice(label="a faster index", about="25 Nov 18:40 · interrupted", current=True),
        ],
    ),
    "agents": (
        "Which agent?",
        [
            Choice(label="explorer-1", about="working 12 s · where is the total used?"),
            Choice(label="reviewer-1", about="done · 2 findings"),
        ],
    ),
    "attempts": (
        "Which attempt?",
        [Choice(label="attempt 1", about="done"), Choice(label="attempt 2", about="tests-fail")],
    ),
    "processes": (
        "Which command?",
        [Choice(label="p1  npm run dev", about="running"), Choice(label="p2  make", about="exit 2")],
    ),
    "rewind": (
        "Go back to before which prompt?",
        [Choice(label="mend it", preview=lambda: "cart.py: +2 −1")],
    ),
}


def act(
    number: int, tool: str, text: str, *, failed: bool = False, seconds: float = 0.2, **rest: Any
) -> list[Event]:
    """The events of an action. rest: its arguments, and its `data`"""
    data = rest.pop("data", {})
    call = f"c{number}"
    return [
        MessageEvent(actions=[AskedAction(id=call, tool=tool, arguments=rest)]),
        ActionEvent(call=call, tool=tool, effect="none"),
        ObservationEvent(call=call, tool=tool, text=text, data=data, failed=failed, seconds=seconds),
    ]


WORK: list[Event] = [
    PlanEvent(items=[("find the mistake", "done"), ("mend it", "doing"), ("run the tests", "open")]),
    *act(1, "read", "cart.py: 4 lines\n1\ta\n2\tb\n3\tc\n4\td", path="cart.py"),
    *act(2, "search", "2 lines in 1 file match\ncart.py\n  1: def total", pattern="total"),
    *act(3, "edit", "edit: cart.py: changed 1 place", path="cart.py", data={"diff": DIFF}),
    *act(4, "shell", "exit 0\n" + "built\n" * 12, command="make build && make install", data={"exit": 0}),
    *act(5, "shell", "exit 2\n" + "line\n" * 7 + "boom", command="make all", failed=True, data={"exit": 2}),
    *act(6, "run_tests", "pytest: FAILED\n$ pytest\na\nb\nc\nd", failed=True, data={"report": REPORT}, seconds=2.5),
]  # fmt: skip


def show_footer(columns: int) -> Styled:
    facts = FooterFacts(
        model="anthropic/claude-sonnet-5",
        access="plan",
        branch="main",
        context=81,
        cost="$0.0123",
        hint="⇧⇥ mode",
    )
    return format_footer(facts, columns)


async def walk(front: Screen, terminal: OwnTerminal) -> AsyncIterator[str]:
    """Go through the states of a session; yields the name of each."""
    view = SessionView(front, lambda end: ["context 12 %"])
    view.show_note(
        "patchwright 1.0 · ~/shop · /help\nmodel anthropic/claude-sonnet-5 · branch main · tests pytest"
    )
    await terminal.wait("tests pytest")
    yield "start"
    terminal.type("mend the total, an\x1b\rd the rounding")
    await terminal.wait("d the rounding")
    yield "typing"
    terminal.type("\x15\x7f\x15")
    await terminal.wait("say what to do")
    view.echo_prompt(
        "mend the total, and all that depends on it, in whatever file of this project it is found"
    )
    view.show_event(Prompt(text="mend it", time=1.0))
    view.show_delta(ReasoningDelta(text="The total is one too low. Where is it computed?"))
    view._flush_deltas()
    front._live.working._since = time.monotonic() + 3_600  # its clock does not run: the machine may be busy
    await terminal.wait("Where is it computed?")
    yield "thinking"
    view.show_delta(TextDelta(text=ANSWER))
    view.show_event(MessageEvent(text=ANSWER, usage=USAGE))
    await terminal.wait("one apple")
    yield "answer"
    for event in WORK:
        view.show_event(event)
    view.show_event(ActionEvent(call="c9", tool="run_tests", effect="execute"))
    front.show_activity("Running tests 12/40")
    front.show_plan([("find the mistake", "done"), ("mend it", "doing")])
    front.show_queued(["and the rounding"])
    await terminal.wait("queued: and the rounding")
    yield "working"
    front.show_plan(())
    front.show_queued(())
    view.show_event(
        End(
            outcome="done",
            steps=5,
            files=["cart.py"],
            verification="passed: 40 passed",
            usage=USAGE,
            time=9.4,
        )
    )
    front.show_activity("")
    await terminal.wait("context 12 %")
    await terminal.wait("say what to do")
    yield "done"
    command = Question(
        title="Allow shell?", what="git fetch --prune origin && ./make all", why="uses the network",
        options=_list_options(("shell(git fetch *)",)), otherwise="no",
    )  # fmt: skip
    change = Question(
        title="Allow edit?", what="cart.py", change=DIFF, why="a rule of yours asks", options=_list_options(()),
        otherwise="no",
    )  # fmt: skip
    large = Question(
        title="Allow write?", what="rates.py", change=LONG * 3, options=_list_options(()), otherwise="no"
    )
    for name, question in {
        "command": command,
        "change": change,
        "large change": large,
        "plan": _APPROVE_PLAN,
    }.items():
        asking = asyncio.create_task(front.ask(question))
        await terminal.wait(question.title)
        yield f"question: {name}"
        terminal.type("l" if name == "plan" else "n")
        await asking
        await terminal.wait("say what to do")
    aligned = front.terminal.columns >= 120
    models = [_make_choice(each, "ollama/tiny:1b", aligned=aligned) for each in OFFERS]
    for name, (title, choices) in {"models": ("Which model?", models), **PICKERS}.items():
        picking = asyncio.create_task(front.pick(title, choices))
        await terminal.wait_for_view(f"of {len(choices)}")
        yield f"picker: {name}"
        terminal.type("\x03")
        await picking
        await terminal.wait("say what to do")
    pages = Transcript(WORK, width=front.terminal.columns - 1, colour=True, unicode=True)
    paging = asyncio.create_task(front.show_pages("session", pages))
    await terminal.wait_for_view("PgDn")
    yield "transcript"
    terminal.type("q")
    await paging
    await terminal.wait("say what to do")


Rows = list[tuple[str, list[str]]]
"""Text, and style of each column."""


def read_rows(terminal: OwnTerminal) -> Rows:
    """The rows of the screen, without those below the last text."""
    screen, rows = terminal.screen, Rows()
    for number in range(screen.lines):
        cells = [screen.buffer[number][column] for column in range(screen.columns)]
        text = "".join(each.data for each in cells).rstrip()
        styles = [describe_cell(each) for each in cells]
        rows.append((re.sub("^[◐◓◑◒]", "◐", text), styles))
    while rows and not rows[-1][0]:
        rows.pop()
    return rows


def describe_cell(cell: Any) -> str:
    is_blank = not cell.data.strip() and cell.bg == "default" and not cell.reverse
    named = [] if is_blank or cell.fg == "default" else [cell.fg]
    named += [f"on {cell.bg}"] if cell.bg != "default" else []
    marks = ("bold", "italics", "underscore", "reverse")
    return " ".join([*named, *(each for each in marks if getattr(cell, each) and not is_blank)])


def mark_rows(name: str, seen: dict[str, Rows], legend: dict[str, str]) -> str:
    """The text of a state, below each row the styles of its columns by theme; a theme with another text by itself."""
    lines, rest = [f"=== {name}"], dict(seen)
    while rest:
        first = next(iter(rest.values()))
        same = {theme: rows for theme, rows in rest.items() if [t for t, _ in rows] == [t for t, _ in first]}
        lines += [f"--- {' '.join(same)}"] if len(same) < len(seen) else []
        for number, (text, _) in enumerate(first):
            lines.append(text)
            for theme, rows in same.items():
                marks = "".join(mark_style(each, legend) for each in rows[number][1]).rstrip("_")
                lines += [f"{theme[0]}|{shorten(marks)}"] if marks else []
        rest = {theme: rows for theme, rows in rest.items() if theme not in same}
    return "\n".join(lines) + "\n"


def mark_style(style: str, legend: dict[str, str]) -> str:
    return legend.setdefault(style, ascii_letters[len(legend)]) if style else "_"


def shorten(marks: str) -> str:
    """Runs as a letter and their length, spaces between two words of one style included: `a12_3b4`."""
    marks = re.sub(r"([A-Za-z])(_+)(?=\1)", lambda gap: gap[1] * (1 + len(gap[2])), marks)
    return re.sub(r"(.)\1*", lambda run: run[1] + (str(len(run[0])) if len(run[0]) > 1 else ""), marks)


@pytest.mark.slow
@pytest.mark.parametrize(("columns", "rows"), SIZES)
def test_every_state_looks_as_it_did(
    columns: int, rows: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLORTERM", "truecolor")
    seen: dict[str, dict[str, Rows]] = {}

    async def draw(theme: str) -> None:
        async with open_screen(columns, rows, show_footer, tmp_path / "history", monkeypatch) as (
            front,
            terminal,
        ):
            async for name in walk(front, terminal):
                seen.setdefault(name, {})[theme] = read_rows(terminal)
                assert max(len(text) for text, _ in seen[name][theme]) <= columns

    for theme in THEMES:
        choose_theme(theme)
        asyncio.run(draw(theme))
    choose_theme("terminal")
    legend: dict[str, str] = {}
    drawn = "".join(mark_rows(name, themes, legend) for name, themes in seen.items())
    compare(
        drawn + "".join(f"{letter} {style}\n" for style, letter in legend.items()), f"matrix-{columns}x{rows}"
    )
