"""A session that was cut off: what it had done and how far its turn had come are read from its log."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from pathlib import Path

import pytest

from agent.events import (
    ActionEvent,
    AskedAction,
    MessageEvent,
    ObservationEvent,
    Prompt,
    SnapshotEvent,
    Steer,
)
from agent.session.log import Session, read_events
from agent.turn.resume import find_last_untracked_place, find_turn_end, restore_changes
from sandbox.errors import UserError
from sandbox.process.watchdog import read_death_time
from sandbox.snapshots.workspace_snapshots import Snapshots
from tests.support.bench import workspace
from tests.support.cli import PATCHWRIGHT, call, environment, git, run, script
from tests.support.invariants import list_unanswered_calls
from tests.support.repo import Repo
from tools.builtin_tools import load_default_tools
from tools.core.registry import Toolbox

pytestmark = pytest.mark.slow  # each test starts whole programs or real repositories


def cut(log: Path, kind: str, **fields: str) -> None:
    """Cut a log after the first such event, as a kill at that moment would."""
    lines = log.read_bytes().splitlines(keepends=True)
    for place, line in enumerate(lines):
        event = json.loads(line)
        if event["kind"] == kind and all(event.get(name) == value for name, value in fields.items()):
            log.write_bytes(b"".join(lines[: place + 1]))
            return
    raise AssertionError(f"no {kind} in {log}")


def the_log() -> Path:
    (log,) = Path(os.environ["PATCHWRIGHT_HOME"]).glob("data/projects/*/sessions/*/log.jsonl")
    return log


def project(tmp_path: Path) -> Repo:
    repo = Repo(tmp_path / "repo")
    repo.write("test_it.py", "def test_it():\n    assert True\n")
    repo.commit_all()
    return repo


def test_a_kill_during_the_last_check_asks_the_model_nothing_more(tmp_path: Path) -> None:
    repo = project(tmp_path)
    turns = [{"calls": [call("write", path="a.txt", content="1\n")]}, {"text": "Written."}]
    model = script(tmp_path, turns)
    assert run("run", "go", "--model", model, cwd=repo.root).code == 0
    git(repo.root, "reset", "-q", "--mixed", "HEAD~1")
    cut(the_log(), "action", tool="run_tests")
    resumed = run("resume", "--model", model, cwd=repo.root)
    assert (resumed.code, resumed.out) == (0, "Written.\n"), resumed.err
    assert repo.committed() == ["a.txt"]


def test_a_commit_made_before_the_kill_is_still_checked_and_told(tmp_path: Path) -> None:
    repo = project(tmp_path)
    turns = [
        {"calls": [call("write", path="a.txt", content="1\n"), call("git_commit", message="Add a")]},
        {"text": "Committed."},
    ]
    model = script(tmp_path, turns)
    assert run("run", "go", "--model", model, cwd=repo.root).code == 0
    cut(the_log(), "observation", tool="git_commit")
    resumed = run("resume", "--model", model, "--output", "json", cwd=repo.root)
    end = json.loads(resumed.out)
    assert (resumed.code, end["commit"], end["files"]) == (0, repo.head(), ["a.txt"]), end
    assert end["verification"].startswith("passed")


def test_an_edit_whose_later_snapshot_a_kill_prevented_is_the_sessions(tmp_path: Path) -> None:
    repo = project(tmp_path)
    repo.write("a.txt", "one\n")
    repo.commit_all()
    edits = [call("edit", path="a.txt", old="one", new="two"), call("write", path="b.txt", content="new\n")]
    model = script(tmp_path, [{"calls": edits}, {"text": "Edited."}])
    assert run("run", "go", "--no-commit", "--model", model, cwd=repo.root).code == 0
    cut(the_log(), "observation", tool="write")
    the_log().with_name("at-work").write_text("killed\n")  # the watchdog's word
    repo.write("a.txt", "two\nand the user's\n")
    resumed = run("resume", "--model", model, cwd=repo.root)
    assert (resumed.code, resumed.out) == (0, "Edited.\n"), resumed.err
    assert repo.committed() == ["a.txt", "b.txt"]
    assert git(repo.root, "show", "HEAD:a.txt") == "two\n"
    assert git(repo.root, "status", "--porcelain") == " M a.txt\n", "what the user did since stays the user's"


def kill_at_work(cwd: Path, model: str, until: Path) -> None:
    """Kill a run once its command has made the file `until`, and wait until nothing of it is left.

    The clock of files goes on between the two, and again before this returns: what is done in one of its ticks has
    one time.
    """
    process = subprocess.Popen(
        [*PATCHWRIGHT, "run", "go", "--no-commit", "--model", model],
        cwd=cwd, env=environment(), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        start_new_session=True,
    )  # fmt: skip
    while not until.exists():
        assert process.poll() is None, "it ended before its command had done its work"
        time.sleep(0.01)
    wait_for_tick(cwd.parent / "tick", until.stat().st_ctime_ns)
    process.kill()
    process.wait()
    died = read_death_time(the_log().with_name("at-work"))
    assert died > until.stat().st_ctime_ns
    wait_for_tick(cwd.parent / "tick", died)


def wait_for_tick(stamp: Path, moment: int) -> None:
    """Write a file until it is later than a moment, in nanoseconds."""
    stamp.write_text("")
    while stamp.stat().st_mtime_ns <= moment:
        stamp.write_text("")


def test_what_the_user_did_after_an_interrupted_command_stays_the_users(tmp_path: Path) -> None:
    repo = project(tmp_path)
    repo.write("b.txt", "before\n")
    repo.write("c.txt", "before\n")
    repo.commit_all()
    command = "echo 1 > a.txt; echo 2 > b.txt; touch .done; sleep 600"
    turns = [{"calls": [call("shell", command=command)]}, {"text": "Made."}, {"text": "Four."}]
    model = script(tmp_path, turns)
    kill_at_work(repo.root, model, repo.root / ".done")
    (repo.root / ".done").unlink()
    mine = {"b.txt": "2\nand the user's\n", "c.txt": "the user's\n", "mine.txt": "the user's\n"}
    for path, text in mine.items():
        repo.write(path, text)
    resumed = run("resume", "--model", model, cwd=repo.root)
    assert resumed.code == 0, resumed.err
    assert repo.committed() == ["a.txt"], "the command's own work, though its result was lost"
    again = run("resume", "-p", "how many?", "--model", model, "--output", "json", cwd=repo.root)
    assert (again.code, json.loads(again.out)["files"]) == (0, []), again.out
    assert run("undo", cwd=repo.root).code == 0
    assert git(repo.root, "status", "--porcelain") == " D a.txt\n M b.txt\n M c.txt\n?? mine.txt\n"
    assert {path: repo.read(path) for path in mine} == mine


def test_what_may_be_the_work_of_an_interrupted_command_or_the_users_is_left_to_the_user(
    tmp_path: Path,
) -> None:
    """The machine lost power, say: there is no word of when it was."""
    root, session = tmp_path / "root", Session.create(tmp_path / "sessions")
    root.mkdir()
    snapshots, at = Snapshots(root, tmp_path / "snapshots"), workspace(root, session.folder)
    before = snapshots.take()
    session.append(
        MessageEvent(actions=[AskedAction(id="1", tool="shell"), AskedAction(id="2", tool="edit")])
    )
    session.append(ActionEvent(call="1", tool="shell", effect="execute", followed=True))
    session.append(ActionEvent(call="2", tool="edit", effect="write", paths=["b.txt"]))
    session.append(SnapshotEvent(tree=before, when="before"))
    session.answer_orphans()
    for name in ("a.txt", "b.txt", "c.txt"):
        (root / name).write_text("whose?\n")
    found = restore_changes(session.replayed.select_file_events(), at, snapshots)
    assert found is not None
    assert (found.tree, at.changes.originals) == (before, {})
    ended = restore_changes(session.replayed.select_file_events(), at, snapshots, ["b.txt", "c.txt"])
    assert ended is not None
    assert [each.path for each in snapshots.list_changes(before, ended.tree)] == ["b.txt"]
    assert at.changes.originals == {"b.txt": None}, (
        "an edit that was brought to its end by us is the session's"
    )


def test_what_the_user_made_of_a_file_after_an_undo_stays_the_users(tmp_path: Path) -> None:
    repo = project(tmp_path)
    repo.write("a.txt", "one\n")
    repo.commit_all()
    turns = [
        {"calls": [call("edit", path="a.txt", old="one", new="two")]},
        {"text": "Made."},
        {"text": "One."},
    ]
    model = script(tmp_path, turns)
    assert run("run", "go", "--no-commit", "--model", model, cwd=repo.root).code == 0
    assert run("undo", cwd=repo.root).code == 0
    assert repo.read("a.txt") == "one\n"
    repo.write("a.txt", "the user's\n")
    again = run("resume", "-p", "how many?", "--model", model, "--output", "json", cwd=repo.root)
    assert (again.code, json.loads(again.out)["files"]) == (0, []), again.out
    assert git(repo.root, "status", "--porcelain") == " M a.txt\n"


def ending(*events: MessageEvent | ObservationEvent | Steer) -> str | None:
    end = find_turn_end([Prompt(text="go"), *events], Toolbox(load_default_tools()))
    return None if end is None else f"{end.reason}: {end.text}"


def test_how_a_turn_had_ended_is_read_from_its_log() -> None:
    asked = MessageEvent(actions=[AskedAction(id="1", tool="finish"), AskedAction(id="2", tool="read")])
    one = ObservationEvent(call="1", tool="finish", text="ok", data={"summary": "all done"})
    two = ObservationEvent(call="2", tool="read", text="1: x")
    assert ending(MessageEvent(text="four")) == "answer: four"
    assert ending(MessageEvent(text="no", stop="refusal")) == "refusal: no"
    assert ending(MessageEvent(text="fo", partial=True)) is None
    assert ending(MessageEvent(text="four"), Steer(text="and five?")) is None
    assert ending(asked, one, two) == "ended: all done"
    assert ending(asked, one) is None
    assert ending(asked, one, ObservationEvent(call="2", tool="read", text="no", failed=True)) is None
    assert ending() is None


def test_actions_that_a_full_disk_left_unanswered_are_answered_before_the_next_turn(tmp_path: Path) -> None:
    session = Session.create(tmp_path)
    session.append(MessageEvent(actions=[AskedAction(id="1", tool="read")]))
    session.append(ActionEvent(call="h", tool="run_tests", effect="execute"))
    session.answer_orphans()
    assert list_unanswered_calls(list(read_events(session.folder))) == []
    session.answer_orphans()
    assert [event.kind for event in read_events(session.folder)] == [
        "message",
        "action",
        "observation",
        "observation",
    ]


@pytest.mark.parametrize("name", ["nope", "{}/log.jsonl", "x" * 300])
def test_a_name_that_is_no_session_is_one_clear_line(tmp_path: Path, name: str) -> None:
    session = Session.create(tmp_path)
    with pytest.raises(UserError, match="no session"):
        Session.open(tmp_path / name.format(session.id))
    with pytest.raises(FileNotFoundError):
        list(read_events(tmp_path / name.format(session.id)))


def test_a_damaged_log_is_one_clear_line(tmp_path: Path) -> None:
    repo = project(tmp_path)
    model = script(tmp_path, [{"text": "hi"}])
    assert run("run", "go", "--model", model, cwd=repo.root).code == 0
    log = the_log()
    log.write_bytes(log.read_bytes().replace(b'"text":"go"', b'"text":'))
    resumed = run("resume", "-p", "x", cwd=repo.root)
    assert (resumed.code, "is damaged after byte" in resumed.err) == (6, True), resumed.err
    assert "Traceback" not in resumed.err


def test_a_session_whose_snapshots_are_damaged_goes_on_and_leaves_what_nobody_knows_to_the_user(
    tmp_path: Path,
) -> None:
    repo = project(tmp_path)
    repo.write("old.txt", "a person's\n")
    repo.commit_all()
    first = script(
        tmp_path, [{"calls": [call("edit", path="old.txt", old="a", new="the")]}, {"text": "One."}]
    )
    assert run("run", "go", "--model", first, "--no-commit", cwd=repo.root).code == 0
    store = the_log().parents[2] / "snapshots"
    objects = [
        each for each in store.rglob("*") if each.is_file() and re.fullmatch("[0-9a-f]{38}", each.name)
    ]
    assert objects
    for each in objects:
        each.chmod(0o600)
        each.write_bytes(b"\0" * 40)
    then = [
        {"calls": [call("write", path="new.txt", content="1\n")]},
        {"calls": [call("git_commit", message="Add a file")]},
        {"text": "Two."},
    ]
    model = script(tmp_path, then, "then.json")
    resumed = run("resume", "--prompt", "go on", "--model", model, cwd=repo.root)
    assert (resumed.code, resumed.out) == (0, "Two.\n"), resumed.err
    assert repo.committed() == ["new.txt"]
    assert (repo.root / "old.txt").read_text() == "the person's\n"
    undone = run("undo", cwd=repo.root)
    assert undone.code == 0, undone.err
    assert not (repo.root / "new.txt").exists()


def test_what_was_done_before_anything_followed_files_is_not_read(tmp_path: Path) -> None:
    """A log of thousands of commands and no snapshot (an import, a session that only looked) is taken up at once."""
    session = Session.create(tmp_path / "sessions")

    def command(call: str) -> None:
        session.append(MessageEvent(actions=[AskedAction(id=call, tool="shell", arguments={"command": "x"})]))
        session.append(ActionEvent(call=call, tool="shell", effect="execute"))
        session.append(ObservationEvent(call=call, tool="shell", text="exit 0"))

    def calls() -> list[str]:
        history = session.replayed
        return [
            event.call
            for event in history.select_file_events(find_last_untracked_place(history))
            if isinstance(event, ActionEvent)
        ]

    session.append(Prompt(text="look"))
    for number in range(50):
        command(f"a{number}")
    assert calls() == ["a49"]  # which a kill could have cut off
    session.append(Prompt(text="change"))
    command("b0")
    session.append(SnapshotEvent(tree="t1", when="before"))
    command("b1")
    session.append(Prompt(text="again"))
    command("c0")
    assert calls() == ["b0", "b1", "c0"]
    session.close()
