"""The table of attempts: one row each while they run, the best first at last, and the same in an export."""

from __future__ import annotations

from agent.events import (
    AttemptEvent,
    CandidateEvent,
    ChildProgress,
    ChoiceEvent,
    End,
    Prompt,
    UsageRecord,
)
from cli.output.lines.attempt_lines import AttemptTable, describe_choice
from cli.output.session_export import render_markdown
from cli.output.style.paint import make_painter

PLAIN = make_painter(colour=False)
BEGUN = [
    AttemptEvent(number=1, child="one"),
    AttemptEvent(number=2, child="two", model="openai/b", temperature=0.5, hint="Be\x1b[31m brief."),
]
ENDED = [
    CandidateEvent(attempt=1, child="one", verification="failed: 1 failed", patch="out:1", files=["a"]),
    CandidateEvent(
        attempt=2, child="two", verification="passed: 2 passed", seconds=3.2, usage=UsageRecord(cost=0.25)
    ),
]
CHOICE = ChoiceEvent(attempt=2, child="two", order=[2, 1], reason="its tests came out best")


def rows(table: AttemptTable, width: int = 100) -> list[str]:
    return table.format_rows(width, PLAIN, unicode=True)


def test_a_row_follows_its_attempt() -> None:
    table = AttemptTable()
    for event in BEGUN:
        assert table.handle_event(event)
    told: list[dict[str, object]] = [
        {"kind": "message"},
        {"kind": "action", "tool": "edit", "paths": ["a.py"]},
    ]
    assert all(table.handle_event(ChildProgress(child="two", event=each)) for each in told)
    assert not table.handle_event(ChildProgress(child="of another", event=told[0]))
    assert rows(table) == [
        "▸ attempt 1: step 1",
        "▸ attempt 2: step 2 · edit a.py · openai/b · temperature 0.5 · Be\\x1b[31m brief.",
    ]
    for event in (*ENDED, CHOICE):
        table.handle_event(event)
    first, second = rows(table)
    assert first.startswith("✔ attempt 2: passed: 2 passed; nothing changed; 3 s · $0.2500 · openai/b")
    assert second == "· attempt 1: failed: 1 failed; 1 file; 0 s"
    assert max(map(len, rows(table, 30))) <= 30
    table.handle_event(Prompt(text="more"))
    assert rows(table) == []


def test_a_role_of_a_team_has_its_name() -> None:
    table = AttemptTable()
    for number, role in enumerate(("plan", "cart"), 1):
        table.handle_event(
            AttemptEvent(number=number, child=role, strategy="team", hint=role, model="openai/b")
        )
    unchecked = CandidateEvent(attempt=1, outcome="done", verification="not-needed: no file was changed")
    table.handle_event(unchecked)
    assert rows(table) == ["· plan: done; 0 s · openai/b", "▸ cart: step 1 · openai/b"]
    table.handle_event(
        CandidateEvent(attempt=2, verification="passed: 2 passed", patch="out:1", files=["a.py"])
    )
    assert rows(table)[1] == "· cart: passed: 2 passed; 1 file; 0 s · openai/b"


def test_an_export_lists_the_attempts_with_their_sessions() -> None:
    page = render_markdown(iter([Prompt(text="do it"), *BEGUN, *ENDED, CHOICE, End(outcome="done")]))
    assert page.index("- **attempt 2: passed") < page.index("- attempt 1: failed") < page.index("**done**")
    assert "session `two`" in page
    assert "attempt 2 is applied: its tests came out best" in page
    assert "attempt 1: not ended" in render_markdown(iter([*BEGUN[:1], End(outcome="interrupted")]))


def test_a_choice_says_how_sure_it_is() -> None:
    sure = ChoiceEvent(attempt=1, order=[1, 2], reason="equal by the tests; size: 2 lines", confidence=0.74)
    assert describe_choice(sure) == "attempt 1 is applied: equal by the tests; size: 2 lines; 74% sure"
    weak = ChoiceEvent(attempt=1, order=[1, 2], confidence=0.4, abstained="the evidence is too weak")
    assert describe_choice(weak).endswith("; 40% sure, too little for a choice: look at the others")
    assert describe_choice(CHOICE) == "attempt 2 is applied: its tests came out best"
