"""What a log says about attempts: those that ended, those to be made again, and the verdicts that count."""

from __future__ import annotations

from pathlib import Path

from agent.events import (
    AttemptEvent,
    ChildEvent,
    ChoiceEvent,
    End,
    Event,
    MessageEvent,
    Prompt,
    UsageRecord,
    VerdictEvent,
    Verification,
)
from agent.exit_codes import Exit
from agent.session.log import Session
from agent.strategy.attempt_log import AttemptLog, read_last_end
from agent.strategy.candidate import Candidate


def write_log(folder: Path, *events: Event) -> Session:
    session = Session.create(folder)
    session.subscribe(lambda event: None)
    for event in events:
        session.append(event)
    return session


def test_only_the_last_turn_counts_and_cancelled_attempts_are_made_again(tmp_path: Path) -> None:
    session = write_log(
        tmp_path,
        Prompt(text="before"),
        AttemptEvent(number=1, child="old"),
        ChoiceEvent(attempt=1, order=[1]),
        End(outcome="done"),
        Prompt(text="now"),
        *(AttemptEvent(number=n, child=f"c{n}", base="abc") for n in (1, 2, 3, 4)),
        ChildEvent(child="c1", state="ended", outcome="done", exit_code=0),
        Candidate(attempt=1, child="c1", exit_code=0).to_event(),
        ChildEvent(child="c2", state="ended", outcome="done", exit_code=0),
        ChildEvent(child="c3", state="ended", outcome="interrupted", exit_code=Exit.INTERRUPTED),
    )
    found = AttemptLog.from_history(session.replayed)
    session.close()
    assert (found.prompt, found.base, found.choices) == ("now", "abc", [])
    assert (list(found.candidates), list(found.ended)) == ([1], [2])
    assert [each.number for each in found.unfinished] == [3, 4]


def test_the_verdicts_of_the_last_check_count(tmp_path: Path) -> None:
    failed = VerdictEvent(name="tests", outcome="fail", evidence="executed")
    passed = VerdictEvent(name="tests", outcome="pass", evidence="executed")
    session = write_log(
        tmp_path,
        Prompt(text="mend it"),
        Verification(outcome="failed", detail="1 failed"),
        failed,
        Verification(outcome="passed", detail="1 passed"),
        passed,
        End(outcome="done", verification="passed: 1 passed", files=["a.py"]),
    )
    session.close()
    last = read_last_end(session.folder)
    assert (last.verification, last.files) == ("passed: 1 passed", ["a.py"])
    assert [each.outcome for each in last.verdicts] == ["pass"]


def test_the_calls_of_an_attempt_that_was_stopped_elsewhere_are_in_its_own_log(tmp_path: Path) -> None:
    paid = UsageRecord(input=10, cost=0.5)
    stopped = write_log(tmp_path, Prompt(text="mend"), MessageEvent(text="", usage=paid))
    stopped.close()
    measured = write_log(tmp_path, Prompt(text="mend"), MessageEvent(text="", usage=paid))
    measured.close()
    session = write_log(
        tmp_path,
        Prompt(text="mend"),
        AttemptEvent(number=1, child=stopped.id),
        AttemptEvent(number=2, child=measured.id),
        Candidate(attempt=1, child=stopped.id, exit_code=130).to_event(),
        Candidate(attempt=2, child=measured.id, exit_code=130, usage=UsageRecord(cost=0.25)).to_event(),
        Candidate(attempt=3, exit_code=2).to_event(),
    )
    session.close()
    assert AttemptLog.from_history(session.replayed).sum_usage(tmp_path).cost == 0.75
