"""Plays trees of sessions that are killed, each in a fork of this process: a line of JSON a tree, in and out.

A session's prompt is its node of the tree. While it works, the sessions below it do; see `run_node`.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from agent.app_dirs import Home
from agent.assemble import assemble_runtime
from agent.children import children as children_module
from agent.children.child import Child
from agent.children.children import Children
from agent.children.executor import CRASHED, Execution
from agent.children.process import entry, served_session, wire
from agent.children.process.process_executor import ProcessExecutor
from agent.children.spec import ChildSpec
from agent.events import ActionEvent, ChildEvent, Event, MessageEvent, ObservationEvent
from agent.session_request import SessionRequest
from agent.session_settings import LimitSettings, SessionSettings
from agent.turn.runtime import Runtime
from sandbox.access_settings import AccessSettings
from sandbox.errors import UserError
from sandbox.policy.decision import Approval, Mode

PROGRAM = "import sys; sys.path[:] = sys.argv[1:]; from tests.agent.children import tree_driver; tree_driver.serve()"

Node = dict[str, Any]


def serve() -> None:
    """Serve a node in a process of its own."""
    served_session._run_turn = serve_node  # type: ignore[assignment]
    entry.main()


async def serve_node(lines: served_session.ParentLines, runtime: Runtime, prompt: str | None) -> None:
    node = json.loads(prompt or runtime.session.list_prompts()[0].text)
    await run_node(runtime, node, is_new=prompt is not None)
    lines.send(wire.encode_message("ended"))


def kill_at(runtime: Runtime, node: Node) -> None:
    """Kill this process at the node's point: at the n-th event of a kind, or some time after it."""
    kinds = {"message": MessageEvent, "action": ActionEvent, "observation": ObservationEvent}
    kind, number, delay = node["kill"]
    left = [number]

    def handle_event(event: Event) -> None:
        if not isinstance(event, kinds[kind]):
            return
        left[0] -= 1
        if left[0] == 0 and delay:
            asyncio.get_running_loop().call_later(delay, os.kill, os.getpid(), signal.SIGKILL)
        elif left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    if kind == "start":  # amid the creation of what is below, worktrees for example
        asyncio.get_running_loop().call_later(delay, os.kill, os.getpid(), signal.SIGKILL)
    else:
        runtime.session.subscribe(handle_event)


def list_cut_off(runtime: Runtime) -> Iterable[ChildEvent]:
    """The children whose last word was no end of their own."""
    last: dict[str, ChildEvent] = {}
    begun: dict[str, ChildEvent] = {}
    for event in runtime.session.replayed.select_events(ChildEvent):
        last[event.child] = event
        if event.state == "started" and event.prompt:
            begun[event.child] = event
    return [
        begun[child] for child, event in last.items() if event.state == "started" or event.outcome == CRASHED
    ]


async def run_node(runtime: Runtime, node: Node, *, is_new: bool) -> None:
    """Do a session's own work, and that of the sessions below it."""
    if is_new and node.get("kill"):
        kill_at(runtime, node)
    executors = {"process": ProcessExecutor(PROGRAM)}
    async with Children.open(runtime, executors) as children:  # type: ignore[arg-type]
        if is_new:
            below = [run_child(children, each, "") for each in node["below"]]
        else:
            below = [
                run_child(children, json.loads(each.prompt), each.child) for each in list_cut_off(runtime)
            ]
        await asyncio.gather(runtime.run_turn(json.dumps(node) if is_new else None), *below)


async def run_child(children: Children, node: Node, session: str) -> None:
    spec = ChildSpec(
        prompt=json.dumps(node), model=node["model"], place=node["place"], runs=node["runs"], session=session,
        limits=LimitSettings(max_steps=20),
    )  # fmt: skip
    try:
        async with await children.start(spec) as child:
            if node["runs"] == "process":
                await child.run()
            else:
                await run_in_process(child, node, is_new=not session)
    except UserError as error:  # the parent's budget is used up
        if "nothing is left for a child" not in error.message:
            raise


async def run_in_process(child: Child, node: Node, *, is_new: bool) -> None:
    execution: Execution = child._execution
    run_turn = execution.run_turn

    async def run_with_below(prompt: str | None) -> Any:
        del execution.run_turn  # type: ignore[attr-defined]
        ends: list[Event] = []
        child.runtime.session.subscribe(lambda event: ends.append(event) if event.kind == "end" else None)
        await run_node(child.runtime, node, is_new=is_new)
        return ends[-1]

    assert run_turn
    execution.run_turn = run_with_below  # type: ignore[method-assign]
    await child.run()


def open_root(job: Node) -> Runtime:
    access = AccessSettings(mode=Mode.FULL, approval=Approval.NEVER, sandbox="unconfined")
    settings = SessionSettings(
        model=job["tree"]["model"], access=access, limits=LimitSettings(max_cost=job["dollars"])
    )
    request = SessionRequest(working=Path(job["shop"]), session=job.get("session", ""))
    return assemble_runtime(settings, request, Home.from_environment(job["env"]))


async def play_job(job: Node) -> None:
    runtime = open_root(job)
    try:
        await run_node(runtime, job["tree"], is_new=not job.get("session"))
    finally:
        await runtime.close()


def main() -> None:
    assert children_module.MOST_DEPTH == 3
    for line in sys.stdin:
        job = json.loads(line)
        process = os.fork()
        if not process:
            os.environ.update(job["env"])
            try:
                asyncio.run(play_job(job))
            except BaseException:
                import traceback

                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        _, status = os.waitpid(process, 0)
        print(json.dumps(os.waitstatus_to_exitcode(status)), flush=True)


if __name__ == "__main__":
    main()
