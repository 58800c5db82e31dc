"""Notes on steps: logged, shown on the trace page, clustered into behaviors, redacted."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent.events import Feedback
from agent.session.log import Session, read_events
from packages.trace.feedback.behavior_report import format_behaviors, list_behaviors
from packages.trace.feedback.behaviors import cluster_notes, find_stem
from packages.trace.feedback.notes import LONGEST, Note, give_feedback, read_notes
from packages.trace.page.page import render_page
from packages.trace.rows.traced_sessions import read_traces
from sandbox.errors import UserError
from tests.packages.trace.test_session_reports import summarize
from tests.packages.trace.written_logs import Log
from tests.support.cli import call, run, script
from tests.support.repo import Repo

KEY = "sk-ant-api03-" + "aB3dE5gH7jK9mN1pQ3sT5vW7yZ9" * 3


def write_log(folder: Path) -> Log:
    log = Log(folder)
    log.prompt("Mend the cart")
    log.step("edit", {"path": "cart.py"}, "changed")
    log.step("shell", {"command": "pytest -q"}, "1 failed", exit=1)
    log.say("Done, all tests pass.")
    log.end()
    return log


def give(log: Log, words: str) -> str:
    session = Session.open(log.folder)
    try:
        return give_feedback(session, words)
    finally:
        session.close()


def test_a_note_is_logged_at_its_step_and_without_secrets(tmp_path: Path) -> None:
    log = write_log(tmp_path / "s1")
    assert give(log, "1  bad it edited   a test") == "noted at step 1: bad"
    assert give(log, f"good it says so {KEY}{'x' * LONGEST}") == "noted at step 3: good"
    noted = [each for each in read_events(log.folder) if isinstance(each, Feedback)]
    [trace] = read_traces(log.folder)
    assert [each.event for each in noted] == [trace.rows[2].event, trace.rows[4].event]
    assert (noted[0].good, noted[0].text) == (False, "it edited a test")
    assert KEY not in (log.folder / "log.jsonl").read_text()
    assert len(noted[1].text) <= LONGEST


@pytest.mark.parametrize(
    "words", ["", "good", "9 bad no such step", "0 bad no such step", "fine it is", "99999999999 bad x"]
)
def test_a_note_that_names_no_step_or_says_nothing_is_refused(tmp_path: Path, words: str) -> None:
    log = write_log(tmp_path / "s1")
    before = (log.folder / "log.jsonl").read_bytes()
    with pytest.raises(UserError):
        give(log, words)
    assert (log.folder / "log.jsonl").read_bytes() == before


def test_the_trace_shows_notes_at_their_steps_as_data(tmp_path: Path) -> None:
    log = write_log(tmp_path / "s1")
    give(log, "2 good it ran the tests</script>")
    [trace] = read_traces(log.folder)
    row = trace.find_step(2)
    assert row is not None
    assert row.detail["feedback"] == ["good: it ran the tests</script>"]
    assert row.title.endswith("[good]")
    assert not row.signals
    page = render_page([trace]).decode()
    assert "good: it ran the tests\\u003c/script>" in page
    log.event("feedback", event="e999", good="yes", text=["no", "text"])
    [damaged] = read_traces(log.folder)
    assert damaged.rows[-1].title == 'bad: ["no", "text"]'


def note(text: str, deed: str = "answer", *, good: bool = False, week: str = "2026-W47") -> Note:
    return Note(session="s1", step=1, week=week, deed=deed, is_good=good, text=text)


def test_notes_on_one_behavior_are_together_whether_they_praise_or_blame() -> None:
    found = cluster_notes(
        [
            note("claimed that the tests pass without running them"),
            note("edited a test to make it pass", "edit"),
            note("ran the tests before it answered", good=True, week="2026-W48"),
            note("read the whole file though only one line mattered", "read"),
            note("changed the test so that it passes", "edit"),
            note("it never runs the tests", week="2026-W48"),
            note("very friendly", good=True),
        ]
    )
    groups = [[each.text for each in behavior.notes] for behavior in found]
    assert groups[0] == [
        "claimed that the tests pass without running them",
        "ran the tests before it answered",
        "it never runs the tests",
    ]
    assert ["edited a test to make it pass", "changed the test so that it passes"] in groups
    assert (found[0].name, found[0].good, found[0].bad) == ("tests running", 1, 2)
    assert found[0].as_data()["weeks"] == {"2026-W47": 1, "2026-W48": 2}


@pytest.mark.parametrize(
    ("words", "stem"),
    [("run runs running ran", "run"), ("edit edits edited", "edit"), ("pass passes passed", "pass")],
)
def test_forms_of_a_word_have_one_stem(words: str, stem: str) -> None:
    assert {find_stem(each) for each in words.split()} == {stem}


def test_notes_of_a_project_are_read_from_its_logs(tmp_path: Path) -> None:
    one, other = write_log(tmp_path / "s1"), write_log(tmp_path / "s2")
    give(one, "1 bad edits a file unread")
    give(other, "1 bad it edited an unread file")
    (tmp_path / "gone").mkdir()
    gone = summarize(write_log(tmp_path / "s3"))
    (tmp_path / "s3/log.jsonl").unlink()
    notes = read_notes([summarize(one), summarize(other), gone])
    assert [(each.session, each.step, each.deed) for each in notes] == [("s1", 1, "edit"), ("s2", 1, "edit")]
    [found] = list_behaviors([summarize(one), summarize(other)])
    assert (found["bad"], found["places"]) == (2, ["s1#step-1", "s2#step-1"])
    lines = list(format_behaviors([found]))
    assert lines[0].startswith("edits file unread: 2 bad  (edit; ")


@pytest.mark.slow
def test_the_commands_note_and_report(tmp_path: Path) -> None:
    repo = Repo(tmp_path / "shop")
    repo.write("cart.py", "x = 1\n")
    repo.commit_all()
    turns = [{"calls": [call("read", path="cart.py")]}, {"text": "x is 1."}]
    run("run", "What is x?", "--no-commit", "--model", script(tmp_path, turns), cwd=repo.root)
    assert "no feedback yet" in run("sessions", "feedback", cwd=repo.root).err
    [session] = [each["id"] for each in run("sessions", "--json", cwd=repo.root).events]
    noted = run("session", "feedback", session, "1", "good", "read", "only what it needed", cwd=repo.root)
    assert (noted.code, noted.out) == (0, "noted at step 1: good\n")
    assert run("session", "feedback", session, "7", "good", "x", cwd=repo.root).code == 2
    [found] = run("sessions", "feedback", "--json", cwd=repo.root).events
    assert found["examples"] == {"good": "read only what it needed"}
    assert "read needed: 1 good" in run("sessions", "stats", cwd=repo.root).out
    assert json.loads(json.dumps(found)) == found
