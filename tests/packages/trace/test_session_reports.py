"""Which sessions are worth reading, and figures of them by week and model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from agent.session.session_index import SessionSummary
from packages.trace.figure_plots import draw_plots
from packages.trace.rows.traced_sessions import read_traces
from packages.trace.session_reports import summarize_sessions, summarize_tasks, triage_sessions
from tests.packages.trace.test_diagnosis import an_edit_breaks_a_test_that_passed
from tests.packages.trace.written_logs import START, Log
from tests.support.cli import call, run, script
from tests.support.repo import Repo


def summarize(log: Log, **more: Any) -> SessionSummary:
    fields = {
        "parent": "",
        "title": "t",
        "model": "m",
        "created": START,
        "updated": START + 120,
        "steps": 3,
        "cost": None,
    }
    return SessionSummary(
        path=log.folder, id=log.folder.name, project="/shop", **{**fields, "outcome": "done", **more}
    )


def test_failures_come_first_and_what_went_well_is_left_out(tmp_path: Path) -> None:
    fine, failed, steered = (Log(tmp_path / name) for name in ("fine", "failed", "steered"))
    fine.say("ok")
    fine.end()
    an_edit_breaks_a_test_that_passed(failed)
    steered.event("steer", text="not there", by="person")
    steered.end()
    found = triage_sessions([summarize(each) for each in (fine, steered, failed)])
    assert [each.id for each in found] == ["failed", "steered"]
    assert found[0].reasons[0].startswith("step 3: Incorrect Problem Identification")
    assert found[1].reasons == ["a person spoke in between 1 times"]


def test_a_session_that_runs_and_goes_badly_is_told(tmp_path: Path) -> None:
    well, badly = Log(tmp_path / "well"), Log(tmp_path / "badly")
    for log in (well, badly):
        log.prompt("Change the limit in cart.py to 5.")
    well.step("read", {"path": "cart.py"}, "limit = 4")
    badly.step("edit", {"path": "cart.py", "old": "x"}, "edit: `old` does not occur", failed=True)
    found = triage_sessions([summarize(each, outcome="") for each in (well, badly)])
    assert [(each.id, each.weight) for each in found] == [("badly", 2.0), ("well", 1.0)]
    assert found[1].reasons == ["it has not ended"]
    assert found[0].reasons == [
        "it has not ended, and goes like sessions that fail: nothing was read, run or changed,"
        " steps with a fault that was not made good, a change of a file that it had not read"
    ]


def test_what_people_correct_and_refuse_and_a_small_window_count(tmp_path: Path) -> None:
    log = Log(tmp_path / "s1")
    log.prompt("no tests please, just the parser")
    log.event("steer", text="don't go on", by="harness")
    asked = {"id": "x1", "tool": "shell", "arguments": {"command": "rm -r ."}}
    log.event("message", actions=[asked], model="m")
    log.event("decision", call="x1", verdict="deny", reason="it deletes", by="person")
    for _ in range(4):
        log.say("on")
        log.event("compaction", tokens_before=9, tokens_after=4, reason="full")
    log.prompt("That's wrong: the other file")
    log.prompt("now the docs")
    log.end()
    [trace] = read_traces(log.folder)
    told = [(each.place, each.name) for row in trace.rows for each in row.signals]
    assert told == [("e4", "refused"), ("e11", "pressure"), ("e14", "correction")]
    [found] = triage_sessions([summarize(log)])
    assert "refused: a person refused an action: it deletes, and 2 more signals" in found.reasons


def test_figures_are_by_week_and_model_without_children(tmp_path: Path) -> None:
    log = Log(tmp_path / "s1")
    week = 7 * 86_400
    found = summarize_sessions(
        [
            summarize(log, cost=0.5),
            summarize(log, outcome="tests-fail", steps=5, cost=0.25),
            summarize(log, model="n"),
            summarize(log, parent="s0"),
            summarize(log, created=START + week, updated=START + week + 60),
        ]
    )
    assert [(each["model"], each["sessions"], each["done"], each["steps"], each["cost"]) for each in found] == [
        ("m", 1, 1, 3, None), ("n", 1, 1, 3, None), ("m", 2, 1, 4, 0.75),
    ]  # fmt: skip
    assert found[0]["week"] > found[1]["week"] == found[2]["week"]


def test_figures_are_by_kind_of_task_and_model(tmp_path: Path) -> None:
    log = Log(tmp_path / "s1")
    fix, add = "fix the crash of total", "add a flag to the parser"
    found = summarize_tasks(
        [
            summarize(log, title=fix, cost=0.5),
            summarize(log, title=fix, outcome="tests-fail", cost=0.25),
            summarize(log, title=fix, model="n"),
            summarize(log, title=add),
            summarize(log, title=fix, parent="s0"),
        ]
    )
    rows = {(each["task"], each["model"]): (each["sessions"], each["done"], each["cost"]) for each in found}
    assert rows == {
        ("repair", "m"): (2, 1, 0.75),
        ("repair", "n"): (1, 1, None),
        ("change", "m"): (1, 1, None),
    }


def test_plots_compare_weeks_and_models() -> None:
    figures = [
        {
            "week": "2026-W48",
            "model": "m",
            "task": "repair",
            "sessions": 4,
            "done": 3,
            "steps": 3,
            "minutes": 2.0,
            "cost": 0.5,
        },
        {
            "week": "2026-W48",
            "model": "n",
            "task": "repair",
            "sessions": 2,
            "done": 0,
            "steps": 3,
            "minutes": 1.0,
            "cost": None,
        },
        {
            "week": "2026-W47",
            "model": "m",
            "task": "answer",
            "sessions": 3,
            "done": 3,
            "steps": 3,
            "minutes": 1.0,
            "cost": 2.0,
        },
    ]
    lines = list(draw_plots(figures, 40, unicode=False))
    assert lines[1:4] == [
        "done, of all sessions, by kind of task",
        "  repair  ###########...........  3 of 6",
        "  answer  ###########  3 of 3",
    ]
    weeks = lines.index("done, of all sessions, by week")
    assert lines[weeks : weeks + 3] == [
        "done, of all sessions, by week",
        "  2026-W47  ##########  3 of 3",
        "  2026-W48  ##########..........  3 of 6",
    ]
    assert "cost, by week" in lines
    assert "  2026-W47  ###################  $2.00" in lines
    assert all(len(line) <= 40 for line in lines)
    assert any(line.startswith("  n ") and line.endswith("0 of 2") for line in lines)
    assert list(draw_plots(figures[:1], 40, unicode=True)) == [], "one bar shows nothing"
    hugely = [{**each, "model": "x" * 200 + str(place)} for place, each in enumerate(figures)]
    assert all(len(line) <= 40 for line in draw_plots(hugely, 40, unicode=True))


def test_sessions_are_grouped_by_what_they_ask_for(tmp_path: Path) -> None:
    log = Log(tmp_path / "s1")
    titles = ("Mend the failing test", "Fix the bug in cart.py", "What does total do?")
    found = summarize_sessions([summarize(log, title=each) for each in titles], by=("task",))
    assert {each["task"]: each["sessions"] for each in found} == {"repair": 2, "answer": 1}


@pytest.mark.slow
def test_the_commands_print_both(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "shop")
    repo.write("cart.py", "x = 1\n")
    repo.commit_all()
    turns = [
        {"calls": [call("read", path="made/up.py")]},
        {"error": {"fault": "model-unreachable", "message": "429"}},
    ]
    run("run", "What is y?", "--no-commit", "--model", script(tmp_path, turns), cwd=repo.root)
    triage = run("sessions", "triage", cwd=repo.root)
    assert triage.code == 0, triage.err
    assert "Rate Limiting" in triage.out
    [figures] = run("sessions", "stats", "--json", cwd=repo.root).events
    assert (figures["sessions"], figures["done"]) == (1, 0)
    assert "sessions 1" in run("sessions", "stats", cwd=repo.root).out
    assert run("sessions", "nonsense", cwd=repo.root).code == 2
