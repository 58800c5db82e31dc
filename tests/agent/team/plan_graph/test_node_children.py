"""A plan carried out by child sessions: written in worktrees, merged, its evidence executed, shown in the ledger."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agent.children.children import Children
from agent.context.ledger.session_facts import Facts
from agent.events import Signal
from agent.session.log import read_events
from agent.session_settings import SessionSettings
from agent.team.plan_graph.node_children import carry_out_plan
from agent.team.plan_graph.nodes import PlanNode, PlanState
from agent.team.plan_graph.team_size import TeamSize, estimate_team_size
from agent.turn.runtime import Runtime
from sandbox.errors import UserError
from tests.support.child_sessions import play, settings_for
from tests.support.cli import call, git, script
from tools.code.index.code_index import Index

pytestmark = pytest.mark.slow

PAIR = TeamSize(children=2, edges=0, reason="2 children: two files")


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "cart.py").write_text("total = 1\n")
    (folder / "mail.py").write_text("sender = 1\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "Start")
    return folder


def writes(tmp_path: Path, path: str, number: int) -> str:
    return script(
        tmp_path,
        [{"calls": [call("edit", path=path, old="1", new=str(number))]}, {"text": f"{path} is written"}],
        f"{path}-{number}.json",
    )


def test_nodes_are_merged_checked_and_a_failed_one_is_replanned_alone(shop: Path, tmp_path: Path) -> None:
    right = writes(tmp_path, "mail.py", 22)
    again = {
        "id": "mail2",
        "task": "set the sender",
        "place": "write",
        "model": right,
        "command": "grep -q 22 mail.py",
    }
    parent = settings_for(script(tmp_path, [{"text": f"Other way:\n{json.dumps([again])}"}], "parent.json"))
    nodes = [
        PlanNode(id="cart", task="Set the total", place="write", model=writes(tmp_path, "cart.py", 2),
                 command="grep -q 2 cart.py"),
        PlanNode(id="mail", task="Set the sender to 22", place="write",
                 model=writes(tmp_path, "mail.py", 3), command="grep -q 22 mail.py"),
        PlanNode(id="sum", task="Say what changed", needs=("cart", "mail"), evidence="a report", tools=("read",),
                 model=script(tmp_path, [{"text": "both", "expect": ["Result of cart:\ncart.py is written",
                                                                     "Result of mail2:"]}], "sum.json")),
    ]  # fmt: skip

    async def story(runtime: Runtime, children: Children) -> None:
        state: PlanState = await carry_out_plan(runtime, children, nodes, size=PAIR)
        assert state.succeeded, state
        assert state.status["mail"] == "replaced"
        assert (shop / "cart.py").read_text() == "total = 2\n"
        assert (shop / "mail.py").read_text() == "sender = 22\n"
        facts = Facts()
        events = list(read_events(runtime.session.folder))
        for event in events:
            facts.handle_event(event)
        assert [status for _, status in facts.plan] == ["done"] * 3, facts.plan
        assert [each.detail for each in events if isinstance(each, Signal) and each.name == "team-size"] == [
            "2 children: two files"
        ]

    play(shop, parent, story)
    assert git(shop, "worktree", "list").count("\n") == 1


def test_a_plan_with_problems_is_refused_before_any_work(shop: Path, tmp_path: Path) -> None:
    parent: SessionSettings = settings_for(script(tmp_path, [{"text": "hello"}], "parent.json"))
    nodes = [PlanNode(id="a", task="Deploy it", tools=("deploy",), evidence="it runs")]

    async def story(runtime: Runtime, children: Children) -> None:
        with pytest.raises(UserError, match="a: no tool at hand: deploy; no node covers 'tests'"):
            await carry_out_plan(runtime, children, nodes, size=PAIR, requirements=["tests"])
        assert not [each for each in read_events(runtime.session.folder) if each.kind == "child"]

    play(shop, parent, story)


def test_the_size_of_a_team_comes_from_the_code(shop: Path) -> None:
    with Index(shop, None) as index:
        index.refresh()
        size = estimate_team_size(index, "the total in cart.py is wrong")
    assert size.children == 1
    assert size.reason.startswith("single: ")
