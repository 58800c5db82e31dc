"""One prompt from its start to its exit code, and sessions that a program drives: without a command line's parser."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from contextlib import AsyncExitStack
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from agent.app_dirs import Home
from cli.output.standard_streams import write_error, write_line
from sandbox.errors import Fault, UserError
from sandbox.sanitize import sanitize_json, sanitize_text

if TYPE_CHECKING:
    from agent.events import Event
    from agent.turn.runtime import Runtime
    from cli.invocation import ClusterRequest, GoalRequest, Invocation


def run_one_shot(
    folder: Path,
    prompt: str | None,
    flags: Mapping[str, Any],
    *,
    output: str,
    commit: bool,
    session: str = "",
    schema: Path | None = None,
    requirements: Path | None = None,
    attempts: int | None = None,
    strategy: str | None = None,
    cluster: ClusterRequest | None = None,
    budget: str | None = None,
    answers: Path | None = None,
    apply_doubtful: bool = False,
    goal: GoalRequest | None = None,
    detached: str | None = None,
    from_issue: str | None = None,
) -> int:
    """Run one prompt to its end. Returns the exit code; every path emits a final event."""
    from cli.commands.run.final_event import run_with_final_event
    from cli.commands.run.prompt_input import read_prompt
    from cli.invocation import Invocation

    invocation = Invocation(
        folder=folder,
        flags=flags,
        commit=commit,
        offer_commit=commit,
        session=session,
        schema=schema,
        requirements=requirements,
        attempts=attempts,
        strategy=strategy,
        cluster=cluster,
        budget=budget,
        answers=answers,
        apply_doubtful=apply_doubtful,
        goal=goal,
        attended=detached is not None,
        detached=detached,
    )

    def read_task() -> str:
        if from_issue is None:
            return read_prompt(prompt)
        from cli.hosting.issue_task import read_issue_task

        return read_issue_task(folder, from_issue, prompt)

    return run_with_final_event(output, lambda: _run_prompt(invocation, read_task(), output))


def run_driven(
    folder: Path,
    flags: Mapping[str, Any],
    *,
    output: str,
    commit: bool,
    session: str = "",
    requirements: Path | None = None,
) -> int:
    """Run a session driven by lines on standard input. Returns the exit code of the last turn."""
    from cli.commands.run.final_event import run_with_final_event
    from cli.invocation import Invocation
    from sandbox.process.bounded_end import run_loop

    if output != "stream-json":
        raise UserError(Fault.USAGE, "--input stream-json needs --output stream-json", "Give both.")
    invocation = Invocation(
        folder=folder,
        flags=flags,
        commit=commit,
        offer_commit=commit,
        session=session,
        attended=True,
        requirements=requirements,
    )
    return run_with_final_event(output, lambda: run_loop(_drive_session(invocation)))


async def _drive_session(invocation: Invocation) -> int:
    import asyncio

    from cli.commands.run.called_command import open_call
    from cli.commands.run.final_event import list_end_signals
    from cli.commands.run.turn_output import subscribe_output
    from cli.invocation import load_invocation_settings, make_runtime
    from cli.protocols.stdio_driver import StdioDriver

    home = Home.from_environment()
    settings = load_invocation_settings(invocation, home)
    runtime = make_runtime(invocation, home, settings.session)
    try:
        subscribe_output(runtime, settings, "stream-json")
        named = "model" in invocation.flags
        driver = StdioDriver(runtime, lambda prompt: open_call(runtime, home, prompt, named=named))
        runtime.loop.gateway.approver = driver
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, runtime.interrupt)
        for number in list_end_signals():
            loop.add_signal_handler(number, driver.end_session)
        return await driver.run()
    finally:
        await runtime.close()


def continue_turn(
    folder: Path,
    flags: Mapping[str, Any],
    *,
    output: str,
    commit: bool,
    session: str,
    detached: str | None = None,
) -> int:
    """Continue the interrupted turn of a session. Returns the exit code."""
    from cli.commands.run.final_event import run_with_final_event
    from cli.invocation import Invocation

    invocation = Invocation(
        folder=folder,
        flags=flags,
        commit=commit,
        offer_commit=commit,
        session=session,
        attended=detached is not None,
        detached=detached,
    )
    return run_with_final_event(output, lambda: _run_prompt(invocation, None, output))


def _run_prompt(invocation: Invocation, prompt: str | None, output: str) -> int:
    from sandbox.process.bounded_end import run_loop

    return run_loop(_run_turn(invocation, prompt, output))


def _collect_checks(fields: dict[str, Any], event: Event) -> None:
    if event.kind in ("requirements", "rubric", "spec-check"):
        from cli.output.lines.check_lines import collect_check_field

        collect_check_field(event, fields)


async def _run_turn(invocation: Invocation, prompt: str | None, output: str) -> int:
    import asyncio
    import json

    from agent.session_settings import StrategySettings
    from cli.commands.run.final_event import list_end_signals
    from cli.commands.run.turn_output import ANSWERS, build_json_result, subscribe_output
    from cli.invocation import choose_strategy, load_invocation_settings, make_runtime
    from cli.output.notices import Notices

    home = Home.from_environment()
    settings = load_invocation_settings(invocation, home)
    structure = None
    if invocation.schema is not None:
        from agent.verify.answer_schema import AnswerSchema

        structure = AnswerSchema.from_file(invocation.schema)
    runtime = make_runtime(invocation, home, settings.session)
    run = None
    try:
        if invocation.detached is not None:
            from cli.detached.detached_run import open_detached_run

            run = await open_detached_run(runtime, home, settings.terminal.notify, invocation)
        notices = Notices(runtime)
        checks: dict[str, Any] = {}
        runtime.session.subscribe(partial(_collect_checks, checks))
        subscribe_output(runtime, settings, output)
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGINT, _handle_interrupt, runtime)
        for number in list_end_signals():
            loop.add_signal_handler(number, runtime.stop)
        if structure is not None:
            from agent.verify.answer_schema import AnswerVerifier

            runtime.conclusion.verifiers.append(AnswerVerifier(schema=structure))
        if structure is not None and prompt is not None:
            prompt = structure.extend_prompt(prompt)
        strategy = choose_strategy(invocation, settings.session)
        more: dict[str, Any] = {"notices": notices.found, **checks}
        async with AsyncExitStack() as stack:
            if prompt is not None and prompt.startswith("/"):
                from cli.commands.run.called_command import open_call

                call = open_call(runtime, home, prompt, named="model" in invocation.flags)
                prompt = await stack.enter_async_context(call)
            if invocation.goal is not None or (prompt is None and _has_goal(runtime)):
                from cli.commands.run.goal import run_goal

                end = await run_goal(runtime, invocation, settings.session, strategy, prompt, more)
            else:
                work = None
                if prompt is None or strategy != StrategySettings():
                    from agent.strategy.strategy_table import choose_work

                    work = choose_work(runtime, strategy, prompt)
                end = await runtime.run_turn(prompt, work)
        if run is not None:
            end = await run.finish(end)
        more |= checks
        if structure is not None:
            from cli.output.output_schema import read_structured_answer

            more["structured"] = read_structured_answer(structure, end, runtime.conclusion.answer)
        if output == "json":
            write_line(build_json_result(end, runtime, more))
        elif output == "text" and more.get("structured") is not None:
            write_line(sanitize_json(json.dumps(more["structured"], ensure_ascii=False)).encode() + b"\n")
        elif output == "text" and end.summary and end.exit_code in ANSWERS:
            write_line(sanitize_text(end.summary).rstrip().encode("utf-8", "replace") + b"\n")
        if output == "text":
            from cli.commands.run.server_hint import print_server_hint

            print_server_hint(runtime, home)
        return end.exit_code
    finally:
        if run is not None:
            run.close()
        await runtime.close()


def _has_goal(runtime: Runtime) -> bool:
    from agent.goal_state import find_active_goal

    return find_active_goal(runtime.session) is not None


def _handle_interrupt(runtime: Runtime) -> None:
    if runtime.loop.is_acting:
        write_error("patchwright: stopping this step; Ctrl-C again ends the turn\n")
    runtime.interrupt()
