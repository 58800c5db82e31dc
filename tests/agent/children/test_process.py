"""Children in processes of their own, and at the far end of a socket: the same interface, a contained crash."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from agent.app_dirs import Home
from agent.children.children import Children
from agent.children.executor import CRASHED, ChildOrder
from agent.children.process import wire
from agent.children.process.line_execution import LineExecution
from agent.children.process.process_executor import PipeChannel
from agent.children.spec import ChildResult, ChildSpec
from agent.events import ChildEvent, ChildProgress, Event, ObservationEvent, SessionStart
from agent.exit_codes import Exit
from agent.session.log import INTERRUPTED, read_events
from agent.session_settings import LimitSettings, SessionSettings
from agent.team.attach import attach_team
from agent.turn.runtime import Runtime
from sandbox.errors import UserError
from sandbox.policy.decision import Approval
from tests.support.child_sessions import Says, play, settings_for
from tests.support.cli import CHECKOUT, call, git, script

pytestmark = pytest.mark.slow


def test_a_child_in_a_process_is_steered_and_stopped_by_its_name(
    shop: Path, tmp_path: Path, parent: SessionSettings
) -> None:
    model = script(
        tmp_path,
        [
            {"calls": [call("read", path="cart.py")]},
            {"calls": [call("read", path="cart.py")], "delay": 0.5},
            {"text": "Never said.", "expect": ["look at the total"], "delay": 60},
        ],
    )

    async def story(runtime: Runtime, children: Children) -> None:
        attached = attach_team(runtime, Home.from_environment())
        assert attached is not None
        team = attached.team

        def follow(event: Event) -> None:
            if not isinstance(event, ChildProgress):
                return
            if event.event["kind"] == "observation" and not team.activity.rows[event.child].steps > 1:
                team.steer("explore-1", "look at the total")
            elif event.event["kind"] == "steer":
                assert (event.event["text"], event.event["by"]) == ("look at the total", "person")
                team.stop("explore-1")

        runtime.session.subscribe(follow)
        spec = ChildSpec(prompt="look", model=model, runs="process", agent="explore")
        async with await children.start(spec) as child:
            result = await child.run()
        assert result.exit_code == Exit.INTERRUPTED
        with pytest.raises(UserError, match="no agent 'explore-1' is at work"):
            team.stop("explore-1")

    play(shop, parent, story)


def test_a_child_in_a_process_is_a_child_like_any_other(
    shop: Path, tmp_path: Path, parent: SessionSettings
) -> None:
    usage = {"input": 1_000, "output": 10, "cost": 0.04}
    model = script(
        tmp_path,
        [
            {"calls": [call("write", path=".envrc", content="x")], "usage": usage},
            {"text": "one", "usage": usage},
            {"text": "two", "expect": ["second"], "usage": usage},
        ],
    )
    approver = Says("allow")
    asking = replace(parent, access=replace(parent.access, approval=Approval.ASK))

    async def story(runtime: Runtime, children: Children) -> None:
        seen: list[Event] = []
        runtime.session.subscribe(seen.append)
        spec = ChildSpec(
            prompt="first", model=model, place="worktree", runs="process", instructions="Be brief."
        )
        async with await children.start(spec) as child:
            first, second = await child.run(), await child.ask("second")
            with pytest.raises(UserError, match="runs in another process"):
                _ = child.runtime
        assert (first.report, second.report) == ("one", "two")
        assert b".envrc" in first.patch
        assert approver.asked[0].startswith("child session (first): ")
        log = list(read_events(runtime.session.folder.parent / child.id))
        assert isinstance(log[0], SessionStart)
        assert log[0].started_by == runtime.session.id
        assert log[0].system.endswith("# Your part\n\nBe brief.\n")
        passed_on = [each for each in seen if isinstance(each, ChildProgress)]
        assert {each.child for each in passed_on} == {child.id}
        assert [each.event["kind"] for each in passed_on if each.event["kind"] == "observation"]
        tally = runtime.purse.tally
        assert (tally.steps_below, tally.usage.input) == (3, 3_000)
        assert tally.usage.cost == pytest.approx(0.12)

    play(shop, asking, story, approver=approver)
    assert git(shop, "worktree", "list").count("\n") == 1


def find_processes(word: str) -> list[int]:
    """The running processes whose command line contains a word."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            line = (folder / "cmdline").read_bytes()
            alive = (folder / "stat").read_text().rpartition(")")[2].split()[0] != "Z"
            if word.encode() in line and alive and int(folder.name) != os.getpid():
                found.append(int(folder.name))
    return found


def find_process(child: Any) -> int:
    """The process of a child."""
    channel = child._execution._channel
    assert isinstance(channel, PipeChannel)
    return channel.process.pid


async def wait_until(holds: Callable[[], bool]) -> None:
    async with asyncio.timeout(20):
        while not holds():
            await asyncio.sleep(0.02)


def test_a_crash_is_a_result_and_leaves_only_the_log(
    shop: Path, tmp_path: Path, parent: SessionSettings
) -> None:
    word = f"7{os.getpid()}.25"
    command = f"echo x >> count; setsid sleep {word} & sleep {word}"
    model = script(tmp_path, [{"calls": [call("shell", command=command)]}, {"text": "went on"}])

    async def story(runtime: Runtime, children: Children) -> None:
        child = await children.start(ChildSpec(prompt="x", model=model, place="worktree", runs="process"))
        running = asyncio.create_task(child.run())
        await wait_until(lambda: len(find_processes(f"sleep\0{word}")) == 2)
        os.kill(find_process(child), signal.SIGKILL)
        result = await running
        assert (result.outcome, result.exit_code) == (CRASHED, Exit.INTERNAL)
        assert "was killed by SIGKILL" in result.report
        assert b"count" in result.patch
        assert (await child.ask("and now?")).outcome == CRASHED
        await child.close()
        await wait_until(lambda: not find_processes(word))
        assert git(shop, "worktree", "list").count("\n") == 1
        kinds = [each.kind for each in read_events(runtime.session.folder.parent / child.id)]
        assert ("action" in kinds, "observation" in kinds) == (True, False)
        # The same child goes on, and learns that its action may have taken effect.
        again = await children.run(ChildSpec(prompt="", model=model, runs="process", session=child.id))
        assert (again.child, again.report) == (child.id, "went on")
        log = [
            each
            for each in read_events(runtime.session.folder.parent / child.id)
            if each.kind == "observation"
        ]
        assert [each.text for each in log if isinstance(each, ObservationEvent)] == [INTERRUPTED]

    play(shop, parent, story)


def test_cancelling_ends_the_process_of_a_child(shop: Path, tmp_path: Path, parent: SessionSettings) -> None:
    model = script(tmp_path, [{"calls": [call("shell", command="touch began; sleep 30; touch ended")]}])

    async def story(runtime: Runtime, children: Children) -> None:
        child = await children.start(ChildSpec(prompt="x", model=model, place="lease", runs="process"))
        process = find_process(child)
        waiting = asyncio.create_task(child.run())
        await wait_until((shop / "began").exists)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        await child.close()
        assert not Path(f"/proc/{process}").exists()
        log = list(read_events(runtime.session.folder.parent / child.id))
        assert log[-1].kind == "end"
        (last,) = [
            each
            for each in read_events(runtime.session.folder)
            if isinstance(each, ChildEvent) and each.state == "ended"
        ]
        assert last.outcome == "interrupted"

    play(shop, parent, story)
    assert not (shop / "ended").exists()


def test_processes_share_their_parents_budget(shop: Path, tmp_path: Path) -> None:
    step = {"calls": [call("list")], "usage": {"input": 1_000, "output": 10, "cost": 0.04}, "repeat": 30}
    model = script(tmp_path, [step], "child.json")
    settings = replace(
        settings_for(script(tmp_path, [{"text": "hi"}], "parent.json")),
        limits=LimitSettings(max_cost=0.3),
    )

    async def story(runtime: Runtime, children: Children) -> None:
        specs = [ChildSpec(prompt="x", model=model, runs="process") for _ in range(2)]
        specs.append(
            ChildSpec(prompt="x", model=model)
        )  # spends most of it before the processes have started
        results = await asyncio.gather(*map(children.run, specs))
        assert [each.outcome for each in results] == ["limit"] * 3, results
        total = runtime.purse.tally.usage.cost or 0.0
        assert total == pytest.approx(sum(each.usage["cost"] or 0 for each in results))
        assert 0.2 < total <= 0.3 + 1e-9

    play(shop, settings, story)


class SocketChannel:
    """Lines over a connection. Implements `Channel`."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader, self._writer = reader, writer

    async def read_line(self) -> bytes:
        return await self._reader.readline()

    def write(self, line: bytes) -> None:
        if not self._writer.is_closing():
            self._writer.write(line)

    async def close(self) -> str:
        self._writer.close()
        return "closed the connection"


class SocketExecutor:
    """A remote executor: a server that serves each connection a session. Implements `Executor`."""

    def __init__(self, port: int) -> None:
        self._port = port

    async def start(self, order: ChildOrder) -> LineExecution:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port, limit=wire.LONGEST)
        return await LineExecution.connect(SocketChannel(reader, writer), order)


SERVER = """
import asyncio, socket, sys
sys.path.insert(0, sys.argv[1])
from agent.children.process.served_session import serve_session
server = socket.create_server(("127.0.0.1", 0))
print(server.getsockname()[1], flush=True)
connection, _ = server.accept()
asyncio.run(serve_session(connection.fileno(), connection.fileno()))
"""


def test_a_remote_executor_needs_only_lines(shop: Path, tmp_path: Path, parent: SessionSettings) -> None:
    model = script(tmp_path, [{"calls": [call("read", path="cart.py")]}, {"text": "from afar"}])

    async def story(runtime: Runtime, children: Children) -> ChildResult:
        seen: list[Event] = []
        runtime.session.subscribe(seen.append)
        result = await children.run(ChildSpec(prompt="x", model=model, runs="process"))
        assert "observation" in [each.event["kind"] for each in seen if isinstance(each, ChildProgress)]
        assert runtime.purse.tally.steps_below == 2
        return result

    command = [sys.executable, "-I", "-c", SERVER, str(CHECKOUT)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as server:
        assert server.stdout is not None
        executor = SocketExecutor(int(server.stdout.readline()))
        result = play(shop, parent, story, {"process": executor})
        assert server.wait(20) == 0
    assert (result.outcome, result.report) == ("done", "from afar")


class ProgramExecutor:
    """Starts another program in place of ours. Implements `Executor`."""

    def __init__(self, program: str) -> None:
        ready = wire.encode_message("ready", session="20260102-030405-0000")
        self.program = f"import sys, time\nready = {ready!r}\n{program}"

    async def start(self, order: ChildOrder) -> LineExecution:
        pipe = asyncio.subprocess.PIPE
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-I", "-S", "-c", self.program),
            stdin=pipe, stdout=pipe, stderr=pipe, start_new_session=True, limit=wire.LONGEST,
        )  # fmt: skip
        return await LineExecution.connect(PipeChannel(process, ExitStack()), order)


AFTERWARDS = """
out = sys.stdout.buffer
out.write(ready); out.flush()
sys.stdin.readline(); sys.stdin.readline()
out.write({}); out.flush()
time.sleep(60)
"""

USAGE = 'b\'{{"message":"spend","usage":{{"cost":{}}},"step":true,"own":true,"promised":{{}}}}\\n\''

HOSTILE = {
    "garbage": "b'\\xff\\xfe garbage\\n'",
    "an endless line": "b'x' * (17 << 20)",
    "no event": "b'{\"kind\": 7}\\n'",
    "nested deeply": "b'{\"message\":' + b'[' * 100_000 + b'\\n'",
    "a refund": USAGE.format("-5"),
    "no number": USAGE.format("NaN"),
    "an unknown message": 'b\'{"message":"start"}\\n\'',
    "an end that nobody asked for": 'b\'{"message":"ended"}\\n\'',
    "no question": 'b\'{"message":"question","effect":{"kind":"all"}}\\n\'',
}


def test_what_is_no_event_ends_a_hostile_process(shop: Path, parent: SessionSettings) -> None:
    async def story(runtime: Runtime, children: Children) -> None:
        for name, sent in HOSTILE.items():
            children._executors["process"] = ProgramExecutor(AFTERWARDS.format(sent))
            async with asyncio.timeout(30):
                child = await children.start(ChildSpec(prompt="x", runs="process"))
                result = await child.run()
                process = find_process(child)
                await child.close()
            assert result.outcome == CRASHED, name
            assert "sent what is no event" in result.report, name
            assert not Path(f"/proc/{process}").exists(), name
        assert (runtime.purse.tally.usage.cost or 0.0) == 0.0

    play(shop, parent, story)


def test_a_process_that_sends_no_session_is_refused(shop: Path, parent: SessionSettings) -> None:
    async def story(runtime: Runtime, children: Children) -> None:
        climbing = '{"message":"ready","session":"../config"}'
        refused = '{"message":"refused","fault":"denied","text":"no","hint":""}'
        for program, words in (
            ("sys.exit('no luck')", r"ended with exit code 1 \(no luck\)"),
            ("print('hello', flush=True); time.sleep(60)", "did not start"),
            (f"print('{climbing}', flush=True); time.sleep(60)", "did not start"),
            (f"print('{refused}')", "no"),
        ):
            children._executors["process"] = ProgramExecutor(program)
            with pytest.raises(UserError, match=words):
                await children.start(ChildSpec(prompt="x", runs="process"))
        assert children.open_children == []
        assert runtime.purse.find_stop_reason() == ""

    play(shop, parent, story)
