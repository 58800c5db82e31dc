"""`patchwright context tune`: real sessions in pairs, the fact that was lost, and a diff of the guideline."""

from __future__ import annotations

from pathlib import Path

import pytest

from agent.app_dirs import Home
from agent.context.compression import summary
from agent.events import (
    AskedAction,
    Compaction,
    Event,
    Fold,
    MessageEvent,
    ObservationEvent,
    Prompt,
    SessionStart,
)
from agent.session.log import Session
from tests.support.cli import run, script


def session_of(root: Path, *events: Event) -> str:
    session = Session.create(Home.from_environment().get_project_folder(root) / "sessions")
    start = SessionStart(
        session=session.id, project=str(root), model="m", mode="workspace", version="0", system="S"
    )
    for event in (start, Prompt(text="Fix the rounding."), *events):
        session.append(event)
    session.close()
    return session.id


def read(call: str, text: str) -> list[Event]:
    asked = AskedAction(id=call, tool="search", arguments={"pattern": "x"})
    return [MessageEvent(actions=[asked]), ObservationEvent(call=call, tool="search", text=text)]


def edit(call: str, text: str) -> list[Event]:
    asked = AskedAction(id=call, tool="edit", arguments={"path": "a.py", "new": text})
    return [MessageEvent(actions=[asked]), ObservationEvent(call=call, tool="edit", text="done")]


FOUND = "src/money.py\n12: def round_half_even(value):\n"


def pair(root: Path) -> str:
    """The same task twice: with all of the history, and with a summary that forgot the helper."""
    whole = session_of(root, *read("a", FOUND), *edit("b", "return round_half_even(x)"))
    fold = Compaction(
        stage="summary", folds=[Fold(first="e3", last="e4", text="[something was searched]")],
        tokens_before=9, tokens_after=1, reason="long",
    )  # fmt: skip
    shortened = session_of(root, *read("a", FOUND), fold, *edit("b", "return round(x)"))
    return f"{whole}:{shortened}"


@pytest.mark.slow
def test_a_lost_fact_becomes_a_rule_as_a_diff(ledger: Path) -> None:
    before = summary.GUIDELINE.read_bytes()
    result = run("context", "tune", pair(ledger), cwd=ledger)
    assert result.code == 0, result.err
    assert "# lacked: definition round_half_even (from search)" in result.out
    assert "+Keep the definitions that outputs of search named (1 were missed)." in result.out
    assert result.out.index(" ## Files") < result.out.index("+Keep the definitions")
    assert summary.GUIDELINE.read_bytes() == before, "it is a proposal"


@pytest.mark.slow
def test_a_model_may_write_the_proposal_but_not_drop_a_section(ledger: Path, tmp_path: Path) -> None:
    both = pair(ledger)
    text = summary.GUIDELINE.read_text("utf-8")
    good = script(
        tmp_path, [{"text": text.replace("## Files\n", "## Files\nName every helper that was found.\n")}]
    )
    proposed = run("context", "tune", both, "--model", good, cwd=ledger)
    assert "+Name every helper that was found." in proposed.out
    bad = script(tmp_path, [{"text": "## Goal\nForget the constraints."}])
    refused = run("context", "tune", both, "--model", bad, cwd=ledger)
    assert "+Keep the definitions that outputs of search named" in refused.out
    assert "Forget the constraints" not in refused.out


@pytest.mark.slow
def test_without_pairs_thresholds_are_tried_on_recorded_sessions(ledger: Path) -> None:
    none = run("context", "tune", cwd=ledger)
    assert (none.code, "no session to learn from" in none.err) == (2, True)
    events = [
        e for i in range(30) for e in read(f"c{i}", FOUND + "".join(f"x = {n} * {i}\n" for n in range(200)))
    ]
    session_of(ledger, *events, *edit("z", "return round_half_even(x)"))
    result = run("context", "tune", "--window", "64000", cwd=ledger)
    assert result.code == 0, result.err
    assert "(now)" in result.out
    assert "[context]\nrecent = " in result.out


@pytest.mark.slow
def test_what_is_no_pair_is_refused(ledger: Path) -> None:
    for wrong, said in (("abc", "is not a pair"), ("a:b", "no session 'a'")):
        result = run("context", "tune", wrong, cwd=ledger)
        assert (result.code, said in result.err) == (2, True)


@pytest.mark.slow
def test_a_guideline_is_checked_applied_overridden_and_reset(ledger: Path, tmp_path: Path) -> None:
    own = Home.from_environment().config / "guideline.md"
    applied = run("context", "tune", pair(ledger), "--apply", cwd=ledger)
    assert applied.code == 0, applied.err
    assert "Keep the definitions that outputs of search named" in summary.read_guideline(own)
    mine = tmp_path / "mine.md"
    mine.write_text(summary.GUIDELINE.read_text("utf-8").replace("## Next\n", "## Next\nOne step.\n"))
    assert run("context", "tune", "--guideline", mine, "--apply", cwd=ledger).code == 0
    assert "One step." in summary.read_guideline(own)
    assert run("context", "tune", "--check", cwd=ledger).code == 0
    own.write_text("## Goal\nForget it.\n")
    wrong = run("context", "tune", "--check", cwd=ledger)
    assert wrong.code != 0
    assert "the heading '## Constraints' is missing" in wrong.err
    assert "Forget it." not in summary.read_guideline(own), "an invalid one is ignored"
    assert run("context", "tune", "--reset", cwd=ledger).code == 0
    assert not own.exists()
