"""Children in the list of sessions, and the commands on a child's id."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from agent.app_dirs import Home
from agent.children.children import Children
from agent.children.spec import ChildSpec
from agent.session.session_index import load_session_summaries
from agent.session.session_tree import arrange_tree
from agent.turn.runtime import Runtime
from cli.app import app
from tests.support.child_sessions import play, settings_for
from tests.support.cli import call, git, script

pytestmark = pytest.mark.slow


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    folder = tmp_path / "shop"
    folder.mkdir()
    git(folder, "init", "-q")
    (folder / "cart.py").write_text("total = 0\n")
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "Start")
    return folder


@pytest.fixture
def family(shop: Path, tmp_path: Path) -> dict[str, str]:
    """A session, its children in each place, and a child of the second: their ids by name."""
    usage = {"input": 10, "output": 1, "cost": 0.25}
    edit = call("edit", path="cart.py", old="0", new="1")
    steps = [{"calls": [edit], "usage": usage}, {"text": "done", "usage": usage}, {"text": "again"}]
    model = script(tmp_path, steps, "child.json")
    settings = settings_for(script(tmp_path, [{"text": "hello"}], "parent.json"))
    ids: dict[str, str] = {}

    async def story(runtime: Runtime, children: Children) -> None:
        ids["parent"] = runtime.session.id
        await runtime.run_turn("build it")
        tree = ChildSpec(prompt="in a worktree", model=model, place="worktree")
        ids["worktree"] = (await children.run(tree)).child
        async with await children.start(
            ChildSpec(prompt="under a lease", model=model, place="lease")
        ) as child:
            ids["lease"] = (await child.run()).child
            async with Children.open(child.runtime) as below:
                look = ChildSpec(prompt="look", model=settings.model)
                ids["grandchild"] = (await below.run(look)).child

    play(shop, settings, story)
    return ids


def invoke(shop: Path, *arguments: str) -> Result:
    return CliRunner().invoke(app, [*arguments, "-C", str(shop)])


def test_children_are_listed_below_their_parents(shop: Path, family: dict[str, str]) -> None:
    lines = invoke(shop, "sessions").stdout.splitlines()
    assert [line.split()[0] for line in lines] == [
        family[name] for name in ("parent", "worktree", "lease", "grandchild")
    ]
    assert [len(line) - len(line.lstrip()) for line in lines] == [0, 2, 2, 4]
    assert "no-test-runner" in lines[1]
    assert "2 steps  $0.5000" in lines[1]
    listed = [json.loads(line) for line in invoke(shop, "sessions", "--json").stdout.splitlines()]
    assert {each["id"]: each["parent"] for each in listed} == {
        family["parent"]: "",
        family["worktree"]: family["parent"],
        family["lease"]: family["parent"],
        family["grandchild"]: family["lease"],
    }
    flat = invoke(shop, "sessions", "--flat").stdout.splitlines()
    assert sorted(line.split()[0] for line in flat) == sorted(family.values())
    assert not any(line.startswith(" ") for line in flat)
    # Without an id, a command takes the newest session of a person.
    assert family["parent"] in invoke(shop, "session", "export").stdout.splitlines()[0]
    # A child without its parent, and a circle, are listed once.
    found = load_session_summaries(Home.from_environment(), shop)
    orphans = [each for each in found if each.id != family["parent"]]
    assert [depth for depth, each in arrange_tree(orphans) if each.id != family["grandchild"]] == [0, 0]
    lease, grandchild = (
        next(each for each in found if each.id == family[name]) for name in ("lease", "grandchild")
    )
    circle = [replace(lease, parent=grandchild.id), grandchild]
    assert sorted(each.id for _, each in arrange_tree(circle)) == sorted(each.id for each in circle)


def test_commands_work_on_a_childs_id(shop: Path, family: dict[str, str]) -> None:
    child = family["lease"]
    assert (shop / "cart.py").read_text() == "total = 1\n"
    replayed = invoke(shop, "replay", child)
    assert replayed.exit_code == 0, replayed.output
    exported = invoke(shop, "session", "export", child)
    assert child in exported.stdout.splitlines()[0]
    undone = invoke(shop, "undo", "--session", child)
    assert undone.exit_code == 0, undone.output
    assert (shop / "cart.py").read_text() == "total = 0\n"
    resumed = invoke(shop, "resume", child, "-p", "and now?", "--no-commit", "--sandbox", "unconfined")
    assert "again" in resumed.stdout or "done" in resumed.stdout, resumed.output
    copied = invoke(shop, "session", "fork", child).stdout.strip()
    assert copied not in ("", child)
    # A child of a worktree changes no file of its parent.
    child = family["worktree"]
    assert invoke(shop, "replay", child).exit_code == 0
    assert child in invoke(shop, "session", "export", child).stdout
    before = (shop / "cart.py").read_text()
    for arguments in (["undo", "--session", child], ["resume", child, "-p", "go on"]):
        refused = invoke(shop, *arguments)
        assert refused.exit_code != 0
        assert "worked in a worktree" in str(refused.exception) + refused.output
    assert (shop / "cart.py").read_text() == before
