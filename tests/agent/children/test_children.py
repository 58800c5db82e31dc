"""Child sessions: real sessions with their own logs, started and bounded by another one."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from textwrap import dedent

import pytest
from typer.testing import CliRunner

from agent.app_dirs import Home
from agent.assemble import assemble_runtime
from agent.budget.purse import Amount
from agent.children.children import MOST_DEPTH, Children
from agent.children.spec import ChildResult, ChildSpec
from agent.children.unfinished import list_unfinished_children, read_cut_off_notice
from agent.events import ChildEvent, ChildProgress, Event, SessionStart, Signal
from agent.exit_codes import Exit
from agent.model.model_settings import CatalogSettings, ModelSettings
from agent.session.log import read_events
from agent.session_request import SessionRequest
from agent.session_settings import LimitSettings, SessionSettings
from agent.turn.runtime import Runtime
from cli.app import app
from sandbox.errors import Fault, UserError
from sandbox.policy.decision import Approval, Mode
from sandbox.policy.rules import Rules, parse_rule
from tests.support.child_sessions import Says, play, settings_for
from tests.support.cli import CHECKOUT, call, git, script

pytestmark = pytest.mark.slow


WRITE = {"calls": [call("write", path="made.txt", content="made\n")]}


def test_a_child_reports_and_its_log_names_its_parent(
    shop: Path, tmp_path: Path, parent: SessionSettings
) -> None:
    look = script(tmp_path, [{"calls": [call("read", path="cart.py")]}, {"text": "total is 0"}])

    async def story(runtime: Runtime, children: Children) -> None:
        seen: list[Event] = []
        runtime.session.subscribe(seen.append)
        result = await children.run(
            ChildSpec(prompt="what is total?", model=look, instructions="Answer briefly.")
        )
        assert (result.succeeded, result.report, result.patch) == (True, "total is 0", b"")
        log = list(read_events(runtime.session.folder.parent / result.child))
        assert isinstance(log[0], SessionStart)
        assert (log[0].started_by, log[0].mode) == (runtime.session.id, "read-only")
        assert log[0].system.endswith("# Your part\n\nAnswer briefly.\n")
        own = [each for each in read_events(runtime.session.folder) if isinstance(each, ChildEvent)]
        assert [(each.state, each.child, each.outcome) for each in own] == [
            ("started", result.child, ""),
            ("ended", result.child, "done"),
        ]
        passed_on = [each for each in seen if isinstance(each, ChildProgress)]
        assert {each.child for each in passed_on} == {result.child}
        assert [each.event["kind"] for each in passed_on if each.event["kind"] == "observation"]
        assert not any(isinstance(each, ChildProgress) for each in read_events(runtime.session.folder))

    play(shop, parent, story)


def test_a_child_is_asked_again_and_remembers(shop: Path, tmp_path: Path, parent: SessionSettings) -> None:
    model = script(tmp_path, [{"text": "one"}, {"text": "two", "expect": ["second"]}])

    async def story(runtime: Runtime, children: Children) -> list[str]:
        async with await children.start(ChildSpec(prompt="first", model=model)) as child:
            reports = [(await child.run()).report, (await child.ask("second")).report]
            sent = child.runtime.projection.build_request().messages
            assert [each.text for each in sent[:3]] == ["first", "one", "second"]
            return reports

    assert play(shop, parent, story) == ["one", "two"]


def test_a_child_in_a_worktree_returns_a_patch_and_leaves_nothing(
    shop: Path, tmp_path: Path, parent: SessionSettings
) -> None:
    model = script(tmp_path, [WRITE, {"text": "made it"}])
    (shop / "cart.py").write_text("total = 1  # not committed\n")

    async def story(runtime: Runtime, children: Children) -> ChildResult:
        specs = [ChildSpec(prompt=f"make it {n}", model=model, place="worktree") for n in range(3)]
        results = await asyncio.gather(*map(children.run, specs))
        assert len({each.child for each in results}) == 3
        ended = [each for each in read_events(runtime.session.folder) if isinstance(each, ChildEvent)]
        assert all(
            runtime.workspace.artifacts.find_file(each.patch) for each in ended if each.state == "ended"
        )
        return results[0]

    result = play(shop, parent, story)
    assert b"+made" in result.patch
    assert b"not committed" not in result.patch, "the patch is relative to the parent's files"
    assert not (shop / "made.txt").exists()
    assert git(shop, "worktree", "list").count("\n") == 1
    subprocess.run(["git", "apply", "-"], cwd=shop, input=result.patch, check=True)
    assert (shop / "made.txt").read_text() == "made\n"


def test_the_lease_is_held_by_one_child_at_a_time(
    shop: Path, tmp_path: Path, parent: SessionSettings
) -> None:
    model = script(
        tmp_path,
        [
            {"calls": [call("shell", command="test ! -e busy && touch busy && sleep 0.2 && rm busy")]},
            {"text": "done", "expect": ["exit 0"]},
        ],
    )

    async def story(runtime: Runtime, children: Children) -> list[ChildResult]:
        specs = [ChildSpec(prompt="work", model=model, place="lease") for _ in range(3)]
        return await asyncio.gather(*map(children.run, specs))

    assert [each.report for each in play(shop, parent, story)] == ["done"] * 3


def test_the_parents_user_is_asked_for_a_child(shop: Path, tmp_path: Path, parent: SessionSettings) -> None:
    model = script(tmp_path, [{"calls": [call("write", path=".envrc", content="x")]}, {"text": "tried"}])
    approver = Says("deny")
    asking = replace(parent, access=replace(parent.access, approval=Approval.ASK))

    async def story(runtime: Runtime, children: Children) -> ChildResult:
        return await children.run(ChildSpec(prompt="set up the environment", model=model, place="lease"))

    play(shop, asking, story, approver=approver)
    assert len(approver.asked) == 1
    assert approver.asked[0].startswith("child session (set up the environment): ")
    assert not (shop / ".envrc").exists()


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        (ChildSpec(prompt="x", place="lease", mode=Mode.FULL), "cannot work in mode full"),
        (ChildSpec(prompt="x", place="worktree", mode=Mode.FULL), "cannot work in mode full"),
        (ChildSpec(prompt="x", tools=["read", "no_such"]), "tools that its parent has not: no_such"),
    ],
)
def test_a_child_gets_no_more_than_its_parent_has(
    shop: Path, parent: SessionSettings, spec: ChildSpec, words: str
) -> None:
    async def story(runtime: Runtime, children: Children) -> None:
        with pytest.raises(UserError, match=words) as refused:
            await children.start(spec)
        assert refused.value.fault is Fault.DENIED
        assert children.open_children == []

    play(shop, parent, story)


def test_a_read_only_parent_has_read_only_children(
    shop: Path, tmp_path: Path, parent: SessionSettings
) -> None:
    model = script(tmp_path, [WRITE, {"text": "no", "expect": ["there is no tool 'write'"]}])
    bound = replace(parent, access=replace(parent.access, mode=Mode.READ_ONLY))

    async def story(runtime: Runtime, children: Children) -> None:
        for place in ("lease", "worktree"):
            with pytest.raises(UserError, match="cannot work in mode workspace"):
                await children.start(ChildSpec(prompt="x", mode=Mode.WORKSPACE, place=place))
        result = await children.run(ChildSpec(prompt="x", model=model, place="lease"))
        assert result.report == "no"

    play(shop, bound, story)
    assert not (shop / "made.txt").exists()


def test_the_parents_rules_and_present_mode_hold_for_its_children(
    shop: Path, tmp_path: Path, parent: SessionSettings
) -> None:
    (shop / "key.txt").write_text("precious")
    model = script(
        tmp_path,
        [{"calls": [call("read", path="key.txt"), call("shell", command="cat key.txt")]}, {"text": "tried"}],
    )
    rules = Rules((parse_rule("read(./key.txt)", "deny"),))
    bound = replace(parent, access=replace(parent.access, rules=rules, sandbox="auto"))

    async def story(runtime: Runtime, children: Children) -> str:
        result = await children.run(ChildSpec(prompt="x", model=model, place="lease"))
        return (runtime.session.folder.parent / result.child / "log.jsonl").read_text()

    log = play(shop, bound, story)
    assert "precious" not in log


def test_tools_that_are_not_listed_do_not_exist_for_a_child(
    shop: Path, tmp_path: Path, parent: SessionSettings
) -> None:
    model = script(
        tmp_path,
        [
            {"calls": [call("shell", command="echo hi > made.txt")]},
            {
                "calls": [call("python", code="print(shell(command='echo hi > made.txt'))")],
                "expect": ["there is no tool 'shell'"],
            },
            {"text": "no", "expect": ["there is no tool 'python'"]},
        ],
    )

    async def story(runtime: Runtime, children: Children) -> ChildResult:
        spec = ChildSpec(prompt="x", model=model, place="lease", tools=["read", "search"])
        async with await children.start(spec) as child:
            assert {"read", "search"} <= {tool.name for tool in child.runtime.toolbox}
            return await child.run()

    assert play(shop, parent, story).report == "no"
    assert not (shop / "made.txt").exists()


def test_depth_is_bounded(shop: Path, tmp_path: Path, parent: SessionSettings) -> None:
    async def story(runtime: Runtime, children: Children) -> None:
        opened = [children]
        for _ in range(MOST_DEPTH):
            child = await opened[-1].start(ChildSpec(prompt="x"))
            opened.append(Children(child.runtime))
        with pytest.raises(UserError, match="starts no child"):
            await opened[-1].start(ChildSpec(prompt="x"))
        for each in reversed(opened):
            await each.close()

    play(shop, parent, story)


def test_children_spend_their_parents_budget(shop: Path, tmp_path: Path) -> None:
    priced = {"scripted": CatalogSettings(window=100_000, input=1.0, output=1.0)}
    step = {"calls": [call("list")], "usage": {"input": 1_000, "output": 10, "cost": 0.04}, "repeat": 30}
    model = script(tmp_path, [step], "child.json")
    settings = replace(
        settings_for(script(tmp_path, [{"text": "hi"}], "parent.json")),
        limits=LimitSettings(max_cost=0.5),
        models=ModelSettings(catalog=priced),
    )

    async def story(runtime: Runtime, children: Children) -> Sequence[ChildResult]:
        specs = [ChildSpec(prompt="x", model=model) for _ in range(4)]
        specs.append(ChildSpec(prompt="x", model=model, share=Amount(dollars=0.1)))
        results = await asyncio.gather(*map(children.run, specs))
        assert all(each.exit_code == Exit.LIMIT for each in results)
        assert (results[-1].usage["cost"] or 0) <= 0.1 + 1e-9
        total = runtime.purse.tally.usage.cost or 0.0
        assert total == pytest.approx(sum(each.usage["cost"] or 0 for each in results))
        assert 0.3 < total <= 0.5 + 1e-9
        return results

    play(shop, settings, story)


def test_cancelling_the_parents_wait_ends_the_child(
    shop: Path, tmp_path: Path, parent: SessionSettings
) -> None:
    model = script(tmp_path, [{"calls": [call("shell", command="touch began; sleep 30; touch ended")]}])

    async def story(runtime: Runtime, children: Children) -> str:
        child = await children.start(ChildSpec(prompt="x", model=model, place="lease"))
        waiting = asyncio.create_task(child.run())
        while not (shop / "began").exists():
            await asyncio.sleep(0.02)
        started = time.monotonic()
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await child.close()
        assert time.monotonic() - started < 8
        return child.id

    child = play(shop, parent, story)
    assert not (shop / "ended").exists()
    sessions = Home.from_environment().get_project_folder(shop) / "sessions"
    assert [each for each in read_events(sessions / child) if each.kind == "end"]


def test_a_second_cancellation_loses_no_end_of_a_child(
    shop: Path, tmp_path: Path, parent: SessionSettings
) -> None:
    model = script(tmp_path, [{"calls": [call("shell", command="touch begun; sleep 30")]}])

    async def story(runtime: Runtime, children: Children) -> None:
        child = await children.start(ChildSpec(prompt="x", model=model, place="lease"))
        waiting = asyncio.create_task(child.run())
        while not (shop / "begun").exists():
            await asyncio.sleep(0.02)
        for _ in range(2):
            waiting.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await child.close()
        logged = [each for each in read_events(runtime.session.folder) if isinstance(each, ChildEvent)]
        assert [each.outcome for each in logged if each.state == "ended"] == ["interrupted"]
        ended = [each.kind for each in read_events(runtime.session.folder.parent / child.id)]
        assert ended[-1] == "end"

    play(shop, parent, story)


def test_a_killed_parent_leaves_whole_logs_and_finds_its_children(shop: Path, tmp_path: Path) -> None:
    """kill -9 amid an action of a child: nothing is repeated silently when both are opened again."""
    child = script(
        tmp_path,
        [{"calls": [call("shell", command="echo x >> count; touch began; sleep 30")]}, {"text": "went on"}],
        "child.json",
    )
    parent = settings_for(script(tmp_path, [{"text": "hello"}], "parent.json"))
    program = f"""
        import asyncio
        from pathlib import Path
        from agent.app_dirs import Home
        from agent.assemble import assemble_runtime
        from agent.children.children import Children
        from agent.children.spec import ChildSpec
        from agent.session_request import SessionRequest
        from agent.session_settings import SessionSettings
        from sandbox.access_settings import AccessSettings
        from sandbox.policy.decision import Approval

        async def run():
            home = Home.from_environment()
            settings = SessionSettings(
                model={parent.model!r}, access=AccessSettings(approval=Approval.NEVER, sandbox="unconfined")
            )
            runtime = assemble_runtime(settings, SessionRequest(working=Path({str(shop)!r})), home)
            children = Children(runtime)
            print(runtime.session.id, flush=True)
            await children.run(ChildSpec(prompt="work", model={child!r}, place="lease"))

        asyncio.run(run())
    """
    with subprocess.Popen(
        [sys.executable, "-c", dedent(program)], cwd=CHECKOUT, stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        assert process.stdout is not None
        session = process.stdout.readline().decode().strip()
        deadline = time.monotonic() + 60
        while not (shop / "began").exists():
            assert time.monotonic() < deadline
            time.sleep(0.02)
        os.killpg(process.pid, signal.SIGKILL)

    async def story(runtime: Runtime, children: Children) -> None:
        (unfinished,) = [each.child for each in list_unfinished_children(runtime.session)]
        told = [each.detail for each in runtime.session.replayed.select_events(Signal)]
        assert told == [
            f"cut off with this session: child {unfinished} (work), after 1 step, during shell,"
            " which may have taken effect"
        ]
        assert read_cut_off_notice(runtime.session) == told[0]
        log = list(read_events(runtime.session.folder.parent / unfinished))
        assert "end" not in {each.kind for each in log}
        home = Home.from_environment()
        again = assemble_runtime(settings_for(child), SessionRequest(working=shop, session=unfinished), home)
        texts = [each.text for each in again.session.replayed if each.kind == "observation"]  # type: ignore[attr-defined]
        assert any("interrupted" in each and "may have taken effect" in each for each in texts)
        await again.close()

    play(shop, parent, story, session=session)

    async def tell(runtime: Runtime, children: Children) -> list[str]:
        return [each.detail for each in runtime.session.replayed.select_events(Signal)]

    assert len(play(shop, parent, tell, session=session)) == 2, (
        "one more, since the child was opened meanwhile"
    )
    assert len(play(shop, parent, tell, session=session)) == 2
    resumed = CliRunner().invoke(app, ["resume", session, "-p", "go on", "-C", str(shop), "--no-commit"])
    assert "cut off with this session: child " in resumed.stderr
    assert (shop / "count").read_text() == "x\n"


def test_a_cancellation_while_children_end_leaves_no_worktree(shop: Path, parent: SessionSettings) -> None:
    """All end at once, one worktree is removed after the other, and none of it is cut off."""
    spec = ChildSpec(prompt="work", place="worktree")

    async def story(runtime: Runtime, children: Children) -> None:
        begun = [await children.start(spec) for _ in range(6)]
        ending = [asyncio.ensure_future(each.close()) for each in begun]
        await asyncio.sleep(0.05)
        for each in ending:
            each.cancel()
        await asyncio.wait(ending)
        assert list((Home.from_environment().cache / "worktrees").glob("patchwright-*")) == []
        assert children.open_children == []
        assert runtime.running_children == {}

    play(shop, parent, story)
    assert git(shop, "worktree", "list").count("\n") == 1
