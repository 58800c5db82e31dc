"""Children on the nodes of a cluster: like any other child, within their parent's rights, and ended with their node."""

from __future__ import annotations

import asyncio
import os
import signal
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.app_dirs import Home
from agent.children.children import Children
from agent.children.executor import CRASHED
from agent.children.spec import ChildSpec
from agent.events import AttemptEvent, ChildProgress, Event, ObservationEvent, SessionStart
from agent.exit_codes import Exit
from agent.session.log import read_events
from agent.session_settings import LimitSettings, SessionSettings, StrategySettings
from agent.turn.runtime import Runtime
from packages.scale.children.remote_executor import connect_cluster
from packages.scale.cluster.node import PASSED_ON
from sandbox.errors import UserError
from sandbox.policy.decision import Approval, Mode
from tests.support.child_sessions import Says
from tests.support.cli import call, git, script
from tests.support.ray_cluster import list_descendants, read_command, start_cluster
from tests.support.sessions import play_session
from tests.support.strategy_stories import Story, tell_story

pytestmark = [pytest.mark.slow, pytest.mark.timeout(300)]

pytest.importorskip("ray", reason="Ray has no package for this Python")

USAGE = {"input": 1_000, "output": 10, "cost": 0.04}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Two nodes with two CPUs each; their home is a folder of the tests."""
    home = tmp_path_factory.mktemp("home")
    with start_cluster({"PATCHWRIGHT_HOME": str(home)}) as started:
        started.home = home
        yield started


@pytest.fixture(autouse=True)
def own_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATCHWRIGHT_HOME", str(tmp_path / "home"))


def play_remote(
    cluster: Any,
    shop: Path,
    settings: SessionSettings,
    story: Callable[[Runtime, Children], Awaitable[None]],
    **request: Any,
) -> None:
    """Open a session that has joined the cluster, tell the story, close both."""

    async def run(runtime: Runtime) -> None:
        home, env = Home.from_environment(), {"NAMED": "yes", "OTHER": "no"}
        async with connect_cluster(cluster.address, ["NAMED"], env, "unconfined", home) as executor:
            assert executor.slots == 4
            async with Children.open(runtime, {"remote": executor}) as children:
                await story(runtime, children)

    play_session(shop, settings, run, **request)
    assert git(shop, "worktree", "list").count("\n") == 1
    assert [each for each in (cluster.home / "cache/evaluation/ray").rglob("*") if each.is_file()] == []


def find_child_actors() -> list[int]:
    return [each for each in list_descendants() if read_command(each).startswith(b"ray::ChildActor")]


def test_a_remote_child_is_a_child_like_any_other(
    cluster: Any, shop: Path, tmp_path: Path, parent: SessionSettings
) -> None:
    show = "pwd; git log --oneline | wc -l"
    model = script(
        tmp_path,
        [
            {"calls": [call("write", path=".envrc", content="x\n")], "usage": USAGE},
            {"calls": [call("shell", command=show)], "usage": USAGE},
            {"text": "one", "usage": USAGE},
            {
                "calls": [call("write", path="new/more.py", content="more = 1\n")],
                "expect": ["second"],
                "usage": USAGE,
            },
            {"text": "two", "usage": USAGE},
        ],
    )
    (shop / "cart.py").write_text("total = 1\n")  # not committed, and a part of what children begin with
    approver = Says("allow")
    asking = replace(parent, access=replace(parent.access, approval=Approval.ASK))

    async def story(runtime: Runtime, children: Children) -> None:
        seen: list[Event] = []
        runtime.session.subscribe(seen.append)
        spec = ChildSpec(prompt="first", model=model, place="worktree", runs="remote")
        async with await children.start(spec) as child:
            for each in [each for each in list_descendants() if b"process.entry" in read_command(each)]:
                variables = Path(f"/proc/{each}/environ").read_bytes().split(b"\0")
                names = {line.partition(b"=")[0].decode() for line in variables if line}
                assert "NAMED" in names
                assert names <= {"NAMED", *PASSED_ON}
            first, second = await child.run(), await child.ask("second")
            assert (child.place.folder / "new/more.py").read_text() == "more = 1\n"
        assert (first.report, second.report) == ("one", "two")
        assert b".envrc" in first.patch
        assert b"more.py" not in first.patch
        assert b"more.py" in second.patch
        assert b"total" not in second.patch
        assert approver.asked[0].startswith("child session (first): ")
        log = list(read_events(runtime.session.folder.parent / child.id))
        assert isinstance(log[0], SessionStart)
        assert log[0].started_by == runtime.session.id
        shown = [each.text for each in log if isinstance(each, ObservationEvent) and each.tool == "shell"]
        assert str(cluster.home) in shown[0]
        assert shown[0].split()[-1] == "1"
        passed_on = [each for each in seen if isinstance(each, ChildProgress)]
        assert {each.child for each in passed_on} == {child.id}
        tally = runtime.purse.tally
        assert (tally.steps_below, tally.usage.input) == (5, 5_000)
        assert tally.usage.cost == pytest.approx(0.2)

    play_remote(cluster, shop, asking, story, approver=approver)


def test_a_child_ends_with_its_node_its_parent_s_wish_and_its_budget(
    cluster: Any, shop: Path, tmp_path: Path, parent: SessionSettings
) -> None:
    sleeping = script(
        tmp_path, [{"calls": [call("shell", command="sleep 77.5")], "usage": USAGE}], "sleeping.json"
    )
    spending = script(tmp_path, [{"calls": [call("list")], "usage": USAGE, "repeat": 9}], "spending.json")
    limited = replace(parent, limits=LimitSettings(max_cost=0.3))

    async def story(runtime: Runtime, children: Children) -> None:
        begun = asyncio.Event()

        def follow(event: Event) -> None:
            if isinstance(event, ChildProgress) and event.event["kind"] == "action":
                begun.set()

        runtime.session.subscribe(follow)
        spec = ChildSpec(prompt="sleep", model=sleeping, place="worktree", runs="remote")
        async with await children.start(spec) as child:
            running = asyncio.create_task(child.run())
            await begun.wait()
            for each in find_child_actors():
                os.kill(each, signal.SIGKILL)
            result = await running
        assert (result.outcome, result.exit_code) == (CRASHED, Exit.INTERNAL)
        assert "went with its node" in result.report
        kinds = [each.kind for each in read_events(runtime.session.folder.parent / child.id)]
        assert kinds[0] == "session"
        assert "action" in kinds
        assert runtime.purse.tally.usage.cost == pytest.approx(0.04)
        with pytest.raises(UserError, match="works in a worktree"):
            await children.start(replace(spec, place="read-only"))
        with pytest.raises(UserError, match="cannot work in mode full"):
            await children.start(replace(spec, mode=Mode.FULL))
        begun.clear()
        async with await children.start(spec) as child:
            running = asyncio.create_task(child.run())
            await begun.wait()
            child.cancel()
            assert (await running).exit_code == Exit.INTERRUPTED
        async with await children.start(replace(spec, model=spending)) as child:
            result = await child.run()
        assert "$" in result.report
        assert runtime.purse.tally.usage.cost <= 0.3

    play_remote(cluster, shop, limited, story)
    assert not any(b"sleep\x0077.5" in read_command(each) for each in list_descendants())


def test_attempts_are_made_on_the_cluster_and_the_best_is_applied(cluster: Any, tmp_path: Path) -> None:
    story = Story.create(tmp_path)
    fix = call("edit", path="cart.py", old="-sum", new="sum")
    model = script(tmp_path, [{"calls": [fix]}, {"text": "Mended."}])
    settings = StrategySettings(name="sample", attempts=3, ray=cluster.address)
    end = tell_story(story, model, settings)
    assert end.exit_code == Exit.DONE
    assert "return sum" in story.repo.read("cart.py")
    attempts = [each for each in read_events(story.log) if isinstance(each, AttemptEvent)]
    assert attempts
    for each in attempts:
        begun = next(iter(read_events(story.log.parent / each.child)))
        assert isinstance(begun, SessionStart)
        assert begun.project.startswith(str(cluster.home))


TWO_FAULTS = """def count(prices):
    return len(prices) - 1


def total(prices):
    return -sum(prices)
"""
TWO_TESTS = """import unittest

import cart


class Test(unittest.TestCase):
    def test_count(self):
        self.assertEqual(cart.count([1, 2]), 2)

    def test_total(self):
        self.assertEqual(cart.total([1, 2]), 3)
"""


def test_a_search_asks_models_on_the_cluster_and_puts_changes_together_here(
    cluster: Any, tmp_path: Path
) -> None:
    story = Story.create(tmp_path, {"cart.py": TWO_FAULTS, "test_cart.py": TWO_TESTS})
    edits = {"one": ("len(prices) - 1", "len(prices)"), "other": ("-sum", "sum")}
    stop = {"text": "I see no more.", "repeat": 3}
    models = [
        script(tmp_path, [{"calls": [call("edit", path="cart.py", old=old, new=new)]}, stop], f"{name}.json")
        for name, (old, new) in edits.items()
    ]
    settings = StrategySettings(name="evolve", attempts=2, models=models, ray=cluster.address)
    end = tell_story(story, models[0], settings)
    assert end.exit_code == Exit.DONE
    places = {}
    for each in read_events(story.log):
        if isinstance(each, AttemptEvent):
            begun = next(iter(read_events(story.log.parent / each.child)))
            assert isinstance(begun, SessionStart)
            places[each.number] = begun.project.startswith(str(cluster.home))
    assert places == {1: True, 2: True, 3: False}, "the last one asks no model"


def test_without_a_cluster_or_a_named_variable_nothing_starts(tmp_path: Path) -> None:
    async def connect(names: list[str], address: str = "127.0.0.1:1") -> None:
        async with connect_cluster(address, names, {}, "auto", Home.from_environment()):
            pytest.fail("connected")

    killed = tmp_path / "home/cache/remote-killed"
    killed.mkdir(parents=True)
    (killed / "parcel.tgz").write_bytes(b"left by a process that was killed")
    with pytest.raises(UserError, match="there is no variable 'KEY'"):
        asyncio.run(connect(["KEY"]))
    with pytest.raises(UserError, match=r"no Ray cluster at '127\.0\.0\.1:1'"):
        asyncio.run(connect([]))
    assert list((tmp_path / "home/cache").iterdir()) == []
