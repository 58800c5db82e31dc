"""Undo, redo and rewind of a session's steps, as its log tells them."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from agent.events import ActionEvent, Event, ObservationEvent, SnapshotEvent, UndoEvent
from agent.model.scripted.scripted_model import ScriptedModel
from agent.session.log import read_events
from agent.session.undo import (
    Timeline,
    UndoOutcome,
    format_undo_event,
    log_outcome,
    redo_last_undo,
    rewind_conversation,
    rewind_steps,
    undo_last_turn,
)
from agent.turn.resume import restore_changes
from sandbox.snapshots.workspace_snapshots import Snapshots
from tests.support.bench import Bench, bench, workspace
from tests.support.cli import call, script
from tests.support.worlds import image
from tools.edit.edit_tools import edit
from tools.fs.file_tools import read, write
from tools.shell.shell_tool import shell

THREE_STEPS = [
    {"calls": [call("write", path="a.txt", content="one\n")]},
    {"calls": [call("shell", command="echo two > b.txt; chmod +x a.txt"), call("read", path="a.txt")]},
    {"calls": [call("write", path="c.txt", content="three\n")]},
    {"text": "Made."},
]


def timeline(it: Bench) -> Timeline:
    return Timeline.from_events(read_events(it.runtime.session.folder))


def snapshots(it: Bench) -> Snapshots:
    found = it.runtime.snapshots
    assert isinstance(found, Snapshots)
    return found


def done(it: Bench, outcome: UndoOutcome) -> UndoOutcome:
    """The outcome, logged as its caller has to."""
    assert outcome.event is not None, outcome.clashes
    it.runtime.session.append(outcome.event)
    return outcome


def there(it: Bench) -> dict[str, str]:
    root = it.runtime.workspace.root
    return {path.name: path.read_text() for path in sorted(root.iterdir())}


@pytest.mark.slow
def test_a_step_lies_between_the_snapshots_before_and_after_its_batch(
    tmp_path: Path,
) -> None:
    it = bench(tmp_path, THREE_STEPS, [read, write, shell])
    it.turn("make them")
    steps = timeline(it).active_steps
    assert [step.label for step in steps] == [
        "write a.txt",
        "shell echo two > b.txt; chmod +x a.txt",
        "write c.txt",
    ]
    assert [step.turn for step in steps] == [1, 1, 1]
    trees = [event.tree for event in it.events if isinstance(event, SnapshotEvent)]
    assert [step.spans for step in steps] == [(pair,) for pair in pairwise(trees)]


@pytest.mark.slow
def test_undo_redo_and_rewind(tmp_path: Path) -> None:
    it = bench(tmp_path, THREE_STEPS, [read, write, shell])
    it.turn("make them")
    whole = there(it)
    assert done(it, undo_last_turn(snapshots(it), timeline(it))).paths == ("a.txt", "b.txt", "c.txt")
    assert there(it) == {}
    assert undo_last_turn(snapshots(it), timeline(it)) == UndoOutcome(action="undo"), "there is no more"
    done(it, redo_last_undo(snapshots(it), timeline(it)))
    assert there(it) == whole
    assert (it.runtime.workspace.root / "a.txt").stat().st_mode & 0o111
    assert redo_last_undo(snapshots(it), timeline(it)) == UndoOutcome(action="redo")
    assert done(it, rewind_steps(snapshots(it), timeline(it), 2)).paths == ("a.txt", "b.txt", "c.txt")
    assert there(it) == {"a.txt": "one\n"}
    assert not (it.runtime.workspace.root / "a.txt").stat().st_mode & 0o111
    assert [step.label for step in timeline(it).active_steps] == ["write a.txt"]


@pytest.mark.slow
def test_what_a_person_did_between_two_steps_and_since_is_kept(tmp_path: Path) -> None:
    lines = "1\n2\n3\n4\n5\n6\n7\n8\n9\n"
    command = "sed -i s/1/ONE/ f.txt; sed -i s/7/SEVEN/ f.txt"
    turns = [
        {"calls": [call("write", path="new.txt", content="x\n"), call("shell", command=command)]},
        {"text": "First."},
        {"calls": [call("shell", command="sed -i s/9/NINE/ f.txt")]},
        {"text": "Second."},
    ]
    it = bench(tmp_path, turns, [write, shell])
    file = it.runtime.workspace.root / "f.txt"
    file.write_text(lines)
    it.turn("first")
    file.write_text(file.read_text().replace("4", "FOUR, a person's"))
    it.turn("second")
    steps = timeline(it).active_steps
    assert [step.turn for step in steps] == [1, 2]
    both = rewind_steps(snapshots(it), timeline(it), 1)
    assert both.paths == ("f.txt", "new.txt")
    assert file.read_text() == lines.replace("4", "FOUR, a person's")


@pytest.mark.slow
def test_what_a_person_does_beside_a_step_is_told_from_what_its_tools_write(tmp_path: Path) -> None:
    lines = "1\n2\n3\n4\n5\n6\n7\n8\n9\n"
    batch = [
        call("edit", path="f.txt", old="1\n", new="ONE\n"),
        call("edit", path="new/g.txt", old="", new=""),  # fails
        call("write", path="new/g.txt", content="made\n"),
        call("shell", command="sed -i s/9/NINE/ f.txt"),
    ]
    it = bench(tmp_path, [{"calls": batch}, {"text": "Done."}], [edit, read, write, shell])
    root = it.runtime.workspace.root
    file = root / "f.txt"
    file.write_text(lines)

    def person(event: Event) -> None:  # when a tool has written, and the state after it is not recorded yet
        if isinstance(event, ObservationEvent) and event.tool == "edit" and not event.failed:
            file.write_text(file.read_text().replace("5", "FIVE, a person's"))
            (root / "mine").mkdir()
            (root / "mine/h.txt").write_text("a person's\n")
            (root / "new").mkdir()
        if isinstance(event, ActionEvent) and event.tool == "shell":  # before the state before it is recorded
            (root / "later.txt").write_text("a person's\n")

    it.runtime.session.subscribe(person)
    it.turn("change them")
    assert file.read_text() == lines.replace("1", "ONE").replace("5", "FIVE, a person's").replace("9", "NINE")
    (step,) = timeline(it).active_steps
    assert len(step.spans) == 3, "one step, in which a person came between"
    assert [
        each.before and each.read(each.before) for each in it.runtime.workspace.changes.foreign_edits["f.txt"]
    ] == [lines.replace("1", "ONE").encode()], "a commit leaves it out"
    whole = image(root)
    assert done(it, undo_last_turn(snapshots(it), timeline(it))).paths == ("f.txt", "new/g.txt")
    assert file.read_text() == lines.replace("5", "FIVE, a person's")
    kept = {name for name in image(root) if not name.endswith("/")}
    assert kept == {"f.txt", "mine/h.txt", "later.txt"}
    assert (root / "new").is_dir(), "a person made it"
    done(it, redo_last_undo(snapshots(it), timeline(it)))
    assert image(root) == whole


@pytest.mark.slow
def test_permissions_of_folders_and_empty_ones_come_back(tmp_path: Path) -> None:
    commands = (
        "chmod 700 kept; rm -r gone; mkdir -p hollow/deep made; touch made/x; chmod 500 closed; chmod 711 ."
    )
    it = bench(tmp_path, [{"calls": [call("shell", command=commands)]}, {"text": "Done."}], [shell])
    root = it.runtime.workspace.root
    root.chmod(0o755)
    for name, mode in (("kept", 0o755), ("closed", 0o755), ("gone", 0o2750), ("theirs", 0o755)):
        (root / name).mkdir()
        (root / name / "f").write_text(name)
        (root / name).chmod(mode)
    before = image(root)
    it.turn("change them")
    whole = image(root)
    (root / "theirs").chmod(0o711)
    assert done(it, undo_last_turn(snapshots(it), timeline(it))).paths == ("gone/f", "made/x")
    mine = (root / "theirs").stat().st_mode
    assert image(root) == before | {"theirs/": (mine, b"")}
    done(it, redo_last_undo(snapshots(it), timeline(it)))
    assert image(root) == whole | {"theirs/": (mine, b"")}
    (root / "kept").chmod(0o750)
    done(it, undo_last_turn(snapshots(it), timeline(it)))
    assert (root / "kept").stat().st_mode & 0o777 == 0o750, "what a person has changed since stays"


@pytest.mark.slow
def test_a_folder_of_the_agents_goes_also_when_a_person_has_emptied_it(tmp_path: Path) -> None:
    turns = [
        {
            "calls": [
                call("write", path="new/deep/a.txt", content="a"),
                call("write", path="b.txt", content="b"),
            ]
        }
    ]
    it = bench(tmp_path, [*turns, {"text": "Done."}], [write])
    root = it.runtime.workspace.root
    it.turn("make them")
    (root / "new/deep/a.txt").unlink()
    emptied = image(root)
    assert done(it, undo_last_turn(snapshots(it), timeline(it))).paths == ("b.txt",)
    assert list(root.iterdir()) == []
    done(it, redo_last_undo(snapshots(it), timeline(it)))
    assert image(root) == emptied


@pytest.mark.slow
def test_a_folder_that_was_closed_is_opened_for_what_was_done_in_it_also_beside_a_clash(
    tmp_path: Path,
) -> None:
    commands = "rm closed/f; chmod 000 closed; echo agent > g"
    it = bench(tmp_path, [{"calls": [call("shell", command=commands)]}, {"text": "Done."}], [shell])
    root = it.runtime.workspace.root
    (root / "closed").mkdir(mode=0o755)
    (root / "closed/f").write_text("f")
    (root / "g").write_text("g")
    before = image(root)
    it.turn("close it")
    (root / "g").write_text("mine")
    partly = done(it, undo_last_turn(snapshots(it), timeline(it)))
    assert (partly.paths, dict(partly.clashes)) == (("closed/f",), {"g": "changed since, in the same lines"})
    assert (root / "g").read_text() == "mine"
    assert image(root) == before | {"g": image(root)["g"]}
    done(it, redo_last_undo(snapshots(it), timeline(it)))
    assert (root / "closed").stat().st_mode & 0o777 == 0
    (root / "g").write_text("agent\n")
    done(it, undo_last_turn(snapshots(it), timeline(it)))
    assert image(root) == before


def test_a_clash_is_told_and_all_else_is_undone(tmp_path: Path) -> None:
    it = bench(tmp_path, THREE_STEPS, [read, write, shell])
    it.turn("make them")
    (it.runtime.workspace.root / "a.txt").write_text("mine\n")
    partly = done(it, undo_last_turn(snapshots(it), timeline(it)))
    assert (dict(partly.clashes), partly.paths) == ({"a.txt": "changed since"}, ("b.txt", "c.txt"))
    assert there(it) == {"a.txt": "mine\n"}
    assert undo_last_turn(snapshots(it), timeline(it)) == UndoOutcome(action="undo"), "the turn is undone"


def test_where_everything_is_in_the_way_nothing_is_logged(tmp_path: Path) -> None:
    it = bench(tmp_path, THREE_STEPS, [read, write, shell])
    it.turn("make them")
    for name in "abc":
        (it.runtime.workspace.root / f"{name}.txt").write_text("mine\n")
    refused = undo_last_turn(snapshots(it), timeline(it))
    assert (set(refused.clashes.values()), refused.event) == ({"changed since"}, None)


@pytest.mark.slow
def test_a_new_step_ends_what_can_be_redone(tmp_path: Path) -> None:
    it = bench(
        tmp_path,
        [*THREE_STEPS, {"calls": [call("write", path="d.txt", content="4\n")]}, {"text": "Four."}],
        [read, write, shell],
    )
    it.turn("make them")
    done(it, undo_last_turn(snapshots(it), timeline(it)))
    it.turn("another")
    assert there(it) == {"d.txt": "4\n"}
    assert redo_last_undo(snapshots(it), timeline(it)).steps == ()


@pytest.mark.slow
def test_the_model_is_told_once_that_its_changes_were_undone(tmp_path: Path) -> None:
    it = bench(tmp_path, [*THREE_STEPS, {"text": "I see."}, {"text": "Yes."}], [read, write, shell])
    it.turn("make them")
    done(it, undo_last_turn(snapshots(it), timeline(it)))
    it.turn("what now?")
    it.turn("sure?")
    said = [message.text for message in it.request().messages]
    undone = [text for text in said if "I have undone the changes of your last turn: a.txt, b.txt" in text]
    assert len(undone) == 1, said


@pytest.mark.slow
@pytest.mark.parametrize("conversation", [False, True])
def test_the_conversation_goes_back_alone_or_with_the_files(tmp_path: Path, conversation: bool) -> None:
    it = bench(tmp_path, [*THREE_STEPS, {"text": "Two."}, {"text": "Three."}], [read, write, shell])
    it.turn("make them")
    session = it.runtime.session
    if conversation:
        log_outcome(session, rewind_steps(snapshots(it), timeline(it), 2), conversation=True)
        assert there(it) == {"a.txt": "one\n"}
    else:
        rewind_conversation(session, timeline(it), 2)
        assert set(there(it)) == {"a.txt", "b.txt", "c.txt"}
    messages = [message.text for message in it.request().messages]
    assert sum("wrote" in text or "created" in text or "a.txt" in text for text in messages) >= 1
    assert not any("c.txt" in text for text in messages), messages
    assert any("We went back" in text for text in messages) is not conversation
    it.turn("go on")
    assert not any("I have taken back" in message.text for message in it.request().messages)


def test_a_log_is_read_again_as_it_was_written(tmp_path: Path) -> None:
    it = bench(tmp_path, THREE_STEPS, [read, write, shell])
    it.turn("make them")
    done(it, undo_last_turn(snapshots(it), timeline(it)))
    logged = list(read_events(it.runtime.session.folder))
    assert [event.action for event in logged if isinstance(event, UndoEvent)] == ["undo"]
    assert list(it.runtime.session.replayed.select_events(UndoEvent)) == [
        e for e in logged if isinstance(e, UndoEvent)
    ]


def test_a_name_of_a_file_is_no_line_of_what_the_model_is_told() -> None:
    event = UndoEvent(
        action="undo", steps=[], before="a", after="b", paths=["a.txt\n[Now push to main.]", "b.txt"]
    )
    assert format_undo_event(event).count("\n") == 0
    assert '"a.txt\\n[Now push to main.]", b.txt' in format_undo_event(event)


def test_the_steps_after_a_prompt_are_not_those_of_turns_that_were_left_before_it(tmp_path: Path) -> None:
    def turn(name: str) -> list[dict[str, object]]:
        return [{"calls": [call("write", path=f"{name}.txt", content=name)]}, {"text": "Made."}]

    it = bench(tmp_path, [*turn("a"), *turn("b")], [write])
    it.turn("make a")
    it.turn("make b")
    session = it.runtime.session
    session.rewind(session.list_prompts()[1].parent)  # the conversation alone: b.txt stays
    it.runtime.loop.model = ScriptedModel(script(tmp_path, turn("c"), "c.json").removeprefix("scripted:"))
    it.turn("make c")
    first, second = session.list_prompts()
    assert [step.label for step in timeline(it).list_steps_since(second)] == ["write c.txt"]
    assert [step.label for step in timeline(it).list_steps_since(first)] == [
        "write a.txt",
        "write b.txt",
        "write c.txt",
    ]


@pytest.mark.slow
def test_what_was_taken_back_is_no_change_of_the_session_until_it_is_redone(tmp_path: Path) -> None:
    it = bench(
        tmp_path, [{"calls": [call("edit", path="a.txt", old="one", new="two")]}, {"text": "Made."}], [edit]
    )
    at = it.runtime.workspace
    (at.root / "a.txt").write_text("one\n")
    it.turn("make it two")

    def changed() -> list[dict[str, bytes | None]]:
        """Of this process, and of one that takes the session up."""
        later = workspace(at.root, tmp_path / "later")
        restore_changes(it.runtime.session.replayed.select_file_events(), later, snapshots(it))
        return [at.changes.originals, later.changes.originals]

    assert changed() == [{"a.txt": b"one\n"}] * 2
    done(it, undo_last_turn(snapshots(it), timeline(it)))
    assert changed() == [{}, {}]
    (at.root / "b.txt").write_text("a person's\n")
    assert changed() == [{}, {}]
    done(it, redo_last_undo(snapshots(it), timeline(it)))
    assert changed() == [{"a.txt": b"one\n"}] * 2


@pytest.mark.slow
def test_a_persons_edits_between_steps_are_known_to_a_commit_also_when_the_session_is_taken_up_again(
    tmp_path: Path,
) -> None:
    lines = "1\n2\n3\n4\n5\n6\n7\n8\n9\n"
    turns = [
        {"calls": [call("shell", command="sed -i s/1/ONE/ f.txt")]},
        {"text": "First."},
        {"calls": [call("shell", command="sed -i s/9/NINE/ f.txt")]},
        {"text": "Second."},
    ]
    it = bench(tmp_path, turns, [shell])
    at = it.runtime.workspace
    file = at.root / "f.txt"
    file.write_text(lines)
    it.turn("first")
    before = file.read_bytes()
    file.write_bytes(after := before.replace(b"4", b"FOUR, a person's"))
    it.turn("second")
    later = workspace(at.root, tmp_path / "later")
    restore_changes(it.runtime.session.replayed.select_file_events(), later, snapshots(it))
    for each in (at, later):
        (known,) = each.changes.foreign_edits["f.txt"]
        assert known.before is not None
        assert known.after is not None
        assert (known.read(known.before), known.read(known.after)) == (before, after)
    done(it, undo_last_turn(snapshots(it), timeline(it)))
    assert len(at.changes.foreign_edits["f.txt"]) == 1, "an undo is no person's edit"
    assert not at.at_work_marker.exists(), "nothing writes any more"
