"""The gateway: policy before anything runs, snapshots before writes, and what commands changed."""

from __future__ import annotations

import asyncio
import time
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import pytest

from sandbox.errors import Fault, UserError
from sandbox.policy.decision import Approval, Decision, Mode, Policy
from sandbox.policy.effects import Effect
from sandbox.policy.rules import Rules, parse_rule
from sandbox.snapshots.workspace_snapshots import Snapshots
from tests.support.bench import workspace
from tools.core.action import Action, Observation
from tools.core.gateway import Gateway
from tools.core.registry import Tool, Toolbox, tool
from tools.core.snapshot_spans import SnapshotSpans, Span
from tools.core.workspace import Workspace
from tools.fs.file_tools import read, write
from tools.shell.shell_tool import shell


@dataclass
class Recorded:
    """Everything the gateway tells the log, in order."""

    lines: list[str] = field(default_factory=list)
    observations: list[Observation] = field(default_factory=list)

    def record_action(self, action: Action, effect: Effect) -> None:
        self.lines.append(f"action {action.tool} {effect.kind}")

    def record_decision(self, action: Action, decision: Decision, by: str) -> None:
        self.lines.append(f"decision {decision.verdict} by {by}")

    def record_observation(self, action: Action, observation: Observation, seconds: float) -> None:
        self.lines.append(f"observation {action.tool}{' failed' if observation.failed else ''}")
        self.observations.append(observation)

    def record_snapshot(self, tree: str, when: str) -> None:
        self.lines.append(f"snapshot {when}")


class Says:
    """A person who always gives the same answer."""

    def __init__(self, decision: Decision) -> None:
        self.decision = decision
        self.asked: list[str] = []

    async def ask(self, tool: str, effect: Effect, question: Decision) -> Decision:
        self.asked.append(f"{tool}: {question.reason}")
        return self.decision


@tool("network")
async def fetch(*, at: Workspace) -> Observation:
    """Leave the machine."""
    return Observation(text="fetched")


def gateway(
    tmp_path: Path,
    *tools: Tool,
    mode: Mode = Mode.WORKSPACE,
    approval: Approval = Approval.NEVER,
    approver: Says | None = None,
) -> tuple[Gateway, Recorded]:
    root = tmp_path / "root"
    root.mkdir(exist_ok=True)
    recorded = Recorded()
    made = Gateway(
        toolbox=Toolbox(tools),
        workspace=workspace(root, tmp_path / "own"),
        policy=Policy(mode, approval),
        recorder=recorded,
        snapshots=Snapshots(root, tmp_path / "snapshots"),
        approver=approver,
    )
    return made, recorded


def act(made: Gateway, name: str, **arguments: object) -> Observation:
    return asyncio.run(made.run([Action(id="1", tool=name, arguments=arguments)]))[0]


def test_what_leaves_the_workspace_is_denied_when_nobody_can_be_asked(tmp_path: Path) -> None:
    made, recorded = gateway(tmp_path, fetch)
    observation = act(made, "fetch")
    assert observation.failed
    assert "denied: network leaves the workspace" in observation.text
    assert recorded.lines == ["action fetch network", "decision deny by policy", "observation fetch failed"]


def test_a_person_who_is_asked_decides(tmp_path: Path) -> None:
    yes = Says(Decision(verdict="allow", reason="fine"))
    made, recorded = gateway(tmp_path, fetch, approval=Approval.ASK, approver=yes)
    assert act(made, "fetch").text == "fetched"
    assert yes.asked == ["fetch: network leaves the workspace"]
    assert "decision allow by person" in recorded.lines
    no = Says(Decision(verdict="deny", reason="not today"))
    made, _ = gateway(tmp_path, fetch, approval=Approval.ASK, approver=no)
    assert "denied: not today" in act(made, "fetch").text


def test_nothing_is_written_in_read_only_mode(tmp_path: Path) -> None:
    made, _ = gateway(tmp_path, write, mode=Mode.READ_ONLY)
    assert "denied" in act(made, "write", path="a.txt", content="x").text
    assert list((tmp_path / "root").iterdir()) == []


def test_a_snapshot_is_taken_before_the_first_write_and_only_when_something_changed(tmp_path: Path) -> None:
    made, recorded = gateway(tmp_path, write, mode=Mode.FULL)
    act(made, "write", path="a.txt", content="one")
    act(made, "write", path="b.txt", content="two")
    assert recorded.lines == [
        "action write write", "snapshot before", "observation write", "snapshot after",
        "action write write", "observation write", "snapshot after",
    ]  # fmt: skip


@pytest.mark.slow
def test_what_a_command_changed_is_known_with_its_content_before(tmp_path: Path) -> None:
    made, _ = gateway(tmp_path, shell, mode=Mode.FULL)
    (tmp_path / "root/kept.txt").write_text("same")
    (tmp_path / "root/old.txt").write_text("before")
    observation = act(made, "shell", command="echo new > new.txt; echo after > old.txt; true")
    assert observation.data["changed"] == ["new.txt", "old.txt"]
    assert made.workspace.changes.originals == {"new.txt": None, "old.txt": b"before"}
    assert "changed" not in act(made, "shell", command="true").data


def test_a_command_that_could_not_be_followed_does_not_stand_in_a_commits_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    @tool("git")
    async def commit(*, at: Workspace) -> Observation:
        """Commit."""
        return Observation(text="committed")

    made, _ = gateway(tmp_path, shell, commit, mode=Mode.FULL)
    assert made.snapshots is not None
    take, takes = made.snapshots.take, count(1)

    def fails_once() -> str:
        if next(takes) == 2:
            raise UserError(Fault.READ_ONLY, "the folder cannot be read")
        return take()

    monkeypatch.setattr(made.snapshots, "take", fails_once)
    assert "cannot be read" in act(made, "shell", command="true").text
    assert act(made, "commit").text == "committed"


def test_a_full_disk_ends_the_batch_and_every_action_is_answered(tmp_path: Path) -> None:
    @tool("none")
    async def fill(*, at: Workspace) -> Observation:
        """Fill the disk."""
        raise UserError(Fault.STORAGE_FULL, "no space left")

    made, recorded = gateway(tmp_path, fill, fetch, mode=Mode.FULL)
    actions = [Action(id=str(i), tool=name, arguments={}) for i, name in enumerate(["fill", "fetch"])]
    with pytest.raises(UserError) as raised:
        asyncio.run(made.run(actions))
    assert raised.value.fault is Fault.STORAGE_FULL
    assert [line for line in recorded.lines if line.startswith("observation")] == [
        "observation fill failed",
        "observation fetch failed",
    ]


GUARDED = (".github/workflows/ci.yml", ".vscode/tasks.json", "sub/.vscode/settings.json", ".envrc", ".husky/pre-commit",
           "shop.code-workspace", ".GitHub/x", "packages/a/.npmrc", ".bashrc",
           "patchwright.toml", "link/ci.yml")  # fmt: skip


@pytest.mark.parametrize("path", GUARDED)
def test_an_edit_of_what_others_act_on_is_asked_about(tmp_path: Path, path: str) -> None:
    (tmp_path / "root" / ".github").mkdir(parents=True)
    (tmp_path / "root" / "link").symlink_to(".github")
    action = Action(id="1", tool="write", arguments={"path": path, "content": "x"})

    person = Says(Decision(verdict="deny", reason="no"))
    asked, _ = gateway(tmp_path, write, approval=Approval.AUTO, approver=person)
    assert asyncio.run(asked.run([action]))[0].failed
    assert len(person.asked) == 1
    assert "act on" in person.asked[0]

    alone, recorded = gateway(tmp_path, write)
    (refused,) = asyncio.run(alone.run([action]))
    assert "nobody can be asked" in refused.text
    assert "edit(.github/**)" in refused.text
    assert "decision deny by policy" in recorded.lines
    assert not (tmp_path / "root" / path).exists()


def test_a_rule_allows_edits_of_what_others_act_on(tmp_path: Path) -> None:
    ruled, _ = gateway(tmp_path, write)
    ruled.policy.rules = Rules((parse_rule("edit(.github/**)", "allow"),))
    paths = (".github/workflows/ci.yml", ".vscode/tasks.json")
    actions = [Action(id=each, tool="write", arguments={"path": each, "content": "x"}) for each in paths]
    assert [each.failed for each in asyncio.run(ruled.run(actions))] == [False, True]


@pytest.mark.parametrize(
    "path", ["src/github.py", "docs/.vscodeignore", "npmrc", "hooks/pre-commit.py", "a.code"]
)
def test_an_edit_of_anything_else_is_not(tmp_path: Path, path: str) -> None:
    free, _ = gateway(tmp_path, write)
    action = Action(id="1", tool="write", arguments={"path": path, "content": "x"})
    assert not asyncio.run(free.run([action]))[0].failed


def test_actions_that_run_at_once_are_asked_about_in_their_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also when what is asked about the first of them is found last, and when one before them is no call at all."""
    asked: list[str] = []

    class Person(Says):
        async def ask(self, tool: str, effect: Effect, question: Decision) -> Decision:
            asked.extend(effect.paths)
            return await super().ask(tool, effect, question)

    person = Person(Decision(verdict="allow", reason="fine"))
    made, _ = gateway(tmp_path, read, approval=Approval.ASK, approver=person)
    made.policy.rules = Rules((parse_rule("read(*.py)", "ask"),))
    judge = made._judge

    def slow(action: Action, effect: Effect) -> Decision:
        time.sleep(0.3 - 0.1 * int(action.id))
        return judge(action, effect)

    monkeypatch.setattr(made, "_judge", slow)
    names = ["a.py", "b.py", "c.py"]
    for name in names:
        (tmp_path / "root" / name).write_text("x\n")
    calls = [
        Action(id=f"{number}", tool="read", arguments={"path": name}) for number, name in enumerate(names)
    ]
    wrong = Action(id="9", tool="read", arguments={"pth": 1})
    asyncio.run(asyncio.wait_for(made.run([wrong, *calls]), 60))
    assert [Path(each).name for each in asked] == names


def test_a_question_shows_the_diff_of_the_very_call_it_is_about(tmp_path: Path) -> None:
    changes: list[str] = []

    class Person(Says):
        async def ask(self, tool: str, effect: Effect, question: Decision) -> Decision:
            changes.append(effect.change)
            return await super().ask(tool, effect, question)

    person = Person(Decision(verdict="allow", reason="fine"))
    made, _ = gateway(tmp_path, write, approval=Approval.ASK, approver=person)
    made.policy.rules = Rules((parse_rule("edit(*.py)", "ask"),))
    calls = [
        Action(id=text, tool="write", arguments={"path": "a.py", "content": f"{text}\n"})
        for text in ("one", "two")
    ]
    asyncio.run(asyncio.wait_for(made.run(calls), 60))
    assert [each.split("@@\n")[-1] for each in changes] == ["+one\n", "-one\n+two\n"]


@pytest.mark.parametrize("times", [1, 9])
def test_what_is_approved_is_what_was_shown_also_if_the_file_changes_meanwhile(
    times: int, tmp_path: Path
) -> None:
    changes: list[str] = []

    class Person(Says):
        async def ask(self, tool: str, effect: Effect, question: Decision) -> Decision:
            changes.append(effect.change.split("@@\n")[-1])
            if len(changes) <= times:
                (tmp_path / "root/a.py").write_text(f"other {len(changes)}\n")
            return await super().ask(tool, effect, question)

    person = Person(Decision(verdict="allow", reason="fine"))
    made, _ = gateway(tmp_path, write, approval=Approval.ASK, approver=person)
    made.policy.rules = Rules((parse_rule("edit(*.py)", "ask"),))
    action = Action(id="1", tool="write", arguments={"path": "a.py", "content": "new\n"})
    [done] = asyncio.run(asyncio.wait_for(made.run([action]), 60))
    assert changes == ["+new\n", *(f"-other {n}\n+new\n" for n in range(1, min(times + 1, 3)))]
    assert done.failed
    assert ("again and again" in done.text) == (times > 1)


def test_an_interrupt_while_the_last_snapshot_is_taken_harms_no_later_action(tmp_path: Path) -> None:
    root = tmp_path / "project"
    root.mkdir()
    snapshots, recorded = Snapshots(root, tmp_path / "snapshots"), Recorded()
    spans = SnapshotSpans(workspace(root, tmp_path), recorded)

    async def act() -> None:
        await spans.begin(Span(), snapshots)
        (root / "a.py").write_text("half\n")
        with snapshots._turn:  # as if the snapshot took long
            await spans.end_interrupted(snapshots)
            action = asyncio.create_task(spans.begin(Span(), snapshots))
            await asyncio.sleep(0.05)
            action.cancel()
            with pytest.raises(asyncio.CancelledError):
                await action
        await spans.begin(Span(), snapshots)

    asyncio.run(act())
    assert recorded.lines == ["snapshot before", "snapshot after"]
    snapshots.close()
